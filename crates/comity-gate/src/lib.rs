//! The one door: robots cache, pacing, permits

//! The polite, provable crawler framework

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| comity_extract_fuzz::embedded(bytes));

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| comity_signals_fuzz::rsl(bytes));

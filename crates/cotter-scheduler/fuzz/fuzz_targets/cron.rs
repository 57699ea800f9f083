//! Any bytes as an expression: what `check` promises must hold.

#![no_main]

#[path = "../check.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|data: &[u8]| check::check(&String::from_utf8_lossy(data)));

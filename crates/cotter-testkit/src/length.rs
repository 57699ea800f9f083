//! How long tests take.

/// Whether they run at full length: the variable `COTTER_LONG` is set.
#[must_use]
pub fn is_long() -> bool {
    std::env::var_os("COTTER_LONG").is_some()
}

/// A size for a run of normal length, or for one at full length.
pub fn sized<T>(normal: T, long: T) -> T {
    if is_long() { long } else { normal }
}

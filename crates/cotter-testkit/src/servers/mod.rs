//! Real servers on free ports in temporary folders, and a proxy that loses, delays and cuts what goes to them.

mod kept;
mod proxy;
mod redis;
mod skew;
mod weather;
mod wire;

pub use kept::Kept;
pub use proxy::{Loss, Proxy};
pub use redis::{Redis, RedisBuilder};
pub use skew::forking_library;
pub use weather::Weather;
pub use wire::Wire;

use std::net::TcpListener;

/// Whether tests of this kind of server must run: `COTTER_REQUIRE` names it.
fn required(kind: &str) -> bool {
    std::env::var("COTTER_REQUIRE").is_ok_and(|list| list.split(',').any(|k| k.trim() == kind))
}

/// Says that a program is missing, so that tests are skipped visibly; fails where those of this kind must run.
///
/// # Panics
/// Where they must.
#[allow(clippy::print_stderr, reason = "a skipped test has no other way to say so")]
pub fn missing(kind: &str, binary: &str) {
    assert!(!required(kind), "{binary} is not in PATH, and COTTER_REQUIRE asks for {kind}");
    eprintln!("SKIPPED: {binary} is not in PATH");
}

/// A port that was free just now.
///
/// # Panics
/// When there is none.
pub fn free_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
    listener.local_addr().expect("an address").port()
}

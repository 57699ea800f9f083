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

/// A port that was free just now.
///
/// # Panics
/// When there is none.
pub fn free_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
    listener.local_addr().expect("an address").port()
}

//! Ports for servers.

use std::net::TcpListener;
use std::ops::Range;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// Below those that the kernel gives to outgoing connections, of which the tests make thousands: such a connection, to whatever
/// server, would have the port of a server that is about to start, or to start again.
const PORTS: Range<u32> = 12_000..32_000;

/// Each process begins elsewhere.
static NEXT: LazyLock<AtomicU32> = LazyLock::new(|| AtomicU32::new(rand::random()));

/// A port that is free, and that this process gets only once.
///
/// # Panics
/// When there is none.
pub fn free_port() -> u16 {
    let is_free = |port: &u16| TcpListener::bind(("127.0.0.1", *port)).is_ok();
    PORTS.filter_map(|_| u16::try_from(next()).ok()).find(is_free).expect("a free port")
}

fn next() -> u32 {
    PORTS.start + NEXT.fetch_add(1, Ordering::Relaxed) % (PORTS.end - PORTS.start)
}

#[cfg(test)]
mod tests {
    use super::{PORTS, free_port};
    use std::net::TcpListener;

    #[test]
    fn a_port_is_handed_out_once_and_nobody_listens_there() {
        let ports: Vec<_> = (0..100).map(|_| free_port()).collect();
        let listeners: Vec<_> = ports.iter().map(|port| TcpListener::bind(("127.0.0.1", *port))).collect();
        assert!(listeners.iter().all(Result::is_ok), "{listeners:?}");
        assert!(ports.iter().all(|port| PORTS.contains(&u32::from(*port))), "{ports:?}");
    }
}

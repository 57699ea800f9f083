//! What systems do only while a thread waits: reading files, and looking up the addresses of hosts.
//!
//! A runtime has threads for that, but panics where it cannot start one.

use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::thread::Builder;
use tokio::sync::oneshot;

/// Runs `work` in a thread of its own.
///
/// # Errors
/// There is no thread.
pub(crate) async fn in_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> io::Result<T> {
    let (tell, told) = oneshot::channel();
    let started = Builder::new().name("cotter-blocking".into()).spawn(move || _ = tell.send(work()));
    started.map_err(|e| io::Error::new(e.kind(), format!("cannot start a thread: {e}")))?;
    told.await.map_err(io::Error::other)
}

/// The addresses of a host.
///
/// # Errors
/// There are none, or no thread to look for them.
pub(crate) async fn addresses(host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    if let Ok(address) = host.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(address, port)]);
    }
    let host = host.to_owned();
    in_thread(move || Ok((host.as_str(), port).to_socket_addrs()?.collect())).await?
}

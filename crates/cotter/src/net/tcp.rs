//! Connecting to a host.

use super::blocking::addresses;
use crate::sys;
use std::io;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

/// A byte stream in both directions.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

/// The time after which the kernel gives up a connection whose data is not acknowledged, or whose peer has vanished: whoever waits
/// for a message, or for the answer to a statement that waits in the server, hears nothing of that otherwise. Longer than the usual
/// timeout of a request.
const USER_TIMEOUT: Duration = Duration::from_secs(10);

/// Connects to all addresses of a host at once; the first connection that succeeds is used.
pub(crate) async fn connect(host: &str, port: u16) -> io::Result<TcpStream> {
    let mut tries = JoinSet::new();
    for address in addresses(host, port).await? {
        tries.spawn(TcpStream::connect(address));
    }
    let mut failed = io::Error::new(io::ErrorKind::NotFound, "the host has no address");
    while let Some(done) = tries.join_next().await {
        match done.map_err(io::Error::other).and_then(|tried| tried) {
            Ok(stream) => {
                stream.set_nodelay(true)?;
                sys::limit_unacknowledged(&stream, USER_TIMEOUT)?;
                return Ok(stream);
            }
            Err(e) => failed = e,
        }
    }
    Err(failed)
}

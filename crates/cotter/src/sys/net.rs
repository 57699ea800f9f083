//! Sockets.

#[cfg(any(feature = "redis", feature = "postgres"))]
use std::path::Path;
#[cfg(any(feature = "redis", feature = "etcd", feature = "postgres", feature = "zookeeper"))]
use std::{io, time::Duration};

/// Registers a socket with the runtime that the caller has entered, and drops it.
///
/// # Panics
/// Where that runtime has no I/O driver: tokio answers the question in no other way.
pub(crate) fn register_a_socket() {
    #[cfg(unix)]
    drop(tokio::net::UnixStream::pair());
    #[cfg(not(unix))]
    if let Ok(socket) = std::net::UdpSocket::bind((std::net::Ipv4Addr::LOCALHOST, 0)) {
        let _ = socket.set_nonblocking(true);
        drop(tokio::net::UdpSocket::from_std(socket));
    }
}

/// A connection to a socket in the file system.
#[cfg(all(any(feature = "redis", feature = "postgres"), unix))]
type UnixSocket = tokio::net::UnixStream;
/// Stands for a connection that cannot be made on this system.
#[cfg(all(any(feature = "redis", feature = "postgres"), not(unix)))]
type UnixSocket = tokio::net::TcpStream;

/// Connects to a socket in the file system.
#[cfg(any(feature = "redis", feature = "postgres"))]
pub(crate) async fn unix_socket(path: &Path) -> io::Result<UnixSocket> {
    #[cfg(unix)]
    return UnixSocket::connect(path).await;
    #[cfg(not(unix))]
    return Err(io::Error::new(
        io::ErrorKind::Unsupported,
        format!("{}: no Unix sockets on this system", path.display()),
    ));
}

/// Closes a connection whose peer has not acknowledged what was sent for this long, or does not answer at all: after a few
/// seconds of silence it is asked. Elsewhere than on Linux the limits are those of the system.
#[cfg(any(feature = "redis", feature = "etcd", feature = "postgres", feature = "zookeeper"))]
pub(crate) fn limit_unacknowledged(stream: &tokio::net::TcpStream, limit: Duration) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        use rustix::net::sockopt;
        sockopt::set_tcp_user_timeout(stream, limit.as_millis() as u32)?;
        sockopt::set_tcp_keepidle(stream, limit / 2)?;
        sockopt::set_tcp_keepintvl(stream, limit / 5)?;
        sockopt::set_socket_keepalive(stream, true)?;
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (stream, limit);
    Ok(())
}

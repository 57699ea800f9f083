//! The socket to a server, with or without TLS. It is opened here and handed to the driver, whose errors would not say what was
//! wrong with TLS.

use super::address::{ConnectParams, Endpoint};
use crate::stores::shared::net::{HostPort, Stream};
use crate::sys;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use std::io;
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_rustls::TlsConnector;

/// The message that asks for TLS: its length, and a number that is no version.
const ASK_FOR_TLS: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];

/// Opens a socket.
pub(super) async fn open(params: &ConnectParams, endpoint: &Endpoint) -> io::Result<Box<dyn Stream>> {
    match (endpoint, &params.tls) {
        (Endpoint::Unix(path), _) => Ok(Box::new(sys::unix_socket(path).await?)),
        (Endpoint::Tcp(host), None) => Ok(Box::new(host.connect().await?)),
        (Endpoint::Tcp(host), Some(tls)) => encrypted(host, tls).await,
    }
}

async fn encrypted(host: &HostPort, tls: &Arc<ClientConfig>) -> io::Result<Box<dyn Stream>> {
    let name = ServerName::try_from(host.name.clone()).map_err(io::Error::other)?;
    let mut stream = host.connect().await?;
    stream.write_all(&ASK_FOR_TLS).await?;
    let mut answer = [0];
    stream.read_exact(&mut answer).await?;
    if answer != *b"S" {
        let why = "the server does not support TLS; enable it there, or set sslmode=disable";
        return Err(io::Error::new(io::ErrorKind::Unsupported, why));
    }
    Ok(Box::new(TlsConnector::from(tls.clone()).connect(name, stream).await?))
}

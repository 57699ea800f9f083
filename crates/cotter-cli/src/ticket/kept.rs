//! Locks that a keeper holds: their tickets, and asking the keeper.

use cotter::backend::ClaimId;
use cotter_console::{Exit, Failure};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::time::timeout;

/// Longer than the keeper waits for the store.
const TIMEOUT: Duration = Duration::from_secs(10);
const PREFIX: &str = "ck1.";

/// The ticket of a lock that a keeper holds: the name of its socket.
#[derive(Clone, Copy)]
pub(super) struct Kept(ClaimId);

/// A request to a keeper.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Request {
    Check,
    Release,
}

/// The answer of a keeper.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Answer {
    Held,
    Released,
    /// With the reason.
    Lost(String),
    /// The store did not answer, with the error.
    Failed(String),
}

impl Kept {
    pub(super) fn new() -> Self {
        Self(ClaimId::random())
    }

    pub(super) fn parse(text: &str) -> Option<Self> {
        ClaimId::parse(text.trim().strip_prefix(PREFIX)?).map(Self)
    }

    /// The socket on which the keeper listens. It has no path that could be left behind.
    pub(super) fn listen(self) -> io::Result<UnixListener> {
        UnixListener::bind_addr(&self.address()?)
    }

    fn address(self) -> io::Result<SocketAddr> {
        SocketAddr::from_abstract_name(format!("cotter-keeper-{}", self.0))
    }

    /// Asks the keeper. One that does not exist any more has released the lock or lost it.
    pub(super) async fn ask(self, request: Request) -> Result<Answer, Failure> {
        let address = self.address()?;
        let Ok(stream) = UnixStream::connect_addr(&address) else {
            let why = "the lock of this ticket is not held any more: its keeper has ended (or runs on another host)";
            return Err(Failure::new(Exit::Lost, why));
        };
        match timeout(TIMEOUT, exchange(stream, request)).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => Err(silent(&error.to_string())),
            Err(_) => Err(silent("no reply within 10 s")),
        }
    }
}

fn silent(why: &str) -> Failure {
    Failure::new(Exit::Unreachable, format!("the keeper of the lock does not answer: {why}"))
}

async fn exchange(stream: UnixStream, request: Request) -> io::Result<Answer> {
    stream.set_nonblocking(true)?;
    let mut stream = BufReader::new(tokio::net::UnixStream::from_std(stream)?);
    stream.write_all(format!("{}\n", serde_json::to_string(&request)?).as_bytes()).await?;
    let mut line = String::new();
    stream.read_line(&mut line).await?;
    Ok(serde_json::from_str(&line)?)
}

impl fmt::Display for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}", self.0)
    }
}

impl fmt::Debug for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Kept")
    }
}

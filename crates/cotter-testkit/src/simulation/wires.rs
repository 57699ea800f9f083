//! Connections to a server in memory, over links that fail.

use crate::faulty::{Faults, Passage};
use cotter::conformance::{Connecting, Network, connect_through};
use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, ReadHalf, WriteHalf, duplex, split};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::watch;
use tokio::time::sleep;

/// What connections lead to. A clone is another handle.
pub(super) trait Serve: Clone + fmt::Debug + Send + Sync + 'static {
    /// Opens a session.
    fn open(&self) -> (Received, Outgoing);
}

/// One connection, as its server has it: carries out the requests in what has come. False at the end of the session, which ends also
/// when this is dropped.
pub(super) type Received = Box<dyn FnMut(&[u8]) -> bool + Send>;

/// What a server sends to one session. It ends when the server ends the session; where the client is to notice, after something
/// empty.
pub(super) type Outgoing = UnboundedReceiver<Vec<u8>>;

/// The network between some processes and a server. Each process knows the server by an address of its own.
#[derive(Debug)]
pub(super) struct Wires<S> {
    server: S,
    /// One for each process.
    links: Vec<Faults>,
    /// Bytes that are late arrive within two of these.
    ttl: Duration,
}

/// While it exists, the connections of this thread lead into a network.
#[derive(Debug)]
pub(super) struct Connected(());

impl<S: Serve> Wires<S> {
    pub(super) fn connected(server: S, links: Vec<Faults>, ttl: Duration) -> Connected {
        connect_through(Some(Arc::new(Self { server, links, ttl })));
        Connected(())
    }
}

/// Where a process finds the server.
pub(super) fn host(process: usize) -> String {
    format!("10.0.0.{process}")
}

impl Drop for Connected {
    fn drop(&mut self) {
        connect_through(None);
    }
}

impl<S: Serve> Network for Wires<S> {
    fn connect(&self, host: &str, _: u16) -> Connecting {
        let process = host.rsplit('.').next().and_then(|process| process.parse::<usize>().ok());
        let faults = self.links[process.expect("an address of this network")].clone();
        let (server, ttl) = (self.server.clone(), self.ttl);
        Box::pin(async move {
            if faults.is_down() && faults.coin() {
                return Err(io::ErrorKind::ConnectionRefused.into());
            }
            faults.until(false).await;
            sleep(faults.way_back()).await;
            Ok(wire(server, faults, ttl))
        })
    }
}

/// A server notices the end of a connection that was cut at once or after this time.
const UNNOTICED: Duration = Duration::from_secs(1);
/// More than is ever under way.
const BUFFER: usize = 1 << 22;

/// A connection, as its client has it.
fn wire(server: impl Serve, faults: Faults, ttl: Duration) -> DuplexStream {
    let (theirs, ours) = duplex(BUFFER);
    let (reader, writer) = split(ours);
    let (received, outgoing) = server.open();
    let cut = watch::Sender::new(false);
    tokio::spawn(answers(outgoing, writer, faults.clone(), cut.subscribe()));
    tokio::spawn(Way { received, reader, is_reset: faults.coin(), faults, cut, ttl }.requests());
    theirs
}

/// The way from a client to the server.
struct Way {
    received: Received,
    reader: ReadHalf<DuplexStream>,
    faults: Faults,
    /// Where nothing gets through, some connections are reset, and others wait.
    is_reset: bool,
    cut: watch::Sender<bool>,
    ttl: Duration,
}

impl Way {
    async fn requests(mut self) {
        let (mut bytes, mut ended) = (vec![0; 1 << 16], self.cut.subscribe());
        loop {
            let read = tokio::select! {
                biased;
                () = is_cut(&mut ended) => break,
                () = self.faults.until(true), if self.is_reset => {
                    self.cut.send_replace(true);
                    if !self.faults.coin() {
                        sleep(UNNOTICED).await;
                    }
                    break;
                }
                read = self.reader.read(&mut bytes) => read,
            };
            self.faults.until(false).await;
            let Some(come) = read.ok().filter(|n| *n > 0).map(|n| &bytes[..n]) else { break };
            let (pause, passage) = self.faults.passage(self.ttl);
            let pause = match passage {
                Passage::Through => pause,
                Passage::Refused => break,
                Passage::LoseReply => {
                    self.cut.send_replace(true);
                    pause
                }
                Passage::Late(by) => {
                    self.cut.send_replace(true);
                    by
                }
            };
            sleep(pause).await;
            if !(self.received)(come) {
                break;
            }
        }
        self.cut.send_replace(true);
    }
}

/// Completes when the connection is cut.
async fn is_cut(cut: &mut watch::Receiver<bool>) {
    let _ = cut.wait_for(|cut| *cut).await;
}

/// The way back.
async fn answers(
    mut outgoing: Outgoing,
    mut writer: WriteHalf<DuplexStream>,
    faults: Faults,
    mut cut: watch::Receiver<bool>,
) {
    loop {
        let first = tokio::select! {
            biased;
            () = is_cut(&mut cut) => break,
            first = outgoing.recv() => first,
        };
        let Some(mut bytes) = first else { break };
        sleep(faults.way_back()).await;
        faults.until(false).await;
        // What was sent meanwhile travels along.
        let mut hangs_up = bytes.is_empty();
        while let Ok(more) = outgoing.try_recv() {
            hangs_up |= more.is_empty();
            bytes.extend(more);
        }
        let is_over = *cut.borrow();
        if is_over || writer.write_all(&bytes).await.is_err() {
            break;
        }
        if hangs_up {
            let _ = writer.shutdown().await;
            break;
        }
    }
}

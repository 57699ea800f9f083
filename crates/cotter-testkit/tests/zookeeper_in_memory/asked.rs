//! Connections to either server.

use cotter_testkit::servers;
use cotter_testkit::zookeeper_in_memory::{Connection, Outgoing, Server, Writer};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// A connection to the server in memory, or to the real one.
pub(crate) enum Wire {
    Ours { connection: Connection, outgoing: Outgoing, received: Vec<u8> },
    Theirs(TcpStream),
}

/// Either server.
pub(crate) enum Side {
    Ours(Server),
    Theirs(servers::ZooKeeper),
}

const PATIENCE: Duration = Duration::from_secs(10);
pub(crate) const PING: i32 = -2;

impl Side {
    pub(crate) fn open(&self) -> Wire {
        match self {
            Self::Ours(server) => {
                let (connection, outgoing) = server.open();
                Wire::Ours { connection, outgoing, received: Vec::new() }
            }
            Self::Theirs(server) => {
                let stream = TcpStream::connect(("127.0.0.1", server.port(0))).expect("the server listens");
                stream.set_nodelay(true).unwrap();
                stream.set_read_timeout(Some(PATIENCE)).unwrap();
                Wire::Theirs(stream)
            }
        }
    }
}

impl Wire {
    pub(crate) fn send(&mut self, message: &[u8]) {
        match self {
            Self::Ours { connection, .. } => _ = connection.received(message),
            Self::Theirs(stream) => _ = stream.write_all(message),
        }
    }

    /// The next message without its length. `None` where the server has hung up.
    pub(crate) fn next(&mut self) -> Option<Vec<u8>> {
        let length = u32::from_be_bytes(self.read(4)?.try_into().expect("four bytes"));
        self.read(length as usize)
    }

    fn read(&mut self, bytes: usize) -> Option<Vec<u8>> {
        match self {
            Self::Ours { outgoing, received, .. } => {
                while received.len() < bytes {
                    received.extend(outgoing.try_recv().ok().filter(|more| !more.is_empty())?);
                }
                let rest = received.split_off(bytes);
                Some(std::mem::replace(received, rest))
            }
            Self::Theirs(stream) => {
                let mut read = vec![0; bytes];
                match stream.read_exact(&mut read) {
                    Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => panic!("no answer"),
                    read => read.ok()?,
                }
                Some(read)
            }
        }
    }

    /// The messages up to the answer to a ping; fewer where the server hangs up.
    pub(crate) fn until_ping(&mut self) -> Vec<Vec<u8>> {
        self.send(&Writer::default().int(PING).int(11).finish());
        let mut messages = Vec::new();
        while let Some(message) = self.next() {
            if message[..4] == PING.to_be_bytes() {
                break;
            }
            messages.push(message);
        }
        messages
    }
}

/// The first message of a connection.
pub(crate) fn hello(seen: i64, timeout: i32, session: i64, password: &[u8]) -> Vec<u8> {
    Writer::default().int(0).long(seen).int(timeout).long(session).bytes(password).flag(false).finish()
}

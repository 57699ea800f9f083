//! A proxy that opens a transaction before each statement of the extended protocol that writes, and leaves it open, as pgpool 4.3
//! does in raw mode.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// Stands between clients and a PostgreSQL server, in this process, until that ends.
#[derive(Debug)]
pub struct Begins {
    port: u16,
}

/// The statement that is put in between; clients of cotter use another one.
const OPEN: &str = "start transaction";
const OPENED: &[u8] = b"START TRANSACTION\0";

impl Begins {
    /// Listens on a free port.
    ///
    /// # Panics
    /// When there is none.
    pub fn before(server: &super::Postgres) -> Self {
        let (listener, target) = (TcpListener::bind(("127.0.0.1", 0)).expect("a free port"), server.port());
        let port = listener.local_addr().expect("an address").port();
        thread::spawn(move || {
            for client in listener.incoming() {
                thread::spawn(move || relay(client?, TcpStream::connect(("127.0.0.1", target))?));
            }
        });
        Self { port }
    }

    /// A URL of the user `app` through it.
    pub fn url(&self, options: &str) -> String {
        format!("postgres://app:secret@127.0.0.1:{}/cotter?{options}", self.port)
    }
}

fn relay(mut client: TcpStream, mut server: TcpStream) -> io::Result<()> {
    let _ = (client.set_nodelay(true), server.set_nodelay(true));
    let (answers, to) = (server.try_clone()?, client.try_clone()?);
    let is_idle = Arc::new(AtomicBool::new(true));
    let told = is_idle.clone();
    thread::spawn(move || pass_answers(answers, to, &told));
    let mut is_first = true;
    while let Ok((message, body)) = client_message(&mut client, &mut is_first) {
        if writes(&message[body..]) && is_idle.swap(false, Ordering::SeqCst) {
            server.write_all(
                &[b"Q", &(OPEN.len() as u32 + 5).to_be_bytes()[..], OPEN.as_bytes(), b"\0"].concat(),
            )?;
        }
        server.write_all(&message)?;
    }
    server.shutdown(Shutdown::Both)
}

/// Whether a message is a statement that inserts or updates, to be parsed.
fn writes(message: &[u8]) -> bool {
    let Some((b'P', rest)) = message.split_first() else { return false };
    let Some(text) = rest.get(4..).and_then(|rest| rest.split(|b| *b == 0).nth(1)) else { return false };
    ["insert", "update"].iter().any(|word| text.starts_with(word.as_bytes()))
}

/// Passes on what the server says, but the answers to the statement in between.
fn pass_answers(mut server: TcpStream, mut client: TcpStream, is_idle: &AtomicBool) -> io::Result<()> {
    let mut is_ours = false;
    loop {
        let mut message = vec![0; 5];
        let read = server.read_exact(&mut message).and_then(|()| {
            message.resize(1 + length(&message[1..])?, 0);
            server.read_exact(&mut message[5..])
        });
        if read.is_err() {
            return client.shutdown(Shutdown::Both);
        }
        is_ours |= message[0] == b'C' && &message[5..] == OPENED;
        match message[0] {
            b'C' if is_ours => continue,
            b'Z' if std::mem::take(&mut is_ours) => continue,
            b'Z' => is_idle.store(message[5] == b'I', Ordering::SeqCst),
            _ => {}
        }
        client.write_all(&message)?;
    }
}

/// A message of a client, with its type and its length, and where it begins: the first ones have no type, and are empty here.
///
/// # Errors
/// The connection has ended, or somebody speaks another protocol.
pub(super) fn client_message(client: &mut impl Read, is_first: &mut bool) -> io::Result<(Vec<u8>, usize)> {
    const LOGIN: [u8; 4] = 196_608_u32.to_be_bytes();
    let mut message = vec![0; if *is_first { 4 } else { 5 }];
    client.read_exact(&mut message)?;
    let head = message.len();
    let length = length(&message[head - 4..])?;
    message.resize(head + length - 4, 0);
    client.read_exact(&mut message[head..])?;
    let is_untyped = *is_first;
    *is_first = is_untyped && message.get(4..8) != Some(&LOGIN[..]);
    let body = if is_untyped { message.len() } else { 0 };
    Ok((message, body))
}

/// A length that counts itself.
fn length(bytes: &[u8]) -> io::Result<usize> {
    super::length(u32::from_be_bytes(bytes.try_into().map_err(io::Error::other)?), 4..=1 << 24)
}

#[cfg(test)]
mod tests {
    use super::client_message;
    use std::io::ErrorKind;

    #[test]
    fn other_protocols_are_not_taken_for_lengths() {
        for request in [&b"PING\r\n"[..], b"srvr", b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\0\0\0"] {
            for is_first in [true, false] {
                let read = client_message(&mut request.repeat(2).as_slice(), &mut { is_first });
                let kind = read.expect_err("it is no message").kind();
                assert_eq!(kind, ErrorKind::InvalidData, "{:?}", String::from_utf8_lossy(request));
            }
        }
    }
}

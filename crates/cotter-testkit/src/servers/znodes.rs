//! The nodes of a ZooKeeper server, by a connection that is spoken to by hand.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// A client with a session of its own, one request at a time.
#[derive(Debug)]
pub struct Znodes {
    stream: TcpStream,
    port: u16,
    last: i32,
}

/// A node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Znode {
    /// Its data.
    pub data: Vec<u8>,
    /// The session that it is deleted with; 0 if it stays.
    pub owner: i64,
}

const READ_TIMEOUT: Duration = Duration::from_secs(10);
const NO_NODE: i32 = -101;
/// The secret that the servers derive the passwords of sessions from.
const SECRET: u64 = 0xB341_5C00;

impl Znodes {
    /// Begins a session.
    ///
    /// # Errors
    /// Nobody listens there.
    pub fn open(port: u16) -> io::Result<Self> {
        Self::attach(port, 0, &[0; 16], &[])
    }

    /// Goes on with a session, or begins one; and sends this behind it, before somebody else goes on with it.
    fn attach(port: u16, session: i64, password: &[u8], first: &[u8]) -> io::Result<Self> {
        let stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(READ_TIMEOUT))?;
        let mut this = Self { stream, port, last: 0 };
        let mut hello = vec![0; 12];
        hello.extend_from_slice(&60_000_i32.to_be_bytes());
        hello.extend_from_slice(&session.to_be_bytes());
        hello.extend_from_slice(&bytes(password));
        hello.push(0);
        this.stream.write_all(&[bytes(&hello), first.to_vec()].concat())?;
        let answer = this.read()?;
        match answer[4..8] == [0; 4] {
            true => Err(io::Error::new(io::ErrorKind::NotConnected, "the session has ended")),
            false => Ok(this),
        }
    }

    /// The names of the children of a node, sorted; none for a node that is not there.
    ///
    /// # Panics
    /// When the server does not answer.
    pub fn children(&mut self, path: &str) -> Vec<String> {
        let mut question = bytes(path.as_bytes());
        question.push(0);
        let Some(answer) = self.ask(8, &question) else { return Vec::new() };
        let (mut rest, mut names) = (&answer[4..], Vec::new());
        while let Some((length, after)) = rest.split_first_chunk::<4>() {
            let (name, after) = after.split_at(u32::from_be_bytes(*length) as usize);
            names.push(String::from_utf8_lossy(name).into_owned());
            rest = after;
        }
        names.sort();
        names
    }

    /// A node; `None` if it is not there.
    ///
    /// # Panics
    /// When the server does not answer.
    pub fn get(&mut self, path: &str) -> Option<Znode> {
        let mut question = bytes(path.as_bytes());
        question.push(0);
        let answer = self.ask(4, &question)?;
        let length = i32::from_be_bytes(answer[..4].try_into().expect("four bytes"));
        let (data, stat) = answer[4..].split_at(usize::try_from(length).unwrap_or(0));
        let owner = i64::from_be_bytes(stat[44..52].try_into().expect("eight bytes"));
        Some(Znode { data: data.to_vec(), owner })
    }

    /// Asks the leader, which answers on its own. Returns false without an answer.
    pub fn sync(&mut self) -> bool {
        self.last += 1;
        let message = [&self.last.to_be_bytes()[..], &9_i32.to_be_bytes(), &bytes(b"/")].concat();
        self.write(&message).and_then(|()| self.read()).is_ok()
    }

    /// Creates a node, which ends with this connection if it is ephemeral. Returns false if it cannot.
    ///
    /// # Panics
    /// When the server does not answer.
    pub fn create(&mut self, path: &str, data: &[u8], ephemeral: bool) -> bool {
        let mut question = bytes(path.as_bytes());
        question.extend_from_slice(&bytes(data));
        question.extend_from_slice(&1_i32.to_be_bytes());
        question.extend_from_slice(&31_i32.to_be_bytes());
        question.extend_from_slice(&bytes(b"world"));
        question.extend_from_slice(&bytes(b"anyone"));
        question.extend_from_slice(&i32::from(ephemeral).to_be_bytes());
        self.ask(1, &question).is_some()
    }

    /// Deletes a node, as an operator does. Returns false if it cannot.
    ///
    /// # Panics
    /// When the server does not answer.
    pub fn delete(&mut self, path: &str) -> bool {
        let mut question = bytes(path.as_bytes());
        question.extend_from_slice(&(-1_i32).to_be_bytes());
        self.ask(2, &question).is_some()
    }

    /// Lets everybody do these things with a node, and nothing else: the sum of 1 to read, 2 to write, 4 to create below it, 8
    /// to delete below it, and 16 to do this. Returns false if it cannot.
    ///
    /// # Panics
    /// When the server does not answer.
    pub fn permit(&mut self, path: &str, what: i32) -> bool {
        let mut question = bytes(path.as_bytes());
        question.extend_from_slice(&1_i32.to_be_bytes());
        question.extend_from_slice(&what.to_be_bytes());
        question.extend_from_slice(&bytes(b"world"));
        question.extend_from_slice(&bytes(b"anyone"));
        question.extend_from_slice(&(-1_i32).to_be_bytes());
        self.ask(7, &question).is_some()
    }

    /// Deletes all children of a node. Returns how many there were.
    ///
    /// # Panics
    /// When the server does not answer.
    pub fn clear(&mut self, path: &str) -> usize {
        let children = self.children(path);
        children.iter().filter(|child| self.delete(&format!("{path}/{child}"))).count()
    }

    /// Ends the session of a client, as the servers do with one that is silent for too long. The client may go on with it
    /// at the same time, so it is tried until it is refused.
    pub fn end_session(&self, session: i64) {
        let end = bytes(&[1_i32.to_be_bytes(), (-11_i32).to_be_bytes()].concat());
        let has_ended = || match Self::attach(self.port, session, &password(session), &end) {
            Err(e) => e.kind() == io::ErrorKind::NotConnected,
            Ok(_) => false,
        };
        while !has_ended() {
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// The answer to a request; `None` if it was refused.
    fn ask(&mut self, code: i32, question: &[u8]) -> Option<Vec<u8>> {
        self.last += 1;
        let mut message = self.last.to_be_bytes().to_vec();
        message.extend_from_slice(&code.to_be_bytes());
        message.extend_from_slice(question);
        self.write(&message).expect("the server listens");
        let answer = self.read().expect("the server answers");
        let refusal = i32::from_be_bytes(answer[12..16].try_into().expect("four bytes"));
        assert!(refusal == 0 || (-130..=NO_NODE + 1).contains(&refusal), "code {refusal}");
        (refusal == 0).then(|| answer[16..].to_vec())
    }

    fn write(&mut self, message: &[u8]) -> io::Result<()> {
        self.stream.write_all(&bytes(message))
    }

    fn read(&mut self) -> io::Result<Vec<u8>> {
        let mut length = [0; 4];
        self.stream.read_exact(&mut length)?;
        // ZooKeeper's own limit.
        let length = super::length(u32::from_be_bytes(length), 0..=1 << 20)?;
        let mut message = vec![0; length];
        self.stream.read_exact(&mut message)?;
        Ok(message)
    }
}

fn bytes(bytes: &[u8]) -> Vec<u8> {
    let length = u32::try_from(bytes.len()).expect("a short message");
    [&length.to_be_bytes(), bytes].concat()
}

/// The password of a session, as the servers make it: the first 16 bytes of Java's generator of random numbers.
fn password(session: i64) -> [u8; 16] {
    const MASK: u64 = (1 << 48) - 1;
    const FACTOR: u64 = 0x5_DEEC_E66D;
    let mut state = ((session as u64 ^ SECRET) ^ FACTOR) & MASK;
    let mut password = [0; 16];
    for four in password.chunks_exact_mut(4) {
        state = state.wrapping_mul(FACTOR).wrapping_add(0xB) & MASK;
        four.copy_from_slice(&((state >> 16) as u32).to_le_bytes());
    }
    password
}

//! A connection to a real server.

use cotter_testkit::redis_in_memory::Reply;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// One connection.
pub(crate) struct Real(BufReader<TcpStream>);

const PATIENCE: Duration = Duration::from_secs(10);

impl Real {
    pub(crate) fn open(port: u16) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", port)).expect("the server listens");
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Self(BufReader::new(stream))
    }

    /// The answers to some commands, in one round trip.
    pub(crate) fn ask(&mut self, requests: &[Vec<Vec<u8>>]) -> Vec<Reply> {
        let mut bytes = Vec::new();
        for request in requests {
            Reply::Array(request.iter().cloned().map(Reply::Bulk).collect()).encode(&mut bytes);
        }
        self.0.get_mut().write_all(&bytes).unwrap();
        requests.iter().map(|_| self.reply()).collect()
    }

    pub(crate) fn one(&mut self, words: &[&str]) -> Reply {
        self.ask(&[request(words)]).remove(0)
    }

    /// The next answer, or message.
    pub(crate) fn reply(&mut self) -> Reply {
        let mut line = Vec::new();
        self.0.read_until(b'\n', &mut line).expect("an answer");
        let text = String::from_utf8_lossy(&line[1..]).trim_end_matches("\r\n").to_owned();
        let number = || text.parse::<i64>().expect("a number");
        match line[0] {
            b'+' => Reply::Status(text),
            b'-' => Reply::Error(text),
            b':' => Reply::Int(number()),
            b'$' if number() < 0 => Reply::Nil,
            b'$' => {
                let mut bytes = vec![0; number() as usize + 2];
                self.0.read_exact(&mut bytes).unwrap();
                bytes.truncate(bytes.len() - 2);
                Reply::Bulk(bytes)
            }
            b'*' if number() < 0 => Reply::Nil,
            b'*' => Reply::Array((0..number()).map(|_| self.reply()).collect()),
            other => panic!("an answer that begins with {other}"),
        }
    }
}

pub(crate) fn request(words: &[&str]) -> Vec<Vec<u8>> {
    words.iter().map(|word| word.as_bytes().to_vec()).collect()
}

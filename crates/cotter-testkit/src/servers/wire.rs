//! A connection to a Redis server, spoken to by hand.

use std::io::{self, BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::Duration;

/// One connection, one command at a time.
#[derive(Debug)]
pub struct Wire(BufReader<TcpStream>);

const READ_TIMEOUT: Duration = Duration::from_secs(10);

impl Wire {
    /// Connects to a server on this host.
    ///
    /// # Errors
    /// Nobody listens there.
    pub fn open(port: u16) -> io::Result<Self> {
        let stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(READ_TIMEOUT))?;
        Ok(Self(BufReader::new(stream)))
    }

    /// Sends a command; the answer as it stands on the wire, without type signs.
    ///
    /// # Errors
    /// The server does not answer.
    pub fn command(&mut self, words: &[&str]) -> io::Result<String> {
        let mut request = format!("*{}\r\n", words.len());
        words.iter().for_each(|w| request += &format!("${}\r\n{w}\r\n", w.len()));
        self.0.get_mut().write_all(request.as_bytes())?;
        read_reply(&mut self.0)
    }
}

/// Lists come back as lines.
fn read_reply(from: &mut impl BufRead) -> io::Result<String> {
    let mut line = String::new();
    from.read_line(&mut line)?;
    let line = line.trim_end();
    let (sign, rest) = line.split_at_checked(1).unwrap_or_default();
    match sign {
        "$" if rest == "-1" => Ok(String::new()),
        "$" => {
            let length = super::length(rest.parse().map_err(io::Error::other)?, 0..=1 << 28)?;
            let mut bytes = vec![0; length + 2];
            from.read_exact(&mut bytes)?;
            bytes.truncate(bytes.len() - 2);
            Ok(String::from_utf8_lossy(&bytes).into_owned())
        }
        "*" => {
            let items = rest.parse::<i64>().map_err(io::Error::other)?;
            let items: io::Result<Vec<String>> = (0..items).map(|_| read_reply(from)).collect();
            Ok(items?.join("\n"))
        }
        _ => Ok(rest.to_owned()),
    }
}

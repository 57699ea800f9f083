//! A sentinel that is played by the test.

use cotter_testkit::servers::Redis;
use std::io::{self, BufRead, BufReader, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// A sentinel that says what it is told to.
pub(super) struct Told {
    pub(super) port: u16,
    says: Arc<Mutex<Says>>,
}

struct Says {
    /// The port of the master.
    master: u16,
    /// The number of the failover.
    epoch: u64,
    listeners: Vec<TcpStream>,
    connections: usize,
}

impl Told {
    pub(super) fn to_say(master: &Redis, epoch: u64) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let says = Says { master: master.port(), epoch, listeners: Vec::new(), connections: 0 };
        let says = Arc::new(Mutex::new(says));
        let shared = says.clone();
        thread::spawn(move || {
            while let Ok((stream, _)) = listener.accept() {
                let says = shared.clone();
                says.lock().unwrap().connections += 1;
                thread::spawn(move || {
                    let _ = answer(stream, &says);
                    says.lock().unwrap().connections -= 1;
                });
            }
        });
        Self { port, says }
    }

    pub(super) fn say(&self, master: &Redis, epoch: u64) {
        let mut says = self.says.lock().unwrap();
        (says.master, says.epoch) = (master.port(), epoch);
    }

    pub(super) fn listeners(&self) -> usize {
        self.says.lock().unwrap().listeners.len()
    }

    pub(super) fn connections(&self) -> usize {
        self.says.lock().unwrap().connections
    }

    /// Ends the connections of those who listen.
    pub(super) fn hang_up(&self) {
        for listener in self.says.lock().unwrap().listeners.drain(..) {
            let _ = listener.shutdown(Shutdown::Both);
        }
    }

    pub(super) fn announce(&self, channel: &str, text: &str) {
        let message = array(&["message", channel, text]);
        for listener in &mut self.says.lock().unwrap().listeners {
            // One that has gone does not matter.
            let _ = listener.write_all(message.as_bytes());
        }
    }
}

fn answer(stream: TcpStream, says: &Mutex<Says>) -> io::Result<()> {
    let mut stream = BufReader::new(stream);
    loop {
        let words = command(&mut stream)?;
        let mut says = says.lock().unwrap();
        let (port, epoch) = (says.master, says.epoch);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let said = match &words[..] {
            ["SENTINEL", "GET-MASTER-ADDR-BY-NAME", _] => array(&["127.0.0.1", &port.to_string()]),
            ["SENTINEL", "MASTER", name] => array(&["name", name, "config-epoch", &epoch.to_string()]),
            ["SUBSCRIBE", channel] => {
                says.listeners.push(stream.get_ref().try_clone()?);
                format!("*3\r\n$9\r\nsubscribe\r\n${}\r\n{channel}\r\n:1\r\n", channel.len())
            }
            ["PING"] => array(&["pong", ""]),
            _ => "-ERR no such command\r\n".into(),
        };
        stream.get_mut().write_all(said.as_bytes())?;
    }
}

fn command(from: &mut impl BufRead) -> io::Result<Vec<String>> {
    let number = |from: &mut dyn BufRead| {
        let mut line = String::new();
        from.read_line(&mut line)?;
        line.trim_end()
            .get(1..)
            .and_then(|n| n.parse::<usize>().ok())
            .ok_or(io::ErrorKind::UnexpectedEof.into())
    };
    let words: io::Result<usize> = number(from);
    let word = |_| {
        let length: io::Result<usize> = number(from);
        let mut bytes = vec![0; length? + 2];
        from.read_exact(&mut bytes)?;
        bytes.truncate(bytes.len() - 2);
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    };
    (0..words?).map(word).collect()
}

fn array(words: &[&str]) -> String {
    let words: Vec<_> = words.iter().map(|word| format!("${}\r\n{word}\r\n", word.len())).collect();
    format!("*{}\r\n{}", words.len(), words.concat())
}

//! A proxy that sends reads to a replica that is far behind, as pgpool, MaxScale and ProxySQL do with a replica that is a little
//! behind.
//!
//! The replica is a copy of the tables in the same database, from before anything was written: a statement that would go there
//! has the name of the copy put into it, which is as long.

use super::begins::client_message;
use super::{Mariadb, Postgres};
use std::collections::HashSet;
use std::fmt;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// The beginning of the names of tables, and of those of the copy.
const PREFIX: &[u8] = b"cotter_";
const COPY: &[u8] = b"stale0_";
/// ShedLock's table, with a name that begins in this way.
const SHEDLOCK: &str = "mode=shedlock&table=cotter_shedlock";
const SHEDLOCK_COPY: &str = "mode=shedlock&table=stale0_shedlock";
/// One at a time creates the copy.
static COPYING: Mutex<()> = Mutex::new(());

/// Stands between clients and a database server, in this process, until that ends.
#[derive(Debug)]
pub struct Splitter {
    port: u16,
    rules: Arc<Rules>,
}

struct Rules {
    framing: Framing,
    /// Whether a statement goes to the replica.
    is_read: Box<dyn Fn(&str) -> bool + Send + Sync>,
    /// The statements about tables of the store that went there.
    diverted: Mutex<Vec<String>>,
}

impl fmt::Debug for Rules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rules").field("framing", &self.framing).finish_non_exhaustive()
    }
}

/// How messages of a client are framed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Framing {
    Postgres,
    Mysql,
}

impl Splitter {
    /// Before a PostgreSQL server: a statement that only selects, and calls no volatile function, goes to the replica.
    ///
    /// # Panics
    /// When the server does not answer.
    pub fn before_postgres(server: &Postgres) -> Self {
        let volatile = server.sql("select distinct proname from pg_proc where provolatile = 'v'");
        let volatile: HashSet<String> = volatile.lines().map(str::to_owned).collect();
        copy_postgres(server);
        Self::start(server.port(), Framing::Postgres, move |text| {
            let text = text.trim_start().to_lowercase();
            let only_selects = text.starts_with("select")
                || text.starts_with("with")
                    && !["update ", "insert ", "delete "].iter().any(|w| text.contains(w));
            only_selects && !functions(&text).any(|name| volatile.contains(name))
        })
    }

    /// Before the same, but only what reads notes goes to the replica, whatever it calls.
    ///
    /// # Panics
    /// When the server does not answer.
    pub fn careless_before_postgres(server: &Postgres) -> Self {
        copy_postgres(server);
        Self::start(server.port(), Framing::Postgres, |text| {
            text.starts_with("select") && text.contains("cotter_note ") && !text.contains("_v1(")
        })
    }

    /// Before a MariaDB server: a `SELECT` that does not end with a locking clause goes to the replica.
    ///
    /// # Panics
    /// When the server does not answer.
    pub fn before_mariadb(server: &Mariadb) -> Self {
        copy_mariadb(server);
        Self::start(server.port(), Framing::Mysql, |text| {
            let text = text.trim().to_uppercase();
            let locks = ["FOR UPDATE", "LOCK IN SHARE MODE"].iter().any(|clause| text.ends_with(clause));
            text.starts_with("SELECT") && !locks
        })
    }

    /// Before the same, but only what reads notes goes to the replica, with a locking clause or without.
    ///
    /// # Panics
    /// When the server does not answer.
    pub fn careless_before_mariadb(server: &Mariadb) -> Self {
        copy_mariadb(server);
        Self::start(server.port(), Framing::Mysql, |text| {
            text.starts_with("SELECT") && text.contains("`cotter_notes`")
        })
    }

    fn start(target: u16, framing: Framing, is_read: impl Fn(&str) -> bool + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        let rules = Arc::new(Rules { framing, is_read: Box::new(is_read), diverted: Mutex::default() });
        let splitting = rules.clone();
        thread::spawn(move || {
            for client in listener.incoming() {
                let rules = splitting.clone();
                thread::spawn(move || {
                    let (client, server) = (client?, TcpStream::connect(("127.0.0.1", target))?);
                    rules.relay(client, server)
                });
            }
        });
        Self { port, rules }
    }

    /// A URL of the user `app` through it; in `mode=shedlock` with the table that has a copy.
    pub fn url(&self, options: &str) -> String {
        let scheme = if self.rules.framing == Framing::Mysql { "mysql" } else { "postgres" };
        let options = options.replace("mode=shedlock", SHEDLOCK);
        format!("{scheme}://app:secret@127.0.0.1:{}/cotter?{options}", self.port)
    }

    /// The statements about tables of the store that have read the copy.
    pub fn diverted(&self) -> Vec<String> {
        self.rules.diverted.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Rules {
    fn relay(self: Arc<Self>, mut client: TcpStream, mut server: TcpStream) -> io::Result<()> {
        let _ = (client.set_nodelay(true), server.set_nodelay(true));
        let (mut answers, mut to) = (server.try_clone()?, client.try_clone()?);
        thread::spawn(move || {
            let _ = io::copy(&mut answers, &mut to);
            let _ = to.shutdown(Shutdown::Both);
        });
        let mut is_first = true;
        let ended = loop {
            let read = match self.framing {
                Framing::Postgres => client_message(&mut client, &mut is_first),
                Framing::Mysql => mysql_packet(&mut client),
            };
            let Ok((mut message, body)) = read else { break Ok(()) };
            self.divert(&mut message, body);
            if let Err(e) = server.write_all(&message) {
                break Err(e);
            }
        };
        let _ = (server.shutdown(Shutdown::Both), client.shutdown(Shutdown::Both));
        ended
    }

    /// Puts the name of the copy into a statement that only reads.
    fn divert(&self, message: &mut [u8], body: usize) {
        let bytes = &mut message[body..];
        let begin = match (self.framing, bytes.first()) {
            // A statement as it is, or one that is prepared under a name.
            (Framing::Postgres, Some(b'Q')) => 5,
            (Framing::Postgres, Some(b'P')) => 6 + bytes[5..].iter().position(|b| *b == 0).unwrap_or(0),
            (Framing::Mysql, Some(0x03 | 0x16)) => 1,
            _ => return,
        };
        let text = String::from_utf8_lossy(&bytes[begin..]).into_owned();
        let text = text.split('\0').next().unwrap_or_default();
        if !text.as_bytes().windows(PREFIX.len()).any(|w| w == PREFIX) || !(self.is_read)(text) {
            return;
        }
        self.diverted.lock().unwrap_or_else(PoisonError::into_inner).push(text.to_owned());
        for at in begin..=bytes.len() - PREFIX.len() {
            if &bytes[at..at + PREFIX.len()] == PREFIX {
                bytes[at..at + PREFIX.len()].copy_from_slice(COPY);
            }
        }
    }
}

/// The names before opening parentheses.
fn functions(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices('(').map(|(at, _)| {
        let name = text[..at].trim_end_matches('"');
        let start = name.rfind(|c: char| !c.is_ascii_alphanumeric() && c != '_').map_or(0, |end| end + 1);
        &name[start..]
    })
}

/// A packet of a client, and where its content begins.
fn mysql_packet(client: &mut TcpStream) -> io::Result<(Vec<u8>, usize)> {
    let mut packet = vec![0; 4];
    client.read_exact(&mut packet)?;
    let length = u32::from_le_bytes([packet[0], packet[1], packet[2], 0]) as usize;
    let is_command = packet[3] == 0;
    packet.resize(4 + length, 0);
    client.read_exact(&mut packet[4..])?;
    let body = if is_command { 4 } else { packet.len() };
    Ok((packet, body))
}

fn copy_postgres(server: &Postgres) {
    let _alone = COPYING.lock().unwrap_or_else(PoisonError::into_inner);
    if server.sql("select to_regclass('stale0_shedlock') is not null") == "t" {
        return;
    }
    server.migrate("prefix=stale0");
    server.migrate(SHEDLOCK);
    server.migrate(SHEDLOCK_COPY);
    let tables = ["lock", "claim", "note", "row", "session", "shedlock"].map(|t| format!("stale0_{t}"));
    server.sql(&format!("grant select on {} to app", tables.join(", ")));
    server.sql("grant select, insert, update on cotter_shedlock to app");
}

fn copy_mariadb(server: &Mariadb) {
    let _alone = COPYING.lock().unwrap_or_else(PoisonError::into_inner);
    let there = "SELECT COUNT(*) FROM information_schema.tables WHERE table_name = 'stale0_shedlock'";
    if server.sql(there) != "0" {
        return;
    }
    server.migrate("prefix=stale0");
    server.migrate(SHEDLOCK);
    server.migrate(SHEDLOCK_COPY);
    for table in ["locks", "notes", "floor", "session", "row", "shedlock"] {
        server.sql(&format!("GRANT SELECT ON stale0_{table} TO app"));
    }
    server.sql("GRANT SELECT, INSERT, UPDATE ON cotter_shedlock TO app");
}

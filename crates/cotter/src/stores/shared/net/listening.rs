//! What listens where a store could not be connected to: the port of another server, most often.

use super::blocking::addresses;
use crate::{Error, ErrorKind};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// What may listen at a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Listening {
    Redis,
    Etcd,
    ZooKeeper,
    Postgres,
    Mysql,
    Http,
    Tls,
}

use Listening::{Etcd, Http, Mysql, Postgres, Redis, Tls, ZooKeeper};

/// The time for one answer. A server that is there answers these questions at once.
const PATIENCE: Duration = Duration::from_millis(300);
/// The longest beginning of an answer that is looked at. That of etcd is told by its body.
const LONGEST: usize = 1024;

/// The questions. None of them changes anything, or is one that a server takes for an attack. Each has a connection of its own,
/// because the servers for which it is not meant close it.
const QUESTIONS: [&[u8]; 5] = [
    // PostgreSQL: whether it speaks TLS.
    &[0, 0, 0, 8, 4, 210, 22, 47],
    b"srvr",
    b"PING\r\n",
    b"GET /version HTTP/1.0\r\n\r\n",
    // A greeting that is too short. A server with TLS refuses it by an alert.
    &[22, 3, 1, 0, 5, 1, 0, 0, 1, 0],
];

impl Listening {
    /// Its name, the scheme of its URLs, and its usual port.
    fn store(self) -> Option<(&'static str, &'static str, u16)> {
        Some(match self {
            Redis => ("Redis", "redis", 6379),
            Etcd => ("etcd", "etcd", 2379),
            ZooKeeper => ("ZooKeeper", "zookeeper", 2181),
            Postgres => ("PostgreSQL", "postgres", 5432),
            Mysql => ("MySQL", "mysql", 3306),
            Http | Tls => return None,
        })
    }

    /// The error of a first connection to one of these hosts, which says what listens there if that is not this store.
    pub(crate) async fn instead(
        self,
        error: Error,
        hosts: impl IntoIterator<Item = (String, u16)> + Send,
    ) -> Error {
        #[cfg(feature = "conformance")]
        if super::simulated::is_simulated() {
            return error;
        }
        // A server that has refused the login is the right one.
        if !matches!(error.kind(), ErrorKind::Unavailable | ErrorKind::Protocol | ErrorKind::Config) {
            return error;
        }
        let hosts: Vec<_> = hosts.into_iter().collect();
        for (host, port) in hosts {
            match at(&host, port).await {
                Some(found) if found != self => return self.explain(error, found, &host, port),
                _ => {}
            }
        }
        error
    }

    fn explain(self, error: Error, found: Self, host: &str, port: u16) -> Error {
        let place = if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") };
        let (ours, _, usual) = self.store().unwrap_or_default();
        let not_ours = |what: &str, remedy: &str| {
            let why = format!(
                "{what} listens at {place}, and not {ours}: {remedy}the port of {ours} is usually {usual}"
            );
            Error::new(ErrorKind::Config, why).with_source(error.clone())
        };
        match found.store() {
            Some((theirs, scheme, _)) => {
                not_ours(theirs, &format!("write {scheme}://{place} if it is meant; "))
            }
            None if found == Http => not_ours("an HTTP server", ""),
            // It may be ours all the same.
            None => error.with_remark(&format!("a server with TLS listens at {place}")),
        }
    }
}

/// What listens there, if that can be told.
async fn at(host: &str, port: u16) -> Option<Listening> {
    // This server speaks first, and blocks a host that often does not go on.
    if greets(&ask(host, port, b"").await?) {
        return Some(Mysql);
    }
    let [a, b, c, d, e] = QUESTIONS.map(|question| ask(host, port, question));
    let answers: [Option<Vec<u8>>; 5] = tokio::join!(a, b, c, d, e).into();
    let [postgres, zookeeper, redis, http, tls] = answers.map(Option::unwrap_or_default);
    let (said, page) = (String::from_utf8_lossy(&zookeeper), String::from_utf8_lossy(&http));
    let is_page = page.starts_with("HTTP/");
    Some(match () {
        () if matches!(&postgres[..], b"S" | b"N") => Postgres,
        () if ["Zookeeper version", "whitelist", "not currently serving"]
            .iter()
            .any(|s| said.contains(s)) =>
        {
            ZooKeeper
        }
        () if is_resp(&redis) => Redis,
        () if is_page && page.contains("\"etcdserver\"") => Etcd,
        () if tls.starts_with(&[21, 3]) || tls.starts_with(&[22, 3]) => Tls,
        () if is_page => Http,
        () => return None,
    })
}

/// The greeting of protocol 10, or the error instead of it: a length, number 0, and one of these.
fn greets(said: &[u8]) -> bool {
    matches!(said, [_, _, 0, 0, 10 | 255, ..])
}

fn is_resp(said: &[u8]) -> bool {
    ["+PONG", "-NOAUTH", "-NOPERM", "-ERR", "-DENIED", "-LOADING", "-BUSY", "-MASTERDOWN"]
        .iter()
        .any(|answer| said.starts_with(answer.as_bytes()))
}

/// The beginning of what is answered to a question, perhaps nothing; `None` if nobody listens.
async fn ask(host: &str, port: u16, question: &[u8]) -> Option<Vec<u8>> {
    let found = timeout(PATIENCE, addresses(host, port)).await.ok()?.ok()?;
    let mut stream = timeout(PATIENCE, TcpStream::connect(&found[..])).await.ok()?.ok()?;
    let mut said = Vec::new();
    let asking = async {
        stream.write_all(question).await?;
        (&mut stream).take(LONGEST as u64).read_to_end(&mut said).await
    };
    // What stays open has said all by then.
    let _ = timeout(PATIENCE, asking).await;
    Some(said)
}

#[cfg(test)]
mod tests;

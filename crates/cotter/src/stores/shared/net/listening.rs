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
mod tests {
    use super::*;
    use tokio::net::TcpListener;

    /// A server that says this first, and answers so whatever it is asked.
    async fn server(greeting: &'static [u8], answer: &'static [u8]) -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                tokio::spawn(async move {
                    let _ = stream.write_all(greeting).await;
                    if stream.read(&mut [0; 64]).await.is_ok_and(|n| n > 0) {
                        let _ = stream.write_all(answer).await;
                    }
                });
            }
        });
        port
    }

    async fn told(ours: Listening, kind: ErrorKind, port: u16) -> Error {
        ours.instead(Error::new(kind, "as it was"), [("127.0.0.1".to_owned(), port)]).await
    }

    #[tokio::test]
    async fn each_answer_is_told_apart() {
        let page = b"HTTP/1.0 200 OK\r\n\r\n{\"etcdserver\":\"3.4.23\",\"etcdcluster\":\"3.4.0\"}";
        for (greeting, answer, found) in [
            (&b""[..], &b"N"[..], Some(Postgres)),
            (b"", b"Zookeeper version: 3.8.0", Some(ZooKeeper)),
            (b"", b"srvr is not executed because it is not in the whitelist.", Some(ZooKeeper)),
            (b"", b"+PONG\r\n", Some(Redis)),
            (b"", b"-NOAUTH Authentication required.\r\n", Some(Redis)),
            (b"", page, Some(Etcd)),
            (b"", b"HTTP/1.1 400 Bad Request\r\n\r\n", Some(Http)),
            (b"", &[21, 3, 1, 0, 2, 2, 50], Some(Tls)),
            (&[74, 0, 0, 0, 10, b'5'], b"", Some(Mysql)),
            (&[74, 0, 0, 0, 255, 105, 4], b"", Some(Mysql)),
            (b"220 mail ESMTP\r\n", b"500 what?\r\n", None),
        ] {
            assert_eq!(at("127.0.0.1", server(greeting, answer).await).await, found, "{answer:?}");
        }
    }

    #[tokio::test]
    async fn an_error_says_what_was_found_and_what_to_write() {
        let port = server(b"", b"+PONG\r\n").await;
        let error = told(Etcd, ErrorKind::Unavailable, port).await;
        assert!(error.kind() == ErrorKind::Config && !error.is_retryable(), "{error}");
        let said = format!(
            "Redis listens at 127.0.0.1:{port}, and not etcd: write redis://127.0.0.1:{port} if it is meant"
        );
        assert!(error.to_string().contains(&said), "{error}");
        assert!(error.to_string().ends_with("the port of etcd is usually 2379"), "{error}");
    }

    #[tokio::test]
    async fn the_right_server_and_a_refused_login_keep_their_error() {
        let port = server(b"", b"+PONG\r\n").await;
        assert_eq!(told(Redis, ErrorKind::Unavailable, port).await.to_string(), "unavailable: as it was");
        assert_eq!(told(Etcd, ErrorKind::Denied, port).await.to_string(), "denied: as it was");
        let nobody = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
        assert_eq!(told(Etcd, ErrorKind::Unavailable, nobody).await.to_string(), "unavailable: as it was");
    }
}

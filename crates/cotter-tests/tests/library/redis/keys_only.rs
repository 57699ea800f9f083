//! A proxy that forwards scripts and commands with keys, and closes a connection over which it is sent any other command, without
//! an answer: as twemproxy does, which the long run starts.

use cotter::{Client, ErrorKind, Filter, Lease, Severity};
use cotter_testkit::servers::Redis;
use cotter_testkit::timing::eventually;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy};
use tokio::net::{TcpListener, TcpStream};

const TTL: Duration = Duration::from_secs(20);
/// What the store would send to a server, and twemproxy does not forward.
const UNKNOWN: [&str; 9] =
    ["AUTH", "CLIENT", "CONFIG", "INFO", "PUBSUB", "ROLE", "SCAN", "SCRIPT", "SUBSCRIBE"];

/// Listens on a free port, until the runtime of the test ends.
async fn keys_only(server: &Redis) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (port, target) = (listener.local_addr().unwrap().port(), server.port());
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            tokio::spawn(forward(client, target));
        }
    });
    port
}

async fn forward(client: TcpStream, target: u16) {
    let (mut answers, mut requests) = TcpStream::connect(("127.0.0.1", target)).await.unwrap().into_split();
    let (mut from, mut to) = client.into_split();
    let back = tokio::spawn(async move { copy(&mut answers, &mut to).await });
    let mut packet = vec![0; 64 * 1024];
    while let Ok(n @ 1..) = from.read(&mut packet).await {
        let text = String::from_utf8_lossy(&packet[..n]);
        // The name of a command is the first word of a request, which tells its number of words.
        let mut lines = text.split("\r\n").collect::<Vec<_>>();
        lines.retain(|line| !line.is_empty());
        let commands = lines.windows(3).filter(|w| w[0].starts_with('*') && w[1].starts_with('$'));
        let is_unknown = commands.map(|w| w[2]).any(|name| UNKNOWN.contains(&name));
        if is_unknown || requests.write_all(&packet[..n]).await.is_err() {
            break;
        }
    }
    back.abort();
}

async fn connect(port: u16, options: &str) -> Client {
    let url = format!("redis://127.0.0.1:{port}?{options}");
    Client::builder().lease(Lease::renewed(TTL)).connect(url).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs redis-server"]
async fn locks_work_where_only_scripts_and_keys_are_forwarded() {
    let server = Redis::start();
    let port = keys_only(&server).await;
    for mode in ["", "mode=plain", "mode=getset", "mode=redisson"] {
        let (one, other) = (connect(port, mode).await, connect(port, mode).await);
        let guard = one.mutex("a").lock().await.unwrap();
        assert!(other.mutex("a").try_lock().await.unwrap().is_none(), "{mode}: it is held");
        let waiting = tokio::spawn(other.mutex("a").lock());
        guard.extend(TTL * 2).await.unwrap();
        guard.finish().await.unwrap();
        waiting.await.unwrap().unwrap().finish().await.unwrap();

        let findings = other.admin().diagnose().await.unwrap();
        let warned =
            |subject: &str| findings.iter().any(|f| f.subject == subject && f.severity == Severity::Warning);
        assert!(warned("proxy"), "{mode}: {findings:?}");
        assert_eq!(warned("subscriptions"), matches!(mode, "" | "mode=redisson"), "{findings:?}");
        let listed = other.admin().list(Filter::held()).next().await.unwrap_err();
        assert_eq!(listed.kind(), ErrorKind::Unsupported, "{listed}");
        assert!(other.holder("a").await.unwrap().is_none(), "the question has broken nothing");
    }
}

/// `replicas=` takes WAIT, which is not forwarded either: refused instead of a grant that nobody has acknowledged.
#[tokio::test]
#[ignore = "needs redis-server"]
async fn acknowledgements_are_not_to_be_had_there() {
    let server = Redis::start();
    let url = format!("redis://127.0.0.1:{}?replicas=1", keys_only(&server).await);
    let error = Client::connect(url).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    assert!(error.to_string().contains("a proxy that knows no CLIENT"), "{error}");
}

/// A port that closes every connection is no such proxy.
#[tokio::test]
#[ignore = "needs redis-server"]
async fn a_server_that_was_away_is_introduced_to_again() {
    let mut server = Redis::start();
    let client = connect(server.port(), "client_name=again").await;
    client.mutex("a").lock().await.unwrap().finish().await.unwrap();
    server.restart();
    client.mutex("a").lock().await.unwrap().finish().await.unwrap();
    eventually("it has its name", || server.command(&["CLIENT", "LIST"]).contains("name=again")).await;
}

//! A proxy that forwards scripts and commands with keys, and closes a connection over which it is sent any other command, without
//! an answer: as twemproxy does, which the long run starts.

use cotter::{Client, ErrorKind, Filter, Lease, Level, Severity};
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::servers::Redis;
use cotter_testkit::timing::eventually;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Mutex;
use tokio::task::JoinSet;

const TTL: Duration = Duration::from_secs(20);
/// What the store would send to a server, and twemproxy does not forward.
const UNKNOWN: [&str; 9] =
    ["AUTH", "CLIENT", "CONFIG", "INFO", "PUBSUB", "ROLE", "SCAN", "SCRIPT", "SUBSCRIBE"];

/// Listens on a free port, until the runtime of the test ends.
async fn keys_only(servers: &[&Redis]) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let targets: Vec<_> = servers.iter().map(|server| server.port()).collect();
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            tokio::spawn(forward(client, targets.clone()));
        }
    });
    port
}

/// Where a request goes: by the text between the braces of its key, so that all keys of a script are on one server.
fn target(request: &str, of: usize) -> usize {
    let tag = request.split_once('{').and_then(|(_, rest)| rest.split_once('}'));
    tag.map_or(0, |(tag, _)| tag.bytes().map(usize::from).sum::<usize>() % of)
}

async fn forward(client: TcpStream, targets: Vec<u16>) {
    let (mut from, to) = client.into_split();
    let (to, mut requests, mut answering) = (Arc::new(Mutex::new(to)), Vec::new(), JoinSet::new());
    for target in targets {
        let (mut answers, request) = TcpStream::connect(("127.0.0.1", target)).await.unwrap().into_split();
        requests.push(request);
        let to = to.clone();
        answering.spawn(async move {
            let mut packet = vec![0; 64 * 1024];
            while let Ok(n @ 1..) = answers.read(&mut packet).await {
                to.lock().await.write_all(&packet[..n]).await.unwrap_or_default();
            }
        });
    }
    let mut packet = vec![0; 64 * 1024];
    while let Ok(n @ 1..) = from.read(&mut packet).await {
        let text = String::from_utf8_lossy(&packet[..n]);
        // The name of a command is the first word of a request, which tells its number of words.
        let mut lines = text.split("\r\n").collect::<Vec<_>>();
        lines.retain(|line| !line.is_empty());
        let commands = lines.windows(3).filter(|w| w[0].starts_with('*') && w[1].starts_with('$'));
        let is_unknown = commands.map(|w| w[2]).any(|name| UNKNOWN.contains(&name));
        let to = target(&text, requests.len());
        if is_unknown || requests[to].write_all(&packet[..n]).await.is_err() {
            break;
        }
    }
}

async fn connect(port: u16, options: &str) -> Client {
    let url = format!("redis://127.0.0.1:{port}?{options}");
    Client::builder().lease(Lease::renewed(TTL)).connect(url).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs redis-server"]
async fn locks_work_where_only_scripts_and_keys_are_forwarded() {
    let server = Redis::start();
    let port = keys_only(&[&server]).await;
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

/// Where keys are spread over servers, one that is taken out takes its locks along.
#[tokio::test]
#[ignore = "needs redis-server"]
async fn several_servers_behind_a_proxy_leave_best_effort() {
    let servers = [Redis::start(), Redis::start()];
    for mode in ["", "mode=plain"] {
        for (several, expected) in [(false, None), (true, Some(Level::BestEffort))] {
            let behind = if several { &[&servers[0], &servers[1]][..] } else { &[&servers[0]] };
            let client = connect(keys_only(behind).await, mode).await;
            let findings = client.admin().diagnose().await.unwrap();
            let level = findings.iter().filter(|f| f.subject == "proxy").find_map(|finding| finding.level);
            demand(level == expected, Kind::Overlap, format!("{mode:?}, {several}: {findings:?}"));
        }
    }
}

/// `replicas=` takes WAIT, which is not forwarded either: refused instead of a grant that nobody has acknowledged.
#[tokio::test]
#[ignore = "needs redis-server"]
async fn acknowledgements_are_not_to_be_had_there() {
    let server = Redis::start();
    let url = format!("redis://127.0.0.1:{}?replicas=1", keys_only(&[&server]).await);
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

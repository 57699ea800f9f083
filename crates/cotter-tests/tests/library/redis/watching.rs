//! Watching a note: by message, and by polls where messages are lost or cannot be had. The clock of the watchers stands
//! still unless a test moves it, so that nothing but a message makes them look.

use super::setup::{backend, eventually};
use cotter::backend::{Backend, Connect, Host, Until};
use cotter::redis::Store;
use cotter::{ManualClock, Name, Note};
use cotter_testkit::servers::{Proxy, Redis};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio::time::timeout;

const KEY: &str = "cotter:{a}:note:k";

struct Watcher {
    clock: ManualClock,
    backend: Arc<dyn Backend>,
}

impl Watcher {
    async fn connect(url: String) -> Self {
        let clock = ManualClock::new();
        let host = Host::without_engine(Arc::new(clock.clone()));
        Self { backend: Store::from_url(url).unwrap().connect(&host).await.unwrap(), clock }
    }

    fn watch(&self, seen: u64) -> JoinHandle<Note> {
        let backend = self.backend.clone();
        tokio::spawn(async move {
            let notes = backend.notes().unwrap();
            let name = Name::new("a").unwrap();
            notes.changed(&name, "k", seen, Until::Forever).await.unwrap().expect("a wait without end")
        })
    }
}

async fn swap(backend: &Arc<dyn Backend>, seen: u64, text: &str) -> u64 {
    let notes = backend.notes().unwrap();
    notes.swap(&Name::new("a").unwrap(), "k", seen, text.as_bytes()).await.unwrap().expect("nobody else")
}

async fn told(watching: JoinHandle<Note>) -> Note {
    let told = timeout(Duration::from_secs(10), watching).await;
    told.expect("violation[idle-waiter]: nobody told it of the change").unwrap()
}

fn loads(server: &Redis) -> usize {
    let stats = server.command(&["INFO", "commandstats"]);
    let line = stats.split("cmdstat_hmget:calls=").nth(1);
    line.map_or(0, |l| l.split(',').next().unwrap().parse().unwrap())
}

fn subscribers(server: &Redis) -> bool {
    !server.command(&["PUBSUB", "CHANNELS", KEY]).is_empty()
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn a_change_of_a_note_arrives_by_message() {
    let server = Redis::start();
    let (watcher, writer) = (Watcher::connect(server.url("")).await, backend(&server.url("")).await);
    let first = watcher.watch(0);
    eventually("it is subscribed", || loads(&server) == 2).await;
    let mut seen = swap(&writer, 0, "text").await;
    assert_eq!(told(first).await.revision, seen);
    for _ in 0..3 {
        let before = loads(&server);
        let watching = [watcher.watch(seen), watcher.watch(seen)];
        eventually("both watch", || loads(&server) >= before + 2).await;
        eventually("a message can be received", || subscribers(&server)).await;
        seen = swap(&writer, seen, "text").await;
        for watching in watching {
            assert_eq!(told(watching).await.revision, seen);
        }
        // One when it begins, one for the message, one if the subscription had to be opened again.
        assert!(loads(&server) <= before + 6, "{} loads", loads(&server) - before);
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn a_change_before_the_subscription_is_noticed() {
    let server = Redis::start();
    let proxy = Proxy::start(server.port());
    let (watcher, writer) = (Watcher::connect(proxy.redis_url("")).await, backend(&server.url("")).await);
    let subscribing = proxy.keep_request(format!("SUBSCRIBE\r\n${}\r\n{KEY}", KEY.len()).as_bytes());
    let watching = watcher.watch(0);
    eventually("it subscribes", || subscribing.is_caught()).await;
    eventually("it has loaded the note", || loads(&server) == 1).await;
    let written = swap(&writer, 0, "text").await;
    subscribing.let_go();
    assert_eq!(told(watching).await.revision, written);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn a_watcher_that_was_disconnected_looks_at_once() {
    let server = Redis::start();
    let proxy = Proxy::start(server.port());
    let (watcher, writer) = (Watcher::connect(proxy.redis_url("")).await, backend(&server.url("")).await);
    let watching = watcher.watch(0);
    eventually("it is subscribed", || loads(&server) == 2).await;
    proxy.drop_messages(Some(b":note:"));
    let written = swap(&writer, 0, "text").await;
    eventually("the message is lost", || proxy.messages_dropped() > 0).await;
    assert!(!watching.is_finished());
    server.command(&["CLIENT", "KILL", "TYPE", "pubsub"]);
    assert_eq!(told(watching).await.revision, written);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn a_lost_message_about_a_note_costs_one_poll_period() {
    let server = Redis::start();
    let proxy = Proxy::start(server.port());
    let (watcher, writer) = (Watcher::connect(proxy.redis_url("")).await, backend(&server.url("")).await);
    let watching = watcher.watch(0);
    eventually("it is subscribed", || loads(&server) == 2).await;
    watcher.clock.advance(Duration::from_secs(1));
    proxy.drop_messages(Some(b":note:"));
    swap(&writer, 0, "text").await;
    eventually("the message is lost", || proxy.messages_dropped() > 0).await;
    assert!(!watching.is_finished());
    assert_eq!(loads(&server), 2, "a subscribed watcher polls rarely");
    eventually("it polls", || {
        watcher.clock.advance(Duration::from_secs(1));
        watching.is_finished()
    })
    .await;
    told(watching).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn a_watcher_that_cannot_subscribe_polls() {
    let server = Redis::start();
    let rights = "on >pw ~cotter:* &cotter:wake:* -@all +eval +evalsha +script|load +hmget +subscribe +ping";
    let mut words = vec!["ACL", "SETUSER", "deaf"];
    words.extend(rights.split_whitespace());
    assert_eq!(server.command(&words), "OK");
    let url = format!("redis://deaf:pw@127.0.0.1:{}", server.port());
    let (watcher, writer) = (Watcher::connect(url).await, backend(&server.url("")).await);
    let watching = watcher.watch(0);
    eventually("it has asked for its channel", || server.command(&["ACL", "LOG"]).contains(KEY)).await;
    let written = swap(&writer, 0, "text").await;
    eventually("it polls", || {
        watcher.clock.advance(Duration::from_millis(250));
        watching.is_finished()
    })
    .await;
    assert_eq!(told(watching).await.revision, written);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn a_note_that_nobody_watches_any_more_has_no_subscriber() {
    let server = Redis::start();
    let watcher = Watcher::connect(server.url("")).await;
    let watching = watcher.watch(0);
    eventually("it is subscribed", || subscribers(&server)).await;
    watching.abort();
    eventually("it has left the channel", || !subscribers(&server)).await;
    let again = watcher.watch(0);
    eventually("it is subscribed again", || subscribers(&server)).await;
    again.abort();
}

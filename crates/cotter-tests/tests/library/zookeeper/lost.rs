//! Losses that the servers tell, and those that they cannot tell any more.

use super::{places, session_of, shared};
use crate::stopped::{Stopper, is_known_at_once};
use crate::suspect::silence_is_told_before_the_loss;
use cotter::backend::{Extension, Leave, Until};
use cotter::{Guard, LossCause, Lost};
use cotter_testkit::bare::{backend, claim, client, take};
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::in_own_process;
use cotter_testkit::servers::{Proxy, ZooKeeper};
use cotter_testkit::timing::{FAR, Stopwatch, eventually, happens};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

const TTL: Duration = Duration::from_secs(30);
const AT_ONCE: Duration = Duration::from_secs(2);

async fn told(guard: &Guard) -> Lost {
    let watch = Stopwatch::of(Kind::LateLoss);
    let told = happens("it is told", guard.lost()).await;
    watch.at_most(AT_ONCE, "the loss is told at once");
    told
}

/// Nobody waits for the next look, which would be 10 s away.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs zookeeper"]
async fn a_node_that_is_deleted_is_a_loss_at_once() {
    let server = shared();
    let client = client(&server.url("session=30s"), TTL).await;
    let gone = client.mutex("deleted").lock().await.unwrap();
    let stays = client.mutex("not deleted").lock().await.unwrap();
    assert_eq!(server.nodes(0).clear("/cotter/lock/deleted"), 1);
    assert_eq!(told(&gone).await.cause, LossCause::Gone);
    assert!(stays.is_valid());
    stays.finish().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs zookeeper"]
async fn a_node_that_is_deleted_during_a_change_of_connections_is_a_loss() {
    let server = shared();
    let proxy = Proxy::start(server.port(0));
    let client = client(&format!("zookeeper://127.0.0.1:{}?session=20s", proxy.port()), TTL).await;
    let guard = client.mutex("deleted meanwhile").lock().await.unwrap();
    proxy.refuse(true);
    proxy.cut();
    assert_eq!(server.nodes(0).clear("/cotter/lock/deleted meanwhile"), 1);
    proxy.refuse(false);
    assert_eq!(told(&guard).await.cause, LossCause::Gone);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs zookeeper"]
async fn a_silent_ensemble_is_told_before_the_lock_is_lost() {
    let server = shared();
    let proxy = Proxy::start(server.port(0));
    let url = format!("zookeeper://127.0.0.1:{}?session=4s", proxy.port());
    silence_is_told_before_the_loss(&url, &proxy, LossCause::SessionLost).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs zookeeper"]
async fn a_session_that_ends_is_a_loss_of_all_at_once() {
    let server = shared();
    let client = client(&server.url("session=30s"), TTL).await;
    let (one, other) =
        (client.mutex("ends 1").lock().await.unwrap(), client.mutex("ends 2").lock().await.unwrap());
    server.nodes(0).end_session(session_of(&server, "ends 1"));
    for guard in [one, other] {
        told(&guard).await;
        assert!(!guard.is_valid());
    }
    // The next lock has a session that lives.
    let guard = client.mutex("ends 1").lock().await.unwrap();
    tokio::time::sleep(Duration::from_millis(100)).await;
    guard.finish().await.unwrap();
}

/// A server drops the requests of a session that ended while its client connected, and tells only the next connection. Without
/// another one, nobody would know for a quarter of the session, which is 15 s here.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs zookeeper"]
async fn a_new_connection_without_an_answer_is_replaced() {
    const CHECK: [u8; 14] = [0, 0, 0, 13, 0, 255, 255, 255, 255, 0, 0, 0, 1, b'/'];
    let server = shared();
    let proxy = Proxy::start(server.port(0));
    let client = client(&format!("zookeeper://127.0.0.1:{}?session=60s", proxy.port()), TTL).await;
    let guard = client.mutex("unanswered").lock().await.unwrap();
    let kept = proxy.keep_request(&CHECK);
    proxy.cut();
    eventually("it is not answered", || kept.is_caught()).await;
    let since = Stopwatch::of(Kind::LateLoss);
    client.mutex("beside it").lock().await.unwrap().finish().await.unwrap();
    since.at_most(Duration::from_secs(5), "there is another connection");
    guard.finish().await.unwrap();
}

/// Whoever waits in a session that has ended has no place any more, and is never granted the lock in it.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs zookeeper"]
async fn a_session_that_ends_in_the_queue_is_an_error_and_never_a_grant() {
    let server = shared();
    let url = server.url("session=30s");
    let (one, other) = (backend(&url).await, backend(&url).await);
    let held = claim("queued", TTL);
    take(&one, &held).await;
    let waiting = claim("queued", TTL);
    let wait = tokio::spawn({
        let (other, waiting) = (other.clone(), waiting.clone());
        async move { other.acquire(&waiting, Until::Forever).await }
    });
    eventually("it is in the queue", || places(&server, "queued").len() == 2).await;
    let last = places(&server, "queued").into_iter().max_by_key(|path| path[path.len() - 10..].to_owned());
    let mut nodes = server.nodes(0);
    let theirs = nodes.get(&last.unwrap()).unwrap().owner;
    nodes.end_session(theirs);
    let since = Stopwatch::of(Kind::LateLoss);
    // Long before the end of a session; a new connection and its answer may take a while on a busy machine.
    let error = happens("it is woken", wait).await.unwrap().unwrap_err();
    since.at_most(AT_ONCE * 4, "it is told");
    assert!(error.is_retryable(), "{error}");
    one.release(&held, Leave::used(1)).await.unwrap();
    eventually("nothing is left", || places(&server, "queued").is_empty()).await;
    // A client starts over, in another session.
    take(&other, &claim("queued", TTL)).await;
}

/// By hand, or by a job that cleans up. Its process lives, and queues again.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs zookeeper"]
async fn a_waiter_whose_node_is_deleted_is_served_all_the_same() {
    let server = shared();
    let (one, other) = (client(&server.url(""), TTL).await, client(&server.url(""), TTL).await);
    let guard = one.mutex("cleaned up").lock().await.unwrap();
    let waiting = tokio::spawn(async move { (other.mutex("cleaned up").lock().await, other) });
    eventually("it is in the queue", || places(&server, "cleaned up").len() == 2).await;
    let last =
        places(&server, "cleaned up").into_iter().max_by_key(|path| path[path.len() - 10..].to_owned());
    assert!(server.nodes(0).delete(&last.unwrap()));
    guard.finish().await.unwrap();
    let served = tokio::time::timeout(FAR, waiting).await;
    demand(served.is_ok(), Kind::StuckWaiter, "the lock is free, and somebody waits for it");
    served.expect("demanded").unwrap().0.unwrap().finish().await.unwrap();
}

/// No answer comes through any more: the guard ends by its own clock, while the servers still keep its place.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs zookeeper"]
async fn a_guard_ends_before_its_session_does() {
    let server = shared();
    let proxy = Proxy::start(server.port(0));
    let client = client(&format!("zookeeper://127.0.0.1:{}?session=3s", proxy.port()), TTL).await;
    let guard = client.mutex("silence").lock().await.unwrap();
    tokio::time::sleep(Duration::from_millis(500)).await;
    proxy.freeze(true);
    let start = Stopwatch::start();
    guard.lost().await;
    let is_kept = !places(&server, "silence").is_empty();
    demand(is_kept, Kind::Overlap, "the servers gave the lock away before its holder knew");
    start.at_most(Duration::from_millis(2_500), "the guard ends by its own clock");
    eventually("the servers end the session", || places(&server, "silence").is_empty()).await;
    // The same client goes on in another session.
    proxy.freeze(false);
    client.mutex("silence").lock().await.unwrap().finish().await.unwrap();
}

/// A server that does not answer for a while costs no lock as long as the session lasts.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs zookeeper"]
async fn a_short_silence_costs_no_lock() {
    let server = shared();
    let proxy = Proxy::start(server.port(0));
    let client = client(&format!("zookeeper://127.0.0.1:{}?session=6s", proxy.port()), TTL).await;
    let guard = client.mutex("short silence").lock().await.unwrap();
    let session = session_of(&server, "short silence");
    proxy.freeze(true);
    tokio::time::sleep(Duration::from_millis(2_000)).await;
    proxy.freeze(false);
    proxy.cut();
    tokio::time::sleep(Duration::from_millis(2_500)).await;
    demand(guard.is_valid(), Kind::NeedlessLoss, "the session goes on, and the lock was lost");
    assert_eq!(session_of(&server, "short silence"), session);
    guard.finish().await.unwrap();
}

/// A grant that was lost with its session is lost for good, whatever later sessions prove.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs zookeeper"]
async fn a_new_session_does_not_believe_in_the_places_of_an_old_one() {
    let server = shared();
    let backend = backend(&server.url("session=30s")).await;
    let held = claim("old session", TTL);
    let grant = take(&backend, &held).await;
    server.nodes(0).end_session(session_of(&server, "old session"));
    let next = claim("old session", TTL);
    eventually("the session is lost", || grant.session.as_ref().is_some_and(|s| s.lost().is_some())).await;
    let newer = take(&backend, &next).await;
    assert!(newer.number > grant.number);
    let told = backend.extend(&[&grant, &newer], TTL).await;
    assert!(matches!(told[0], Ok(Extension::Lost(_))) && matches!(told[1], Ok(Extension::Extended { .. })));
    // Neither does its late clean-up touch the newer one.
    backend.release(&held, Leave::used(1)).await.unwrap();
    assert_eq!(places(&server, "old session").len(), 1);
    backend.release(&next, Leave::used(1)).await.unwrap();
}

const URL: &str = "COTTER_TEST_URL";
const STOPPED_FOR: Duration = Duration::from_millis(2_500);

/// For longer than its session: invalid at the first question after that, before anything was sent or received.
#[test]
#[ignore = "needs zookeeper"]
fn a_process_that_was_stopped_for_too_long_knows_at_once() {
    let prepare = |command: &mut Command| {
        let server = Arc::new(ZooKeeper::start(1));
        command.env(URL, server.url("session=1500ms"));
        let watching = server.clone();
        let stopper = Stopper::start(STOPPED_FOR, move || {
            let place = places(&watching, "stopped").pop()?;
            String::from_utf8(watching.nodes(0).get(&place)?.data).ok()
        });
        (stopper, server)
    };
    in_own_process(
        "zookeeper::lost::a_process_that_was_stopped_for_too_long_knows_at_once",
        prepare,
        stopped,
    );
}

fn stopped() {
    let client = cotter::Client::connect(std::env::var(URL).unwrap()).wait().unwrap();
    let guard = client.mutex("stopped").lock().wait().unwrap();
    is_known_at_once(&guard, STOPPED_FOR);
}

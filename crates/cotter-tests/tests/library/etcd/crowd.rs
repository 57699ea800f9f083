//! Many who wait, and many who hold.

use super::{keys, leases};
use crate::crowd::{self, Crowd, WAITING, WOKEN};
use cotter::Mode;
use cotter_testkit::bare::{backend, claim, client, take};
use cotter_testkit::servers::Etcd;
use cotter_testkit::timing::{eventually, happens};
use std::time::Duration;

const TTL: Duration = Duration::from_secs(60);
/// Held by one process.
const HELD: usize = 10_000;

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs etcd"]
async fn who_is_woken_looks_again() {
    let server = Etcd::start(1);
    let clients = [backend(&server.url("")).await, backend(&server.url("")).await];
    let queued = || keys(&server, &format!("cotter/lock/{WOKEN}/")).len();
    crowd::who_is_woken_looks_again(clients, TTL, queued, when_quiet(&server)).await;
}

/// One release wakes one of them: the requests that follow it do not grow with their number.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs etcd"]
async fn a_release_wakes_one_of_many() {
    a_release_wakes(Mode::Exclusive, Mode::Exclusive, 1).await;
}

/// Two permits that become free wake two of them, the second by the first: each tells the next one that it has been served.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs etcd"]
async fn permits_that_become_free_wake_those_who_get_them() {
    let permits = |take| Mode::Permits { take, of: 2 };
    a_release_wakes(permits(2), permits(1), 2).await;
}

async fn a_release_wakes(held: Mode, wanted: Mode, served: usize) {
    let server = Etcd::start(1);
    let url = server.url("timeout=20s");
    let clients = [backend(&url).await, backend(&url).await];
    let crowd = Crowd::gather(clients, (held, wanted), TTL).await;
    eventually("all are in the queue", || keys(&server, "cotter/lock/crowd/").len() == WAITING + 1).await;
    // Each looks once more when the server has confirmed its watch.
    let before = when_quiet(&server).await;
    crowd.release(served).await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    let asked = received(&server) - before;
    // The release; for each of them one look, the end of one watch and the begin of another, and the word to the next.
    assert!(asked < 12 * served, "{asked} messages");
    assert_eq!(crowd.served(), served);
}

/// Whoever has to wait has put its entry with the first attempt, and looks at the line once before its turn comes and once then.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs etcd"]
async fn a_place_in_line_is_asked_for_once() {
    let server = Etcd::start(1);
    let (one, other) = (client(&server.url(""), TTL).await, client(&server.url(""), TTL).await);
    other.mutex("warm").lock().await.unwrap().finish().await.unwrap();
    let guard = one.mutex("a").lock().await.unwrap();
    let before = server.received(Some("Txn"));
    let waiting = tokio::spawn(async move { other.mutex("a").lock().await.unwrap() });
    eventually("it is in the queue", || keys(&server, "cotter/lock/a/").len() == 2).await;
    when_quiet(&server).await;
    guard.finish().await.unwrap();
    let guard = happens("it is woken", waiting).await.unwrap();
    // The put, the look behind it, the move to the lease of those who wait, the release, and the look after that; whether whoever has released was evicted, if it
    // hears of the deletion before it has the answer; and a question to the majority, if the member tells of the release
    // before it is in what it reads. Those who asked for their place twice needed two more.
    let asked = server.received(Some("Txn")) - before;
    assert!(asked <= 7, "{asked} transactions");
    guard.finish().await.unwrap();
}

/// The number of messages that the server has received, but for those that keep leases alive, and read behind that.
fn received(server: &Etcd) -> usize {
    let alive = server.received(Some("LeaseKeepAlive")) + server.received(Some("Range"));
    server.received(None).saturating_sub(alive)
}

/// How many messages have arrived, when no more do.
async fn when_quiet(server: &Etcd) -> usize {
    crowd::at_rest(|| received(server), 0).await
}

/// A lease is kept alive once for all entries that are attached to it; fifty of them are looked at in one request.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs etcd"]
async fn ten_thousand_names_are_kept_alive_as_one() {
    let server = Etcd::start(1);
    let ours = backend(&server.url("timeout=20s")).await;
    let claims: Vec<_> = (0..HELD).map(|n| claim(&format!("many {n}"), TTL)).collect();
    let mut grants = Vec::new();
    for some in claims.chunks(HELD / 20) {
        let taking = some.iter().map(|claim| {
            let (ours, claim) = (ours.clone(), claim.clone());
            tokio::spawn(async move { take(&ours, &claim).await })
        });
        for taken in taking.collect::<Vec<_>>() {
            grants.push(taken.await.unwrap());
        }
    }
    assert_eq!(leases(&server).len(), 1);
    let keepalives = || server.received(Some("LeaseKeepAlive"));
    // Those who hold are watched a little later.
    let before = when_quiet(&server).await;
    let kept = keepalives();
    // As the engine renews them.
    let extended = ours.extend(&grants.iter().collect::<Vec<_>>(), TTL).await;
    assert!(extended.iter().all(Result::is_ok));
    assert!(keepalives() - kept <= 1);
    let asked = received(&server) - before;
    assert!(asked <= HELD / 50 + 5, "{asked} messages");
    ours.close().await;
    eventually("its end has freed them all", || keys(&server, "cotter/lock/").is_empty()).await;
}

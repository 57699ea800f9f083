//! Many who wait, and many who hold.

use super::{places, received, shared};
use crate::crowd::{self, Crowd, WAITING, WOKEN};
use cotter::Mode;
use cotter::backend::{Claim, Leave, Until};
use cotter_testkit::bare::{backend, claim, client, take};
use cotter_testkit::history::Kind;
use cotter_testkit::servers::ZooKeeper;
use cotter_testkit::timing::{Stopwatch, eventually, happens};
use std::time::{Duration, Instant};

const TTL: Duration = Duration::from_secs(30);
/// Held by one process.
const HELD: usize = 10_000;
/// What arrives between two looks at a crowd at rest, at the most: now and then each of them looks whether it was overlooked.
const SIGNS: usize = 40;

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs zookeeper"]
async fn who_is_woken_looks_again() {
    let server = shared();
    let url = server.url("session=20s");
    let clients = [backend(&url).await, backend(&url).await];
    let settled = tokio::time::sleep(Duration::from_millis(100));
    crowd::who_is_woken_looks_again(clients, TTL, || places(&server, WOKEN).len(), settled).await;
}

/// Whoever has to wait has created its node with the first attempt, and watches what stands before it without another look.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs zookeeper"]
async fn a_place_in_line_is_asked_for_once() {
    let server = ZooKeeper::start(1);
    let url = server.url("session=60s");
    let (one, other) = (client(&url, TTL).await, client(&url, TTL).await);
    other.mutex("once").lock().await.unwrap().finish().await.unwrap();
    let guard = one.mutex("once").lock().await.unwrap();
    tokio::time::sleep(Duration::from_millis(100)).await;
    let before = received(&server);
    let waiting = tokio::spawn(async move { other.mutex("once").lock().await.unwrap() });
    // Each question of this test would count, too.
    tokio::time::sleep(Duration::from_millis(500)).await;
    guard.finish().await.unwrap();
    let guard = happens("it is woken", waiting).await.unwrap();
    // The node, the line, the watch, the release, and the line; the mark of one that waits for longer than a moment, and for it
    // the watch, the line and the node before it once more; its end; and the question of this test.
    let asked = received(&server) - before;
    assert!(asked <= 5 + 4 + 1 + 1, "{asked} requests");
    guard.finish().await.unwrap();
}

/// One release wakes one of them: the requests that follow it do not grow with their number.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs zookeeper"]
async fn a_release_wakes_one_of_many() {
    a_release_wakes(Mode::Exclusive, Mode::Exclusive, 1).await;
}

/// Two permits that become free wake two of them, the second by the first: each tells the next one that it has been served.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs zookeeper"]
async fn permits_that_become_free_wake_those_who_get_them() {
    let permits = |take| Mode::Permits { take, of: 2 };
    a_release_wakes(permits(2), permits(1), 2).await;
}

/// Those who have not waited for long enough to have a mark tell each other, too. Otherwise the second one would look by itself
/// when it marks its node, 100 ms after it has come. The median of many
/// turns is judged: one may be long for other reasons, and short if both look at the same time.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs zookeeper"]
async fn permits_wake_those_who_have_just_come() {
    let server = shared();
    let url = server.url("session=20s");
    let [one, other] = [backend(&url).await, backend(&url).await];
    let wants = |take| {
        let mut claim = claim("just come", TTL);
        claim.mode = Mode::Permits { take, of: 2 };
        claim
    };
    let stopwatch = Stopwatch::of(Kind::IdleWaiter);
    let mut turns = Vec::new();
    for _ in 0..30 {
        let (held, next) = (wants(2), [wants(1), wants(1)]);
        take(&one, &held).await;
        let wait = |claim: &Claim| {
            let (other, claim) = (other.clone(), claim.clone());
            tokio::spawn(async move { other.acquire(&claim, Until::Forever).await.unwrap().granted() })
        };
        let waiting = [wait(&next[0]), wait(&next[1])];
        tokio::time::sleep(Duration::from_millis(20)).await;
        one.release(&held, Leave::used(1)).await.unwrap();
        let released = Instant::now();
        for waiting in waiting {
            happens("both are served", waiting).await.unwrap().expect("its turn");
        }
        turns.push(released.elapsed());
        for claim in &next {
            other.release(claim, Leave::used(1)).await.unwrap();
        }
    }
    turns.sort_unstable();
    let median = turns[turns.len() / 2];
    stopwatch.took_at_most(median, Duration::from_millis(40), "the second one is told");
}

async fn a_release_wakes(held: Mode, wanted: Mode, served: usize) {
    let server = ZooKeeper::start(1);
    let url = server.url("session=60s");
    let clients = [backend(&url).await, backend(&url).await];
    let crowd = Crowd::gather(clients, (held, wanted), TTL).await;
    eventually("all are in the queue", || places(&server, "crowd").len() == WAITING + 1).await;
    // Watches of a folder are not counted, and the first who waits for permits has that one.
    let watches = if wanted == Mode::Exclusive { WAITING + 1 } else { WAITING };
    eventually("all watch", || {
        server.tell(0, "wchs").is_some_and(|told| told.contains(&format!("Total watches:{watches}")))
    })
    .await;
    // Each marks its node, and looks at the line once more.
    let before = crowd::at_rest(|| received(&server), SIGNS).await;
    crowd.release(served).await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    let asked = received(&server) - before;
    // The release; for each of them one look, one watch, and the word to the next; and the signs of life of two sessions, one
    // for each seven seconds.
    assert!(asked < 20 * served, "{asked} requests");
    assert_eq!(crowd.served(), served);
}

/// A session is kept alive once for all that it holds.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs zookeeper"]
async fn ten_thousand_names_are_kept_alive_as_one() {
    let server = ZooKeeper::start(1);
    let ours = backend(&server.url("session=60s")).await;
    let claims: Vec<_> = (0..HELD).map(|n| claim(&format!("many {n}"), TTL)).collect();
    for some in claims.chunks(HELD / 20) {
        let taking = some.iter().map(|claim| {
            let (ours, claim) = (ours.clone(), claim.clone());
            tokio::spawn(async move { take(&ours, &claim).await })
        });
        for taken in taking.collect::<Vec<_>>() {
            taken.await.unwrap();
        }
    }
    // Each holder reads its own node once, and nobody waits for that.
    let watched = format!("Total watches:{HELD}");
    eventually("all watch", || server.tell(0, "wchs").is_some_and(|told| told.contains(&watched))).await;
    let before = received(&server);
    tokio::time::sleep(Duration::from_secs(8)).await;
    let asked = received(&server) - before;
    // One each seven seconds, and this question itself.
    assert!((1..=4).contains(&asked), "{asked} requests");
    assert_eq!(places(&server, &format!("many {}", HELD - 1)).len(), 1);
    ours.close().await;
    assert!(places(&server, "many 0").is_empty(), "its end has freed them all");
}

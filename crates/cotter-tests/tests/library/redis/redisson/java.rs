//! Redisson itself, in a process of its own: whoever holds keeps the other out, and whoever releases wakes it, in both directions.

use crate::peer::{Peer, exclude_each_other, take};
use crate::redis::setup::{USED, backend, claim, client, holds_at_last};
use cotter::backend::{Backend, Claim, Mode, Until};
use cotter::{Client, Lease, LossCause};
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::servers::Redis;
use cotter_testkit::timing::{FAR, Stopwatch, eventually, happens};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

const MODE: &str = "mode=redisson";
const FENCED: &str = "mode=redisson&recipe=fenced";
const FAIR: &str = "mode=redisson&recipe=fair";
const PERMITS: &str = "mode=redisson&recipe=permits";
const READ_WRITE: &str = "mode=redisson&recipe=rwlock";
/// Nobody is woken by the end of such a lease.
const LONG: Duration = Duration::from_secs(3600);
/// A message takes less than this, and the next poll more.
const BY_MESSAGE: Duration = Duration::from_secs(2);

fn redisson(server: &Redis) -> Peer {
    let home = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut command = Command::new("java");
    command.args(["-Xshare:auto", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp"]);
    command.arg(home.join("../../target/servers/java/*"));
    command.arg(home.join("tests/library/redis/redisson/Redisson.java"));
    let address = format!("redis://127.0.0.1:{}", server.port());
    let mut peer = Peer::start(command.arg(address).stderr(Stdio::null()));
    // It takes seconds until it is connected, in which leases would end.
    assert_eq!(peer.ask("lock", "count", "none"), "0");
    peer
}

fn of_mode(name: &str, mode: Mode) -> Claim {
    let mut claim = claim(name, LONG);
    claim.mode = mode;
    claim
}

/// No lease ends while anybody waits.
async fn wake_each_other(ours: &Arc<dyn Backend>, theirs: &mut Peer, mode: Mode, kind: &str, name: &str) {
    let (first, second) = (of_mode(name, mode), of_mode(name, mode));
    assert!(take(ours, &first).await);
    theirs.order(kind, "wait", name);
    assert!(theirs.is_silent());
    ours.release(&first, USED).await.unwrap();
    assert_eq!(theirs.answer(), "held", "our release wakes {kind} {name}");
    let waiting = holds_at_last(ours, &second);
    tokio::time::sleep(Duration::from_millis(300)).await;
    let since = Stopwatch::of(Kind::IdleWaiter);
    assert_eq!(theirs.ask(kind, "release", name), "free");
    assert!(happens("their release wakes us", waiting).await.unwrap());
    since.at_most(BY_MESSAGE, format!("{kind} {name} is released there"));
    ours.release(&second, USED).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server and Redisson"]
async fn redisson_and_cotter_exclude_and_wake_each_other() {
    let server = Redis::start();
    let mut theirs = redisson(&server);
    let ours = backend(&server.url(MODE)).await;
    for (kind, name) in [("lock", "orders"), ("lock", "{shop}:orders"), ("fenced", "orders}")] {
        exclude_each_other(&ours, &mut theirs, Mode::Exclusive, kind, (name, name)).await;
        wake_each_other(&ours, &mut theirs, Mode::Exclusive, kind, name).await;
        assert_eq!(server.command(&["EXISTS", name]), "0", "{name}");
    }
}

/// A thread of Redisson enters as often as it likes; a claim of cotter enters once.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server and Redisson"]
async fn holds_of_redisson_are_counted_by_it_alone() {
    let server = Redis::start();
    let mut theirs = redisson(&server);
    let ours = client(&server.url(MODE), LONG).await;
    let is_busy = async || ours.mutex("orders").try_lock().await.unwrap().is_none();
    for entered in ["1", "2"] {
        assert_eq!(theirs.ask("lock", "try", "orders"), "held");
        assert_eq!(theirs.ask("lock", "count", "orders"), entered);
        assert!(is_busy().await);
    }
    let seen = ours.holder("orders").await.unwrap().expect("it is held");
    assert!(seen.holders[0].label.ends_with("entered 2 times"), "{seen:?}");
    for busy in [true, false] {
        assert_eq!(theirs.ask("lock", "release", "orders"), "free");
        demand(is_busy().await == busy, Kind::Overlap, format!("busy: not {busy}"));
    }
    let guard = ours.mutex("orders").lock().await.unwrap();
    assert_eq!(theirs.ask("lock", "release", "orders"), "lost", "it is not theirs");
    assert_eq!(theirs.ask("lock", "count", "orders"), "0");
    guard.finish().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server and Redisson"]
async fn the_watchdog_of_redisson_keeps_its_lock_until_it_dies() {
    let server = Redis::start();
    let mut theirs = redisson(&server);
    let ours = backend(&server.url(MODE)).await;
    assert_eq!(theirs.ask("brief", "try", "orders"), "held");
    let waiting = tokio::spawn({
        let ours = ours.clone();
        async move { ours.acquire(&claim("orders", LONG), Until::Forever).await.unwrap().granted() }
    });
    tokio::time::sleep(Duration::from_millis(2500)).await;
    demand(!waiting.is_finished(), Kind::Overlap, "the watchdog extends a lease of a second");
    // Nobody publishes anything: the rest of the lease is slept through.
    let since = Stopwatch::of(Kind::IdleWaiter);
    drop(theirs);
    assert!(happens("its lease ends", waiting).await.unwrap().is_some());
    since.at_most(Duration::from_secs(1) + BY_MESSAGE, "Redisson is killed, and its lease of a second ends");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server and Redisson"]
async fn a_lock_that_redisson_forces_open_is_reported_as_lost() {
    let server = Redis::start();
    let mut theirs = redisson(&server);
    let lease = Lease::renewed(Duration::from_millis(1500));
    let ours = Client::builder().lease(lease).connect(server.url(MODE)).await.unwrap();
    let guard = ours.mutex("orders").lock().await.unwrap();
    assert_eq!(theirs.ask("lock", "force", "orders"), "free");
    assert_eq!(theirs.ask("lock", "try", "orders"), "held");
    let lost = happens("it is told", guard.lost()).await;
    assert_eq!(lost.cause, LossCause::Gone);
    drop(guard);
    ours.close(FAR).await.unwrap();
    // Neither its renewals nor its release have touched the next holder.
    assert_eq!(theirs.ask("lock", "count", "orders"), "1");
    assert_eq!(theirs.ask("lock", "release", "orders"), "free");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server and Redisson"]
async fn what_a_dead_cotter_held_goes_to_redisson_when_its_lease_ends() {
    let server = Redis::start();
    let mut theirs = redisson(&server);
    let ours = backend(&server.url(MODE)).await;
    assert!(take(&ours, &claim("orders", Duration::from_secs(3))).await);
    ours.close().await;
    assert_eq!(theirs.ask("lock", "try", "orders"), "busy");
    assert_eq!(theirs.ask("lock", "wait", "orders"), "held");
}

/// The counter is that of `RFencedLock`: whoever draws a token there, it is larger than all before.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server and Redisson"]
async fn tokens_of_redisson_and_cotter_rise_together() {
    let server = Redis::start();
    let mut theirs = redisson(&server);
    let ours = client(&server.url(FENCED), LONG).await;
    for first in ["draws-first", "orders"] {
        let mut tokens = Vec::new();
        for round in 0..4 {
            if round > 0 || first == "draws-first" {
                tokens.push(theirs.ask("fenced", "draw", first).parse::<u64>().unwrap());
                assert_eq!(theirs.ask("fenced", "release", first), "free");
            }
            let guard = ours.mutex(first).lock().await.unwrap();
            tokens.push(guard.token().get());
            guard.finish().await.unwrap();
        }
        demand(tokens.is_sorted_by(|a, b| a < b), Kind::TokenOrder, format!("{first}: {tokens:?}"));
        let counter = format!("redisson_lock_token:{{{first}}}");
        assert_eq!(server.command(&["PTTL", &counter]), "-1", "{first}: it would begin anew");
    }
}

/// What the page says of them: two keep each other out, and one does not, in Java either.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server and Redisson"]
async fn other_locks_of_redisson_on_the_same_name_do_what_the_page_says() {
    let server = Redis::start();
    let mut theirs = redisson(&server);
    let ours = backend(&server.url(MODE)).await;
    for (kind, excludes) in [("fair", "busy"), ("spin", "busy"), ("write", "held")] {
        let held = claim(kind, LONG);
        assert!(take(&ours, &held).await);
        assert_eq!(theirs.ask(kind, "try", kind), excludes, "{kind}");
        ours.release(&held, USED).await.unwrap();
    }
    for kind in ["fair", "spin"] {
        assert_eq!(theirs.ask(kind, "try", kind), "held");
        demand(!take(&ours, &claim(kind, LONG)).await, Kind::Overlap, format!("{kind} is held there"));
        assert_eq!(theirs.ask(kind, "release", kind), "free");
        assert!(take(&ours, &claim(kind, LONG)).await, "{kind} was given back");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server and Redisson"]
async fn fair_locks_of_redisson_and_cotter_exclude_and_wake_each_other() {
    let server = Redis::start();
    let mut theirs = redisson(&server);
    let ours = backend(&server.url(FAIR)).await;
    for name in ["orders", "{shop}:orders"] {
        exclude_each_other(&ours, &mut theirs, Mode::Exclusive, "fair", (name, name)).await;
        wake_each_other(&ours, &mut theirs, Mode::Exclusive, "fair", name).await;
        // The client of Redisson deletes a key of its own after the answer.
        let keys = || server.command(&["KEYS", &format!("*{name}*")]).lines().count();
        eventually("only a counter is left", || keys() == 1).await;
    }
}

/// One who came first is served first, whichever library it has.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server and Redisson"]
async fn redisson_and_cotter_stand_in_one_line() {
    let server = Redis::start();
    let (mut theirs, mut others) = (redisson(&server), redisson(&server));
    let ours = backend(&server.url(FAIR)).await;
    let in_line = async |n: usize| {
        let length = || server.command(&["LLEN", "redisson_lock_queue:{orders}"]) == n.to_string();
        eventually("all are in line", length).await;
    };
    let wait = || {
        let wanted = claim("orders", LONG);
        let waiting = holds_at_last(&ours, &wanted);
        (wanted, waiting)
    };
    for round in 0..3 {
        let held = claim("orders", LONG);
        assert!(take(&ours, &held).await);
        theirs.order("fair", "wait", "orders");
        in_line(1).await;
        let (second, ours_second) = wait();
        in_line(2).await;
        others.order("fair", "wait", "orders");
        in_line(3).await;
        let (fourth, ours_fourth) = wait();
        in_line(4).await;
        ours.release(&held, USED).await.unwrap();
        assert_eq!(theirs.answer(), "held");
        assert!(others.is_silent() && !ours_second.is_finished(), "violation[lost-place]: round {round}");
        assert_eq!(theirs.ask("fair", "release", "orders"), "free");
        assert!(happens("the second is served", ours_second).await.unwrap());
        assert!(others.is_silent() && !ours_fourth.is_finished(), "violation[lost-place]: round {round}");
        ours.release(&second, USED).await.unwrap();
        assert_eq!(others.answer(), "held");
        assert!(!ours_fourth.is_finished(), "violation[lost-place]: round {round}");
        assert_eq!(others.ask("fair", "release", "orders"), "free");
        assert!(happens("the last is served", ours_fourth).await.unwrap());
        ours.release(&fourth, USED).await.unwrap();
    }
}

/// A process of Redisson that dies in line would keep its own kind out for five minutes and a lease.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server and Redisson"]
async fn a_dead_redisson_in_line_is_passed_over() {
    let server = Redis::start();
    let mut theirs = redisson(&server);
    let mut behind = redisson(&server);
    let ours = backend(&server.url(FAIR)).await;
    let held = claim("orders", LONG);
    assert!(take(&ours, &held).await);
    let length = |n: &'static str| server.command(&["LLEN", "redisson_lock_queue:{orders}"]) == n;
    theirs.order("fair", "wait", "orders");
    eventually("it is in line", || length("1")).await;
    let waiting = holds_at_last(&ours, &claim("orders", Duration::from_secs(2)));
    eventually("both are in line", || length("2")).await;
    behind.order("fair", "wait", "orders");
    eventually("all are in line", || length("3")).await;
    drop(theirs);
    ours.release(&held, USED).await.unwrap();
    assert!(happens("it is passed over", waiting).await.unwrap());
    assert_eq!(behind.answer(), "held", "a lease of two seconds ends");
}

/// Whoever has them, there are never more than Redisson has set; and whoever gives one back wakes the other.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server and Redisson"]
async fn permits_of_redisson_and_cotter_are_of_one_semaphore() {
    let server = Redis::start();
    let mut theirs = redisson(&server);
    let ours = backend(&server.url(PERMITS)).await;
    let mode = Mode::Permits { take: 1, of: 2 };
    for name in ["orders", "{shop}:orders"] {
        assert_eq!(theirs.ask("permits", "set2", name), "held");
        let (first, second) = (of_mode(name, mode), of_mode(name, mode));
        assert!(take(&ours, &first).await);
        assert_eq!(theirs.ask("permits", "try", name), "held");
        demand(!take(&ours, &second).await, Kind::PermitsOverLimit, "both are held");
        assert_eq!(theirs.ask("permits", "try", name), "busy", "both are held");
        theirs.order("permits", "wait", name);
        assert!(theirs.is_silent());
        ours.release(&first, USED).await.unwrap();
        assert_eq!(theirs.answer(), "held", "our release wakes {name}");
        let waiting = holds_at_last(&ours, &second);
        tokio::time::sleep(Duration::from_millis(300)).await;
        let since = Stopwatch::of(Kind::IdleWaiter);
        assert_eq!(theirs.ask("permits", "release", name), "free");
        assert!(happens("their release wakes us", waiting).await.unwrap());
        since.at_most(BY_MESSAGE, format!("a permit of {name} is given back there"));
        ours.release(&second, USED).await.unwrap();
        assert_eq!(theirs.ask("permits", "release", name), "free");
        assert_eq!(theirs.ask("permits", "count", name), "2", "all are free");
        // One that cotter has made, and one that ends by itself.
        let made = format!("{name}:made");
        let mut brief = of_mode(&made, mode);
        brief.ttl = Duration::from_secs(1);
        assert!(take(&ours, &brief).await && take(&ours, &of_mode(&made, mode)).await);
        assert_eq!(theirs.ask("permits", "wait", &made), "held", "our lease has ended");
        assert_eq!(theirs.ask("permits", "release", &made), "free");
        assert_eq!(theirs.ask("permits", "brief", &made), "held");
        assert!(
            happens("their lease ends", ours.acquire(&of_mode(&made, mode), Until::Forever)).await.is_ok()
        );
        assert_eq!(theirs.ask("permits", "release", &made), "lost");
        assert_eq!(theirs.ask("permits", "count", &made), "0", "two of two are held");
    }
}

/// As `forceUnlock` does: it tells the first in line.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server and Redisson"]
async fn a_fair_lock_that_is_forced_open_is_passed_on() {
    let server = Redis::start();
    let mut theirs = redisson(&server);
    let ours = client(&server.url(FAIR), LONG).await;
    let in_line = || server.command(&["LLEN", "redisson_lock_queue:{orders}"]) == "1";
    let guard = ours.mutex("orders").lock().await.unwrap();
    theirs.order("fair", "wait", "orders");
    eventually("it is in line", in_line).await;
    drop(ours.admin().evict_with("orders", cotter::EvictOrder::new().at_once()).await.unwrap());
    assert_eq!(theirs.answer(), "held");
    drop(guard);
    let waiting = tokio::spawn(ours.mutex("orders").lock());
    eventually("we are in line", in_line).await;
    assert_eq!(theirs.ask("fair", "force", "orders"), "free");
    happens("it is ours", waiting).await.unwrap().unwrap().finish().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server and Redisson"]
async fn read_write_locks_of_redisson_and_cotter_exclude_and_wake_each_other() {
    let server = Redis::start();
    let mut theirs = redisson(&server);
    let ours = backend(&server.url(READ_WRITE)).await;
    for (mode, kind, name) in [
        (Mode::Exclusive, "write", "orders"),
        (Mode::Exclusive, "read", "{shop}:orders"),
        (Mode::Shared, "write", "orders"),
    ] {
        exclude_each_other(&ours, &mut theirs, mode, kind, (name, name)).await;
        wake_each_other(&ours, &mut theirs, mode, kind, name).await;
        assert_eq!(server.command(&["KEYS", &format!("*{name}*rwlock_timeout*")]), "", "{mode:?} {kind}");
    }
}

/// A process of cotter that always wants the lock is closer to the server than a JVM, and could be faster each time.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server and Redisson"]
async fn redisson_has_its_turn_beside_a_process_that_always_wants_the_lock() {
    let server = Redis::start();
    let mut theirs = redisson(&server);
    let ours = client(&server.url(MODE), LONG).await;
    assert_eq!(theirs.ask("lock", "try", "orders"), "held", "it is warm");
    let busy = (0..4).map(|_| {
        let mutex = ours.mutex("orders");
        tokio::spawn(async move {
            loop {
                mutex.lock().await.unwrap().finish().await.unwrap();
            }
        })
    });
    let busy: Vec<_> = busy.collect();
    let since = Stopwatch::of(Kind::UnfairShare);
    for _ in 0..20 {
        assert_eq!(theirs.ask("lock", "release", "orders"), "free");
        assert_eq!(theirs.ask("lock", "wait", "orders"), "held");
    }
    since.at_most(Duration::from_secs(3), "twenty turns of Redisson");
    busy.iter().for_each(tokio::task::JoinHandle::abort);
}

/// Whoever of them leaves last lets the writer in, and nobody's lease ends with that of another.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server and Redisson"]
async fn readers_of_redisson_and_cotter_share_a_lock_until_the_last_one_leaves() {
    let server = Redis::start();
    let (mut theirs, mut writer) = (redisson(&server), redisson(&server));
    let ours = backend(&server.url(READ_WRITE)).await;
    for last in ["theirs", "ours"] {
        let reading = of_mode("orders", Mode::Shared);
        assert!(take(&ours, &reading).await);
        for entered in ["1", "2"] {
            assert_eq!(theirs.ask("read", "try", "orders"), "held", "{last}");
            assert_eq!(theirs.ask("read", "count", "orders"), entered);
        }
        writer.order("write", "wait", "orders");
        assert!(writer.is_silent());
        for who in if last == "ours" { ["theirs", "theirs", "ours"] } else { ["ours", "theirs", "theirs"] } {
            assert!(writer.is_silent(), "violation[shared-with-exclusive]: {who} reads");
            let left: u64 = server.command(&["PTTL", "orders"]).parse().unwrap();
            assert!(left > 3_000_000, "the lock lives as long as the lease of {who}, not {left} ms");
            match who {
                "ours" => _ = ours.release(&reading, USED).await.unwrap(),
                _ => assert_eq!(theirs.ask("read", "release", "orders"), "free"),
            }
        }
        assert_eq!(writer.answer(), "held", "{last} is the last one, and wakes the writer");
        demand(!take(&ours, &of_mode("orders", Mode::Shared)).await, Kind::SharedWithExclusive, "it writes");
        assert_eq!(writer.ask("write", "release", "orders"), "free");
    }
}

//! Locks that live with a session: what ends one, who is told, and what is left.

use super::setup::{backend, claim, client, eventually, server, take, waiters, waiting};
use crate::stopped::until_stopped_for;
use cotter::backend::{Leave, Until};
use cotter::{Client, Fence, Lease, LossCause, Severity};
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::in_own_process;
use cotter_testkit::servers::{Database, Loss, Mariadb, Proxy};
use cotter_testkit::timing::{FAR, Stopwatch, happens};
use std::process::Command;
use std::time::{Duration, Instant};

const TTL: Duration = Duration::from_secs(30);
const MODES: [&str; 2] = ["row", "advisory"];

/// The session that holds a name.
fn holder(server: &Mariadb, name: &str) -> String {
    server.sql(&format!(
        "SELECT session FROM cotter_session WHERE name = '{name}' ORDER BY number DESC LIMIT 1"
    ))
}

/// The server grants the lock to a session whose packets are dropped: nobody would hear of it before the server ends the session.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs mariadbd"]
async fn a_waiter_whose_answer_is_lost_asks_again() {
    let server = server();
    for mode in MODES {
        let proxy = Proxy::start(server.port());
        let options = format!("mode={mode}&session_timeout=2m");
        let one = client(&server.url(&options), TTL).await;
        let other = client(&proxy.mysql_url(&options), TTL).await;
        let guard = one.mutex("unheard").lock().await.unwrap();
        let waiting_for = other.mutex("unheard");
        let next = tokio::spawn(async move { waiting_for.lock().await.unwrap() });
        waiting(&server, 1).await;
        // The next one is the answer to the statement that waits.
        proxy.lose_reply(b"", Loss::Vanish);
        let start = Stopwatch::start();
        guard.finish().await.unwrap();
        let next = tokio::time::timeout(2 * FAR, next).await;
        let next = next.expect("violation[stuck-waiter]: the lock is free, and nobody hears of it").unwrap();
        next.finish().await.unwrap();
        assert!(proxy.has_lost(), "{mode}: the answer was lost");
        start.at_most(Duration::from_secs(20), format!("{mode}: it has the lock"));
    }
}

/// The holder is told with its next sign of life, the next one is served at once, and whatever compares tokens refuses the old one.
/// Notes stay.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs mariadbd"]
async fn a_holder_whose_session_is_ended_is_told() {
    let server = server();
    for mode in MODES {
        let url = server.url(&format!("mode={mode}&session_timeout=4s"));
        let (one, other) = (client(&url, TTL).await, client(&url, TTL).await);
        let guard = one.mutex("ended").lock().await.unwrap();
        guard.put_note("kept").await.unwrap();
        let next = tokio::spawn(async move {
            let guard = other.mutex("ended").lock().await.unwrap();
            (guard, Instant::now(), other)
        });
        waiting(&server, 1).await;
        let start = Stopwatch::of(Kind::LateLoss);
        server.sql(&format!("KILL {}", holder(&server, "ended")));
        let lost = guard.lost().await;
        assert_eq!(lost.cause, LossCause::SessionLost, "{mode}: {lost}");
        start.at_most(Duration::from_secs(2), format!("{mode}: it is told"));
        let (next, granted, other) = next.await.unwrap();
        start.took_at_most(start.upto(granted), Duration::from_secs(1), format!("{mode}: the next has it"));
        assert!(next.token() > guard.token(), "{mode}");
        let fence = Fence::new();
        fence.admit(&next).unwrap();
        assert!(fence.admit(&guard).is_err(), "{mode}: a stale holder");
        assert!(guard.put_note("late").await.is_err(), "{mode}");
        assert_eq!(other.note("ended").await.unwrap().expect("it stays").bytes, b"kept", "{mode}");
        next.finish().await.unwrap();
        for client in [one, other] {
            client.close(FAR).await.unwrap();
        }
        eventually("no session is left", || server.sessions() == 0).await;
    }
}

/// The lock ends with the server, and its holder knows. Those who wait go on waiting.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs mariadbd"]
async fn a_restart_costs_the_lock_and_not_the_wait() {
    let mut server = server();
    for mode in MODES {
        let url = server.url(&format!("mode={mode}&session_timeout=4s"));
        let (one, other) = (client(&url, TTL).await, client(&url, TTL).await);
        let guard = one.mutex("restart").lock().await.unwrap();
        guard.put_note("kept").await.unwrap();
        let next = tokio::spawn(async move { (other.mutex("restart").lock().await.unwrap(), other) });
        waiting(&server, 1).await;
        server.restart();
        let lost = happens("it is told", guard.lost()).await;
        assert_eq!(lost.cause, LossCause::SessionLost, "{mode}: {lost}");
        let next = happens("the next one has it", next).await.unwrap();
        assert!(next.0.token() > guard.token(), "{mode}");
        assert_eq!(next.1.note("restart").await.unwrap().expect("it stays").bytes, b"kept", "{mode}");
        next.0.finish().await.unwrap();
    }
}

/// A server that stands still proves nothing: its holders know when their sessions may end.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs mariadbd"]
async fn a_server_that_stands_still_is_noticed_in_time() {
    let server = server();
    let limit = Duration::from_millis(1200);
    let mut held = Vec::new();
    for mode in MODES {
        let url = server.url(&format!("mode={mode}&session_timeout={}ms&timeout=300ms", limit.as_millis()));
        let one = client(&url, TTL).await;
        let guard = one.mutex("still").lock().await.unwrap();
        held.push((mode, guard, one, client(&server.url(&format!("mode={mode}")), TTL).await));
    }
    // They are proved again and again.
    tokio::time::sleep(limit * 2).await;
    assert!(held.iter().all(|(_, guard, ..)| guard.is_valid()));
    server.freeze(true);
    let start = Stopwatch::start();
    for (mode, guard, ..) in &held {
        guard.lost().await;
        assert!(!guard.is_valid(), "{mode}: it is told lost");
        start.at_most(limit, format!("{mode}: it is told"));
    }
    server.freeze(false);
    for (mode, guard, _, other) in held {
        let next = happens("it is free", other.mutex("still").lock()).await;
        assert!(next.unwrap().token() > guard.token(), "{mode}");
    }
}

/// A process that stands still for longer than the server waits for it knows that before anything else, and the lock was free
/// meanwhile.
#[test]
#[ignore = "needs mariadbd"]
fn a_process_that_stood_still_knows_at_once() {
    in_own_process(
        "mysql::sessions::a_process_that_stood_still_knows_at_once",
        |_| (),
        || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let server = server();
                let mut held = Vec::new();
                for mode in MODES {
                    let url = server.url(&format!("mode={mode}&session_timeout=800ms"));
                    let one = client(&url, TTL).await;
                    held.push((mode, one.mutex("stopped").lock().await.unwrap(), one));
                }
                assert_eq!(server.sql(MARKS), "2");
                let file = server.socket().with_file_name("sessions");
                let mut ask = server.client("cotter");
                ask.args(["-e", MARKS]);
                let words = std::iter::once(ask.get_program()).chain(ask.get_args());
                let words: Vec<String> = words.map(|word| format!("'{}'", word.to_str().unwrap())).collect();
                let script = format!(
                    "sleep 0.3; kill -STOP {id}; sleep 2.2; {ask} > {file}; kill -CONT {id}",
                    id = std::process::id(),
                    ask = words.join(" "),
                    file = file.display()
                );
                let mut stopper = Command::new("sh").args(["-c", &script]).spawn().unwrap();
                until_stopped_for(Duration::from_secs(1));
                for (mode, guard, _) in &held {
                    assert!(
                        !guard.is_valid() && guard.remaining().is_none_or(|left| left.is_zero()),
                        "{mode}"
                    );
                }
                stopper.wait().unwrap();
                assert_eq!(std::fs::read_to_string(file).unwrap().trim(), "0", "the server has freed them");
            });
        },
    );
}

/// How many of the holders' sessions are there.
const MARKS: &str = "SELECT COUNT(IS_USED_LOCK(marker)) FROM cotter_session";

/// Whoever stops waiting leaves the queue at once, and its session is used again or closed.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs mariadbd"]
async fn a_wait_that_is_dropped_leaves_nothing() {
    let server = server();
    for mode in MODES {
        let url = server.url(&format!("mode={mode}"));
        let (one, other) = (client(&url, TTL).await, client(&url, TTL).await);
        let guard = one.mutex("dropped").lock().await.unwrap();
        for _ in 0..4 {
            let mutex = other.mutex("dropped");
            let gone = tokio::spawn(async move { mutex.lock().await });
            waiting(&server, 1).await;
            let start = Stopwatch::start();
            gone.abort();
            waiting(&server, 0).await;
            start.at_most(Duration::from_secs(1), format!("{mode}: the wait leaves the server"));
        }
        let mutex = other.mutex("dropped");
        assert!(mutex.try_lock_for(Duration::from_millis(500)).await.unwrap().is_none(), "{mode}");
        waiting(&server, 0).await;
        assert!(server.sessions() <= 6, "{mode}: {} sessions", server.sessions());
        guard.finish().await.unwrap();
        other.mutex("dropped").lock().await.unwrap().finish().await.unwrap();
        for client in [one, other] {
            client.close(FAR).await.unwrap();
        }
        eventually("no session is left", || server.sessions() == 0).await;
    }
}

/// Sessions that nobody uses are closed by their client, long before the server would do it.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs mariadbd"]
async fn idle_sessions_are_closed() {
    let server = server();
    let one = client(&server.url("mode=advisory&session_timeout=2s"), TTL).await;
    let guards = [one.mutex("a"), one.mutex("b"), one.mutex("c")]
        .map(|mutex| tokio::spawn(async move { mutex.lock().await.unwrap() }));
    for guard in guards {
        guard.await.unwrap().finish().await.unwrap();
    }
    assert!(server.sessions() >= 2);
    let marks = "SELECT COUNT(IS_USED_LOCK(marker)) FROM cotter_session";
    eventually("no session of a lock is left", || server.sql(marks) == "0").await;
    let ended = server.sql("SHOW GLOBAL STATUS LIKE 'Aborted_clients'");
    assert!(ended.ends_with("\t0"), "the server has ended some: {ended}");
    one.mutex("a").lock().await.unwrap().finish().await.unwrap();
}

/// Sessions that were ended while nobody used them cost nobody an error.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs mariadbd"]
async fn idle_sessions_that_were_ended_are_replaced() {
    let server = server();
    for mode in MODES {
        let one = client(&server.url(&format!("mode={mode}")), TTL).await;
        one.mutex("a").lock().await.unwrap().finish().await.unwrap();
        tokio::time::sleep(Duration::from_millis(1200)).await;
        assert!(server.end_sessions() >= 2, "{mode}: one is kept");
        eventually("they have gone", || server.sessions() == 0).await;
        let guard = one.mutex("a").try_lock().await.unwrap_or_else(|e| panic!("{mode}: {e}"));
        guard.expect("it is free").finish().await.unwrap();
        one.close(FAR).await.unwrap();
    }
}

/// A connection that breaks while its claim waits: the release ends the session that it may have left.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs mariadbd"]
async fn a_release_ends_the_session_of_a_broken_connection() {
    let server = server();
    for mode in MODES {
        let proxy = Proxy::start(server.port());
        let held = backend(&server.url(&format!("mode={mode}"))).await;
        let first = claim("broken", TTL);
        take(&held, &first).await;
        let options = format!("mode={mode}&timeout=300ms&connect_timeout=300ms");
        let through = backend(&proxy.mysql_url(&options)).await;
        let second = claim("broken", TTL);
        let asking = {
            let (through, second) = (through.clone(), second.clone());
            tokio::spawn(async move { through.acquire(&second, Until::Forever).await })
        };
        waiting(&server, 1).await;
        proxy.freeze(true);
        asking.abort();
        let error = through.release(&second, Leave::default()).await.unwrap_err();
        assert!(error.is_retryable(), "{mode}: {error}");
        // It waits on, and nobody can tell it.
        waiting(&server, 1).await;
        proxy.freeze(false);
        let end = Instant::now() + Duration::from_secs(10);
        let released = loop {
            match through.release(&second, Leave::default()).await {
                Err(e) if Instant::now() < end => assert!(e.is_retryable(), "{mode}: {e}"),
                released => break released.unwrap(),
            }
        };
        let left = waiters(&server);
        demand(left == "0", Kind::LeftBehind, format!("{mode}: {released:?}, and {left} wait"));
        held.release(&first, Leave::used(1)).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs mariadbd"]
async fn doctor_counts_sessions() {
    let server = server();
    for mode in MODES {
        let client = client(&server.url(&format!("mode={mode}")), TTL).await;
        let findings = client.admin().diagnose().await.unwrap();
        let found = findings.iter().find(|f| f.subject == "sessions").expect("it is looked at");
        assert_eq!(found.severity, Severity::Ok, "{mode}: {found}");
        assert!(findings.iter().any(|f| f.subject == "durability"), "{mode}: {findings:?}");
    }
}

/// Where the server has no session left, the error says so; those that exist go on.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs mariadbd"]
async fn a_server_without_sessions_to_spare_says_so() {
    let server = server();
    server.sql("ALTER USER app@'%' WITH MAX_USER_CONNECTIONS 3");
    let client = client(&server.url("mode=row&connections=1"), TTL).await;
    let guards = [client.mutex("a").lock().await.unwrap(), client.mutex("b").lock().await.unwrap()];
    let error = client.mutex("c").try_lock().await.unwrap_err();
    assert!(error.is_retryable() && error.to_string().contains("max_user_connections"), "{error}");
    for guard in guards {
        guard.finish().await.unwrap();
    }
    client.mutex("c").lock().await.unwrap().finish().await.unwrap();
}

/// A lease that such a lock does not have is still the end of a fixed one.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs mariadbd"]
async fn a_fixed_lease_ends() {
    let server = Mariadb::migrated();
    for mode in MODES {
        let url = server.url(&format!("mode={mode}"));
        let lease = Lease::fixed(Duration::from_millis(300));
        let one = Client::builder().lease(lease).connect(&url).await.unwrap();
        let other = client(&url, TTL).await;
        let guard = one.mutex("fixed").lock().await.unwrap();
        let start = Stopwatch::start();
        other.mutex("fixed").lock().await.unwrap().finish().await.unwrap();
        assert!(!guard.is_valid(), "{mode}: others have it");
        start.at_most(Duration::from_secs(3), format!("{mode}: the fixed lease ends"));
    }
}

/// A server that takes no writes any more keeps its session locks. Its holders are told all the same: the server that has taken its
/// place grants them as well.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs mariadbd"]
async fn a_holder_on_a_server_that_takes_no_writes_is_told() {
    let server = Mariadb::start();
    server.migrate_all();
    for mode in ["row", "advisory"] {
        let one =
            client(&server.url(&format!("mode={mode}&session_timeout=4s")), Duration::from_secs(30)).await;
        let guard = one.mutex("demoted").lock().await.unwrap();
        server.sql("SET GLOBAL read_only = 1");
        let told = tokio::time::timeout(FAR, guard.lost()).await;
        server.sql("SET GLOBAL read_only = 0");
        demand(told.is_ok(), Kind::UntoldLoss, format!("{mode}: not told by a server that takes no writes"));
        assert_eq!(told.unwrap().cause, LossCause::SessionLost, "{mode}");
    }
}

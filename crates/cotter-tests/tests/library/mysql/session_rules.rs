//! The rules of locks that live with a session, which a run may break unnoticed, each provoked.

use super::setup::{backend, backend_on, claim, clock, eventually, server, take, waiters};
use cotter::ErrorKind;
use cotter::backend::{Backend, Claim, Connect, Host, Leave, Until};
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::servers::{Database, Mariadb, Proxy};
use cotter_testkit::timing::FAR;
use std::sync::Arc;
use std::time::{Duration, Instant};

const TTL: Duration = Duration::from_secs(30);
const MODES: [&str; 2] = ["row", "advisory"];

fn asking(
    backend: &Arc<dyn Backend>,
    claim: &Claim,
) -> tokio::task::JoinHandle<cotter::Result<Option<cotter::backend::Grant>>> {
    let (backend, claim) = (backend.clone(), claim.clone());
    tokio::spawn(
        async move { backend.acquire(&claim, Until::Forever).await.map(|acquired| acquired.granted()) },
    )
}

/// Has statements prepared: the next messages are the requests themselves.
async fn warm_up(backend: &Arc<dyn Backend>) {
    let claim = claim("before", TTL);
    asking(backend, &claim).await.unwrap().unwrap();
    backend.release(&claim, Leave::used(1)).await.unwrap();
}

/// A token that is asked for while its holder dies is smaller than that of the next holder, or is not given.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs mariadbd"]
async fn no_token_is_reserved_for_a_session_that_has_ended() {
    let server = server();
    for mode in MODES {
        let name = format!("late-{mode}");
        let proxy = Proxy::start(server.port());
        let one = backend(&proxy.mysql_url(&format!("mode={mode}&connections=1&timeout=10s"))).await;
        let other = backend(&server.url(&format!("mode={mode}"))).await;
        warm_up(&one).await;
        // There is a row already, so that the next request is the one for a token.
        let before = claim(&name, TTL);
        take(&other, &before).await;
        other.release(&before, Leave::used(1)).await.unwrap();
        let late = claim(&name, TTL);
        // Only the request for a token contains it.
        let kept = proxy.keep_request(late.id.to_string().as_bytes());
        let late = asking(&one, &late);
        eventually("it holds the name and asks for a token", || kept.is_caught()).await;
        // Its mark is the only one that is not in a row.
        let sessions =
            "SELECT id FROM information_schema.processlist WHERE user = 'app' AND id <> CONNECTION_ID()";
        let ids = server.sql(sessions);
        let next = claim(&name, TTL);
        let next = asking(&other, &next);
        eventually("the next one waits", || waiters(&server) == "1").await;
        let holder = holder(&server, &ids);
        server.sql(&format!("KILL {holder}"));
        let next = next.await.unwrap().unwrap().unwrap();
        kept.let_go();
        let late = late.await.unwrap();
        let text = format!("{mode}: a dead session got {late:?}, its successor {}", next.number);
        demand(
            late.is_err() || late.is_ok_and(|late| late.is_none_or(|late| late.number < next.number)),
            Kind::TokenOrder,
            text,
        );
        let last = server.sql(&format!("SELECT last_token FROM cotter_session WHERE name = '{name}'"));
        let text = format!("{mode}: {last} was reserved after {}", next.number);
        demand(last == next.number.to_string(), Kind::TokenOrder, text);
    }
}

/// The session among these that has the digest of a name: the only one with two locks.
fn holder(server: &Mariadb, ids: &str) -> String {
    let of = "SELECT IS_USED_LOCK(CONCAT('cotter-h:', SHA1(CONCAT(DATABASE(), '/cotter/', place, '/', name)))) \
        FROM cotter_session WHERE name LIKE 'late-%'";
    let holders = server.sql(of);
    let found = holders.lines().find(|holder| ids.lines().any(|id| id == *holder));
    found.unwrap_or_else(|| panic!("none of {ids} in {holders}")).to_owned()
}

/// A request to cancel a statement may arrive before the statement: it is repeated until the statement answers.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs mariadbd"]
async fn a_statement_that_arrives_after_its_cancellation_is_cancelled_again() {
    let server = server();
    for mode in MODES {
        let proxy = Proxy::start(server.port());
        let holder = backend(&server.url(&format!("mode={mode}"))).await;
        let first = claim("cancelled", TTL);
        take(&holder, &first).await;
        let one = backend(&proxy.mysql_url(&format!("mode={mode}&timeout=3s"))).await;
        warm_up(&one).await;
        // In one mode the name is bound, in the other it is a literal.
        let name: &[u8] = if mode == "row" { b"63616e63656c6c6564" } else { b"cancelled" };
        let kept = proxy.keep_request(name);
        let second = claim("cancelled", TTL);
        let asking = {
            let (one, second) = (one.clone(), second.clone());
            tokio::spawn(async move { one.acquire(&second, Until::Forever).await })
        };
        eventually("its statement is on the way", || kept.is_caught()).await;
        asking.abort();
        let releasing = {
            let (one, second) = (one.clone(), second.clone());
            tokio::spawn(async move { one.release(&second, Leave::default()).await })
        };
        // Some requests to cancel it have found nothing.
        tokio::time::sleep(Duration::from_millis(60)).await;
        kept.let_go();
        let start = Instant::now();
        let released = tokio::time::timeout(FAR, releasing).await;
        let left = waiters(&server);
        let text = format!("{mode}: released as {released:?}, and {left} wait after {:?}", start.elapsed());
        demand(left == "0" && released.is_ok_and(|r| r.is_ok_and(|r| r.is_ok())), Kind::LeftBehind, text);
        holder.release(&first, Leave::used(1)).await.unwrap();
    }
}

/// Whoever is cut off without a sign loses its session when the time is over: the server ends it.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs mariadbd"]
async fn a_silent_session_is_ended_by_the_server() {
    let server = server();
    for mode in MODES {
        let proxy = Proxy::start(server.port());
        let clock = clock();
        let url = proxy.mysql_url(&format!("mode={mode}&session_timeout=1s"));
        let silent = backend_on(&url, clock.clone()).await;
        let other = backend(&server.url(&format!("mode={mode}"))).await;
        let first = claim("silent", TTL);
        let grant = take(&silent, &first).await;
        // It is proved in between.
        tokio::time::sleep(Duration::from_millis(1500)).await;
        let session = grant.session.as_ref().expect("it lives with a session");
        assert!(session.lost().is_none(), "{mode}");
        let free = other.acquire(&claim("silent", TTL), Until::Now).await.unwrap().granted();
        assert!(free.is_none(), "{mode}: it is held");
        proxy.freeze(true);
        let start = Instant::now();
        let next = claim("silent", TTL);
        let next = tokio::time::timeout(FAR, asking(&other, &next)).await;
        demand(
            next.is_ok(),
            Kind::LeftBehind,
            format!("{mode}: held after {:?} of silence", start.elapsed()),
        );
        let next = next.unwrap().unwrap().unwrap().unwrap();
        let (as_of, lasts) = session.proof().expect("it was proved");
        let text = format!(
            "{mode}: free after {:?} of silence, {:?} after the last proof",
            start.elapsed(),
            clock.now().since(as_of)
        );
        demand(clock.now() >= as_of + lasts, Kind::Overlap, text);
        other.release(&next.claim, Leave::used(1)).await.unwrap();
    }
}

/// A server that does not take the limit is not used.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs mariadbd"]
async fn a_session_whose_limit_cannot_be_set_is_refused() {
    let server = Mariadb::builder().with("maximum-wait-timeout", "5").start();
    server.migrate("");
    for mode in MODES {
        let url = server.url(&format!("mode={mode}&session_timeout=6s"));
        let store = cotter::mysql::Store::from_url(url).unwrap();
        let error = store.connect(&Host::without_engine(clock())).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Config, "{mode}: {error}");
        assert!(error.to_string().contains("silent"), "{mode}: {error}");
    }
}

/// After a restart the number of a session may belong to somebody else. That one goes on.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs mariadbd"]
async fn nobody_elses_session_is_ended() {
    let mut server = server();
    for mode in MODES {
        let mut others = Vec::new();
        for _ in 0..8 {
            others.push(backend(&server.url("")).await);
        }
        let proxy = Proxy::start(server.port());
        let one = backend(&proxy.mysql_url(&format!("mode={mode}&session_timeout=2s"))).await;
        let held = claim("number", TTL);
        take(&one, &held).await;
        let number: u64 = server
            .sql("SELECT session FROM cotter_session WHERE name = 'number' ORDER BY number DESC LIMIT 1")
            .parse()
            .unwrap();
        proxy.cut();
        drop(others);
        server.restart();
        // Numbers are given one after the other.
        let mut others = Vec::new();
        for _ in 0..number + 8 {
            others.push(backend(&server.url("")).await);
        }
        let count = format!(
            "SELECT COUNT(*) FROM information_schema.processlist WHERE id = {number} AND user = 'app'"
        );
        assert_eq!(server.sql(&count), "1", "{mode}: somebody has the number {number}");
        let end = Instant::now() + Duration::from_secs(10);
        loop {
            match one.release(&held, Leave::used(1)).await {
                Err(e) if Instant::now() < end => assert!(e.is_retryable(), "{mode}: {e}"),
                released => break released.map(drop).unwrap(),
            }
        }
        let left = server.sql(&count);
        demand(
            left == "1",
            Kind::LeftBehind,
            format!("{mode}: the session {number} of somebody else was ended"),
        );
    }
}

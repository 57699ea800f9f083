//! The rules of locks that live with a session, which a run may break unnoticed, each provoked.

use super::setup::{backend, claim, client, eventually, server, take};
use crate::next_host::locked_there;
use cotter::backend::{Backend, Claim, Leave, Until};
use cotter::{ErrorKind, Eviction, Filter};
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::servers::{Postgres, Proxy};
use cotter_testkit::timing::FAR;
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

const TTL: Duration = Duration::from_secs(30);

fn asking(
    backend: &Arc<dyn Backend>,
    claim: &Claim,
) -> tokio::task::JoinHandle<cotter::Result<Option<cotter::backend::Grant>>> {
    let (backend, claim) = (backend.clone(), claim.clone());
    tokio::spawn(
        async move { backend.acquire(&claim, Until::Forever).await.map(|acquired| acquired.granted()) },
    )
}

/// Has the statements of a session, and of the connection for requests, prepared: the next messages are the requests themselves.
async fn warm_up(backend: &Arc<dyn Backend>) {
    let claim = claim("before", TTL);
    asking(backend, &claim).await.unwrap().unwrap();
    backend.release(&claim, Leave::used(1)).await.unwrap();
}

/// A token that is asked for while its holder dies is smaller than that of the next holder, or is not given.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs postgres"]
async fn no_token_is_reserved_for_a_transaction_that_has_ended() {
    let server = server();
    let proxy = Proxy::start(server.port());
    let one = backend(&proxy.postgres_url("mode=row")).await;
    let other = backend(&server.url("mode=row")).await;
    warm_up(&one).await;
    let late = claim("late", TTL);
    // Only the request for a token contains it.
    let kept = proxy.keep_request(late.id.to_string().as_bytes());
    let late = asking(&one, &late);
    eventually("it holds the row and asks for a token", || kept.is_caught()).await;
    let holder = "select pid from pg_stat_activity where state = 'idle in transaction'";
    assert_eq!(server.sql(&format!("select pg_terminate_backend(({holder}), 5000)")), "t");
    let next = claim("late", TTL);
    let next =
        other.acquire(&next, Until::Moment(cotter::clock::Moment::NEVER)).await.unwrap().granted().unwrap();
    kept.let_go();
    let late = late.await.unwrap();
    let text = format!("a dead transaction got {late:?}, its successor {}", next.number);
    demand(
        late.is_err() || late.is_ok_and(|late| late.is_none_or(|late| late.number < next.number)),
        Kind::TokenOrder,
        text,
    );
    let last = server.sql("select last from cotter_session where name = 'late'");
    demand(
        last == next.number.to_string(),
        Kind::TokenOrder,
        format!("{last} was reserved after {}", next.number),
    );
}

/// Something in between may turn to another server while a session stays on the old one, and a transaction there may have the same
/// number.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs postgres"]
async fn tokens_come_from_the_server_that_has_the_transaction() {
    let (old, new) = (Postgres::start(), Postgres::start());
    [&old, &new].iter().for_each(|server| server.migrate_all());
    let proxy = Proxy::start(old.port());
    let one = client(&proxy.postgres_url("mode=row"), TTL).await;
    let other = client(&new.url("mode=row"), TTL).await;
    for client in [&one, &other] {
        client.mutex("a").lock().await.unwrap().finish().await.unwrap();
    }
    proxy.turn_to(new.port());
    let requests = "from pg_stat_activity where usename = 'app' and query not like '%rollback%'";
    old.sql(&format!("select pg_terminate_backend(pid, 5000) {requests}"));
    let go_on_to = |end: &str| {
        format!("do $$ begin while pg_current_xact_id() < '{end}'::xid8 loop commit; end loop; end $$")
    };
    new.sql(&go_on_to("5000"));
    let open = "begin; select pg_current_xact_id(); select pg_sleep(600)";
    let mut open = new.psql("cotter").args(["-c", open]).stdout(Stdio::null()).spawn().unwrap();
    let number = "select coalesce(max(backend_xid::text::bigint), 0) from pg_stat_activity";
    eventually("a transaction is open", || new.sql(number) != "0").await;
    let end = new.sql(number).parse::<u64>().unwrap() - 1;
    old.sql(&go_on_to(&end.to_string()));
    let _guard = locked_there(&one, &other, "a").await;
    open.kill().unwrap();
    open.wait().unwrap();
}

/// A request to cancel a statement may arrive before the statement: it is repeated until the statement answers.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs postgres"]
async fn a_statement_that_arrives_after_its_cancellation_is_cancelled_again() {
    let server = server();
    for mode in ["row", "advisory"] {
        let proxy = Proxy::start(server.port());
        let holder = backend(&server.url(&format!("mode={mode}"))).await;
        let first = claim("cancelled", TTL);
        take(&holder, &first).await;
        let one = backend(&proxy.postgres_url(&format!("mode={mode}&timeout=3s"))).await;
        warm_up(&one).await;
        let kept = proxy.keep_request(b"cancelled");
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
        let left = server.sql("select count(*) from pg_locks where not granted");
        let text = format!("{mode}: released as {released:?}, and {left} wait after {:?}", start.elapsed());
        demand(left == "0" && released.is_ok_and(|r| r.is_ok_and(|r| r.is_ok())), Kind::LeftBehind, text);
        holder.release(&first, Leave::used(1)).await.unwrap();
    }
}

/// Whoever asks for a lock that is free is not told that somebody holds it, and learns what is locked instead.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs postgres"]
async fn a_row_of_tokens_that_is_locked_by_hand_is_an_error() {
    let server = server();
    for mode in ["advisory", "row"] {
        let client = client(&server.url(&format!("mode={mode}")), TTL).await;
        client.mutex("stuck").lock().await.unwrap().finish().await.unwrap();
        let hold = format!(
            "begin; select from cotter_session where place = '{mode}' for update; select pg_sleep(300)"
        );
        let mut holding = server.psql("cotter").args(["-c", &hold]).stdout(Stdio::null()).spawn().unwrap();
        let holder = format!(
            "from pg_stat_activity where wait_event = 'PgSleep' and query like '%place = ''{mode}''%'"
        );
        eventually("it is locked", || server.sql(&format!("select count(*) {holder}")) == "1").await;
        for wait in [false, true] {
            let mutex = client.mutex("stuck");
            let asked =
                if wait { mutex.try_lock_for(Duration::from_secs(5)).await } else { mutex.try_lock().await };
            let error = asked.expect_err("nobody holds it");
            assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Unavailable, true), "{error}");
            assert!(!error.outcome_unknown(), "{error}");
            assert!(error.to_string().contains("cotter_session"), "{mode}, wait {wait}: {error}");
        }
        holding.kill().unwrap();
        holding.wait().unwrap();
        server.sql(&format!("select pg_terminate_backend(pid) {holder}"));
        client.mutex("stuck").lock().await.unwrap().finish().await.unwrap();
    }
}

/// Two names with one hash cannot be told apart by the server, so the second one is refused.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs postgres"]
async fn a_name_whose_number_is_taken_is_an_error() {
    let server = server();
    let one = backend(&server.url("mode=advisory")).await;
    server.sql(
        "insert into cotter_session (place, name, key) \
         values ('advisory', 'other', hashtextextended('public.cotter:collides', 0))",
    );
    for until in [Until::Now, Until::Forever] {
        let answer = one.acquire(&claim("collides", TTL), until).await;
        let refused = answer.as_ref().is_err_and(|e| e.kind() == ErrorKind::Unsupported && !e.is_retryable());
        demand(refused, Kind::Overlap, format!("two names are one lock: {answer:?}"));
    }
    // Nothing of it is left.
    assert_eq!(server.sql("select count(*) from pg_locks where locktype = 'advisory'"), "0");
    take(&one, &claim("else", TTL)).await;
}

/// A dump that is restored on another server names transactions that this one has not reached yet.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs postgres"]
async fn rows_of_another_server_are_held_by_nobody() {
    let server = server();
    let client = client(&server.url("mode=row"), TTL).await;
    client.mutex("restored").lock().await.unwrap().finish().await.unwrap();
    server.sql("update cotter_session set xid = '99999999999'");
    let mut listed = client.admin().list(Filter::held().with_free());
    let record = listed.next().await.unwrap().expect("the row is there");
    assert!(record.holders.is_empty() && listed.next().await.unwrap().is_none(), "{record:?}");
    assert_eq!(client.admin().evict("restored").await.unwrap(), Eviction::NotHeld);
    let guard = client.mutex("restored").lock().await.unwrap();
    let held = client.admin().list(Filter::held()).next().await.unwrap().expect("it is held");
    assert_eq!(held.holders[0].token, guard.token());
    assert!(matches!(client.admin().evict("restored").await.unwrap(), Eviction::Evicted { .. }));
}

/// A session that waits for the next claim keeps nobody: it is there for longer than this test is given.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs postgres"]
async fn a_client_with_an_idle_session_is_closed_at_once() {
    let server = server();
    let client = client(&server.url("mode=advisory&session_timeout=120s"), TTL).await;
    client.mutex("a").lock().await.unwrap().finish().await.unwrap();
    let closing = tokio::time::timeout(Duration::from_secs(20), client.close(Duration::from_secs(120)));
    closing.await.expect("it waits for nothing").unwrap();
    eventually("no session is left", || server.sessions() == 0).await;
}

//! Futures that are dropped while the server answers: the next statement of the connection gets its own answer.

use super::setup::{backend, claim};
use cotter::Name;
use cotter::backend::{Acquired, Leave, Release, Until};
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::servers::{Mariadb, Proxy};
use std::time::Duration;

const TTL: Duration = Duration::from_secs(30);

/// Requests are dropped after any time from no time at all up to that of a whole request, and others are sent at once behind
/// them on the same connection: each gets its own answer, and nothing is left of what was dropped and released.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs mariadbd"]
async fn a_dropped_request_spoils_no_other() {
    let server = Mariadb::migrated();
    let proxy = Proxy::start(server.port());
    proxy.delay_replies(Duration::from_millis(1));
    let one = backend(&proxy.mysql_url("connections=1")).await;
    let names: Vec<_> = (0..4).map(|i| Name::new(format!("dropped {i}")).unwrap()).collect();
    let notes = one.notes().unwrap();
    for (i, name) in names.iter().enumerate() {
        notes.swap(name, "own", 0, format!("note {i}").as_bytes()).await.unwrap().unwrap();
    }
    let held = claim("dropped, held", TTL);
    one.acquire(&held, Until::Now).await.unwrap().granted().unwrap();
    let (mut cut_short, mut round) = (0, 0_u32);
    // On a busy machine, answers are ready when their time has not even begun to be watched.
    while round < 500 || (cut_short < 300 && round < 3000) {
        round += 1;
        let which = round as usize % names.len();
        let dropped = claim(&names[which], TTL);
        // A request takes one or two answers, each of which is delayed.
        let time = Duration::from_micros(u64::from(round % 100) * 10);
        let cut = tokio::time::timeout(time, one.acquire(&dropped, Until::Now)).await.is_err();
        cut_short += u32::from(cut);
        if round % 2 == 0 {
            let _ = tokio::time::timeout(time / 2, notes.load(&names[which], "none")).await;
        }
        let other = (which + 1) % names.len();
        let note = notes.load(&names[other], "own").await;
        let is_own = matches!(&note, Ok(Some(note)) if note.bytes == format!("note {other}").as_bytes());
        demand(is_own, Kind::Overlap, format!("round {round}: the answer to something else: {note:?}"));
        let busy = one.acquire(&claim("dropped, held", TTL), Until::Now).await;
        let is_busy = matches!(busy, Ok(Acquired::Busy));
        demand(is_busy, Kind::Overlap, format!("round {round}: a held lock is said to be {busy:?}"));
        let released = one.release(&dropped, Leave::default()).await;
        demand(released.is_ok(), Kind::Overlap, format!("round {round}: {released:?}"));
        if round % 4 == 0 {
            let free = claim(&names[which], TTL);
            let granted = one.acquire(&free, Until::Now).await;
            let is_granted = matches!(&granted, Ok(Acquired::Granted(grant)) if grant.claim.id == free.id);
            demand(
                is_granted,
                Kind::Overlap,
                format!("round {round}: a free lock is said to be {granted:?}"),
            );
            let released = one.release(&free, Leave::default()).await;
            let is_freed = matches!(released, Ok(Release::Freed));
            demand(is_freed, Kind::Overlap, format!("round {round}: {released:?}"));
        }
    }
    demand(cut_short >= 300, Kind::Void, format!("only {cut_short} requests were dropped half-way"));
}

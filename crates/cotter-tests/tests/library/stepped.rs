//! A server whose clock is stepped while locks are held: it costs one renewal or one wait, not the step, and no token.

use cotter::backend::{Backend, Leave, Mode};
use cotter::{Client, Lease};
use cotter_testkit::bare::{claim, take};
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::timing::FAR;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

const TTL: Duration = Duration::from_secs(3);
/// The size of a step, in seconds.
const STEP: i64 = 600;
/// A wait for a lease or a place that has just begun again, on a busy machine.
const ONE_WAIT: Duration = Duration::from_secs(15);

async fn connect(url: &str) -> Client {
    Client::builder().lease(Lease::renewed(TTL)).connect(url).await.unwrap()
}

/// Set back and right again, under a holder that is renewed.
async fn back_and_forth(url: &str, step: impl Fn(i64)) {
    let (one, other) = (connect(url).await, connect(url).await);
    let guard = one.mutex("renewed").lock().await.unwrap();
    step(-STEP);
    tokio::time::sleep(TTL / 2).await;
    let left = guard.remaining().unwrap();
    demand(left <= TTL, Kind::Overlap, format!("{left:?} are believed after a step back"));
    step(0);
    let next = other.mutex("renewed").try_lock_for(ONE_WAIT).await.unwrap();
    let told = guard.lost().wait_for(TTL);
    demand(told.is_some() || next.is_none(), Kind::Overlap, "the first holder is not told");
    if let Some(next) = next {
        next.finish().await.unwrap();
    }
}

/// Set back while the leases run of holders that are gone, and of a name that is kept.
async fn the_dead_hold_for_one_lease(dead: Arc<dyn Backend>, url: &str, step: impl Fn(i64)) {
    let other = connect(url).await;
    take(&dead, &claim("dead", TTL)).await;
    let mut reader = claim("dead reader", TTL);
    reader.mode = Mode::Shared;
    take(&dead, &reader).await;
    let kept = claim("kept", TTL);
    take(&dead, &kept).await;
    let _ = dead.release(&kept, Leave::used(1).keeping(Some(TTL))).await.unwrap();
    step(-STEP);
    for name in ["dead", "dead reader", "kept"] {
        let (start, waited) = (Instant::now(), other.mutex(name).try_lock_for(ONE_WAIT).await.unwrap());
        let why = format!("{name}: not free {:?} after a step back", start.elapsed());
        demand(waited.is_some(), Kind::StuckWaiter, why);
    }
    step(0);
}

/// Set back while the last of several turns is a ticket: the tokens of the turns before it stay used, and so does its own.
async fn a_released_ticket_gives_back_no_used_token(url: &str, step: impl Fn(i64)) {
    let connect = async || Client::builder().lease(Lease::renewed(TTL * 20)).connect(url).await.unwrap();
    let (one, other) = (connect().await, connect().await);
    let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
    let (turn, second) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let waits = || {
        let (mutex, tell, turn, second) = (one.mutex("turns"), tell.clone(), turn.clone(), second.clone());
        tokio::spawn(async move {
            let guard = mutex.lock().await.unwrap();
            // The first one has asked for itself alone, the second for a block. It passes its turn on at once, as long as it may.
            if turn.fetch_add(1, Ordering::SeqCst) == 1 {
                second.store(guard.token().get(), Ordering::SeqCst);
                guard.finish().await.unwrap();
            } else {
                tell.send(guard).unwrap();
            }
        })
    };
    let end = Instant::now() + FAR * 4;
    let guard = loop {
        demand(Instant::now() < end, Kind::Void, "no turn was passed on within one block");
        turn.store(0, Ordering::SeqCst);
        let held = other.mutex("turns").lock().await.unwrap();
        let waiting = [(); 4].map(|()| waits());
        tokio::time::sleep(Duration::from_millis(200)).await;
        held.finish().await.unwrap();
        told.recv().await.unwrap().finish().await.unwrap();
        let third = told.recv().await.unwrap();
        if third.token().get() == second.load(Ordering::SeqCst) + 1 {
            break third;
        }
        third.finish().await.unwrap();
        told.recv().await.unwrap().finish().await.unwrap();
        for task in waiting {
            task.await.unwrap();
        }
    };
    step(-STEP);
    let ticket = guard.into_ticket(TTL * 20).await.unwrap();
    let _ = other.admin().release_ticket(&ticket).await.unwrap();
    let next = tokio::time::timeout(FAR, told.recv()).await.expect("violation[stuck-waiter]").unwrap();
    let why = format!("{:?} after {:?}", next.token(), ticket.token());
    demand(next.token() > ticket.token(), Kind::RepeatedToken, why);
    step(0);
}

/// Set back while a waiter has a place, which is gone by then.
#[cfg(feature = "mysql")]
async fn a_dead_waiter_blocks_for_one_place(connect: impl AsyncFn() -> Arc<dyn Backend>, step: impl Fn(i64)) {
    use cotter::backend::Until;
    let (one, other) = (connect().await, connect().await);
    let held = claim("waited for", TTL * 20);
    take(&one, &held).await;
    let waiting = {
        let (other, dead) = (other.clone(), claim("waited for", TTL));
        tokio::spawn(async move { other.acquire(&dead, Until::Forever).await })
    };
    tokio::time::sleep(Duration::from_secs(1)).await;
    waiting.abort();
    let _ = waiting.await;
    step(-STEP);
    one.release(&held, Leave::used(1)).await.unwrap();
    let (start, next) = (Instant::now(), claim("waited for", TTL));
    let asked = tokio::time::timeout(ONE_WAIT, one.acquire(&next, Until::Forever)).await;
    demand(
        asked.is_ok(),
        Kind::StuckWaiter,
        format!("nobody has it {:?} after a step back", start.elapsed()),
    );
    one.release(&next, Leave::used(1)).await.unwrap();
    step(0);
}

#[cfg(feature = "postgres")]
mod postgres {
    use cotter_testkit::servers::Postgres;

    fn server() -> Postgres {
        let server = Postgres::builder().skewed().start();
        server.migrate_all();
        server
    }

    #[tokio::test(flavor = "multi_thread")]
    #[ignore = "needs postgres"]
    async fn a_released_ticket_gives_back_no_used_token() {
        let server = server();
        super::a_released_ticket_gives_back_no_used_token(&server.url(""), |s| server.step_clock(s)).await;
    }

    #[tokio::test(flavor = "multi_thread")]
    #[ignore = "needs postgres"]
    async fn a_step_back_and_forth_costs_a_renewal() {
        let server = server();
        for mode in ["", "mode=shedlock"] {
            super::back_and_forth(&server.url(mode), |seconds| server.step_clock(seconds)).await;
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    #[ignore = "needs postgres"]
    async fn a_step_back_costs_one_lease_of_the_dead() {
        let server = server();
        let dead = crate::postgres::setup::backend(&server.url("")).await;
        super::the_dead_hold_for_one_lease(dead, &server.url(""), |seconds| server.step_clock(seconds)).await;
    }
}

#[cfg(feature = "redis")]
mod redis {
    use cotter_testkit::servers::Redis;

    #[tokio::test(flavor = "multi_thread")]
    #[ignore = "needs redis-server and cc"]
    async fn a_released_ticket_gives_back_no_used_token() {
        let server = Redis::builder().skewed().start();
        super::a_released_ticket_gives_back_no_used_token(&server.url(""), |s| server.step_clock(s)).await;
    }

    #[tokio::test(flavor = "multi_thread")]
    #[ignore = "needs redis-server and cc"]
    async fn a_step_back_and_forth_costs_a_renewal() {
        let server = Redis::builder().skewed().start();
        for mode in ["", "mode=plain", "mode=redisson"] {
            super::back_and_forth(&server.open_url(mode), |seconds| server.step_clock(seconds)).await;
        }
    }
}

#[cfg(feature = "mysql")]
mod mysql {
    use cotter_testkit::servers::Mariadb;

    fn server() -> Mariadb {
        let server = Mariadb::builder().skewed().start();
        server.migrate_all();
        server
    }

    #[tokio::test(flavor = "multi_thread")]
    #[ignore = "needs mariadbd"]
    async fn a_released_ticket_gives_back_no_used_token() {
        let server = server();
        super::a_released_ticket_gives_back_no_used_token(&server.url(""), |s| server.step_clock(s)).await;
    }

    #[tokio::test(flavor = "multi_thread")]
    #[ignore = "needs mariadbd"]
    async fn a_step_back_and_forth_costs_a_renewal() {
        let server = server();
        for mode in ["", "mode=shedlock"] {
            super::back_and_forth(&server.url(mode), |seconds| server.step_clock(seconds)).await;
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    #[ignore = "needs mariadbd"]
    async fn a_step_back_costs_one_lease_of_the_dead() {
        let server = server();
        let dead = crate::mysql::setup::backend(&server.url("")).await;
        super::the_dead_hold_for_one_lease(dead, &server.url(""), |seconds| server.step_clock(seconds)).await;
    }

    #[tokio::test(flavor = "multi_thread")]
    #[ignore = "needs mariadbd"]
    async fn a_step_back_costs_one_place_of_the_dead() {
        let server = server();
        let connect = async || crate::mysql::setup::backend(&server.url("")).await;
        super::a_dead_waiter_blocks_for_one_place(connect, |seconds| server.step_clock(seconds)).await;
    }
}

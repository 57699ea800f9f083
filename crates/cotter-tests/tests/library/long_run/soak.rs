//! Waits of all kinds through PgBouncer in transaction mode, for as long as the variable `COTTER_SOAK` says in seconds, while
//! connections are killed on both sides of it: at the end, nothing is on the server that was not there at the start.

use cotter::{Client, Lease};
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::servers::{Database, Pooler, Postgres, Proxy};
use cotter_testkit::timing::{Stopwatch, eventually, happens};
use cotter_testkit::{Deck, sized};
use std::fmt;
use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use tokio_postgres::{NoTls, SimpleQueryMessage};

const TTL: Duration = Duration::from_secs(30);
/// Longer than the first question of a waiter, which used to leave something.
const WAIT: Duration = Duration::from_millis(150);
/// Between two steps of one worker: a few locks a second in all.
const REST: Duration = Duration::from_millis(700);
/// Between two kills.
const QUIET: Duration = Duration::from_secs(5);
/// Every kind of step has been done by then, and the pooler has opened its sessions.
const WARM_UP: Duration = Duration::from_secs(10);
/// Of the pooler, for all clients.
const SESSIONS: usize = 2;

fn length() -> Duration {
    let said = std::env::var("COTTER_SOAK").ok();
    Duration::from_secs(said.map_or(sized(30, 300), |text| text.parse().expect("COTTER_SOAK is in seconds")))
}

/// One step of a worker.
#[derive(Debug, Clone, Copy)]
enum Step {
    /// Takes a lock that others want, and gives it back.
    Take,
    /// Waits in vain, by a client of its own, as a line of a crontab does.
    TimeOut,
    /// The same by the client that stays.
    TimeOutAgain,
    /// A wait whose future is dropped, and its client with it.
    Cancel,
    /// The same by the client that stays.
    CancelAgain,
}

/// What was done.
#[derive(Debug, Default)]
struct Counts {
    taken: AtomicU64,
    timed_out: AtomicU64,
    cancelled: AtomicU64,
    failed: AtomicU64,
    kills: AtomicU64,
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let [taken, timed_out, cancelled] = [&self.taken, &self.timed_out, &self.cancelled].map(of);
        let [failed, kills] = [&self.failed, &self.kills].map(of);
        write!(
            f,
            "{taken} taken, {timed_out} timed out, {cancelled} cancelled, {failed} failed, {kills} kills"
        )
    }
}

/// What is on the server for as long as somebody needs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Left {
    locks: usize,
    channels: usize,
    sessions: usize,
}

struct Soak {
    server: Postgres,
    pooler: Pooler,
    proxy: Proxy,
    is_taken: AtomicBool,
    is_over: AtomicBool,
    counts: Counts,
}

impl Soak {
    fn start() -> Self {
        let server = Postgres::start();
        server.migrate("");
        let pooler = Pooler::start(&server);
        let proxy = Proxy::start(pooler.port());
        let (is_taken, is_over) = (AtomicBool::new(false), AtomicBool::new(false));
        Self { server, pooler, proxy, is_taken, is_over, counts: Counts::default() }
    }

    async fn connect(&self) -> cotter::Result<Client> {
        Client::builder().lease(Lease::renewed(TTL)).connect(self.proxy.postgres_url("")).await
    }

    async fn step(&self, step: Step, stays: &Client) -> cotter::Result<()> {
        match step {
            Step::Take => {
                let guard = stays.mutex("free").lock().await?;
                let taken = self.is_taken.swap(true, Ordering::SeqCst);
                demand(!taken, Kind::Overlap, "two hold it");
                tokio::time::sleep(Duration::from_millis(20)).await;
                self.is_taken.store(false, Ordering::SeqCst);
                guard.finish().await?;
                self.counts.taken.fetch_add(1, Ordering::Relaxed);
            }
            Step::TimeOut => {
                let client = self.connect().await?;
                self.time_out(&client).await?;
                client.close(TTL).await?;
            }
            Step::TimeOutAgain => self.time_out(stays).await?,
            Step::Cancel => self.cancel(&self.connect().await?).await?,
            Step::CancelAgain => self.cancel(stays).await?,
        }
        Ok(())
    }

    async fn time_out(&self, client: &Client) -> cotter::Result<()> {
        let waited = client.mutex("held").try_lock_for(WAIT).await?;
        demand(waited.is_none(), Kind::Overlap, "it is held all the time");
        self.counts.timed_out.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    async fn cancel(&self, client: &Client) -> cotter::Result<()> {
        if let Ok(ended) = tokio::time::timeout(WAIT, client.mutex("held").lock()).await {
            demand(ended.map(drop).is_err(), Kind::Overlap, "it is held all the time");
        }
        self.counts.cancelled.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// One worker, until it is over.
    async fn work(&self) {
        let stays = loop {
            if let Ok(client) = self.connect().await {
                break client;
            }
        };
        let mut steps = Deck::of(&[
            (Step::Take, 2),
            (Step::TimeOut, 1),
            (Step::TimeOutAgain, 1),
            (Step::Cancel, 1),
            (Step::CancelAgain, 1),
        ]);
        while !self.is_over.load(Ordering::Relaxed) {
            let step = steps.draw(&mut rand::rng());
            if let Err(error) = self.step(step, &stays).await {
                assert!(error.is_retryable(), "{step:?}: {error}");
                self.counts.failed.fetch_add(1, Ordering::Relaxed);
            }
            tokio::time::sleep(REST).await;
        }
        let _ = stays.close(TTL).await;
    }

    /// Kills connections of clients, and the pooler's own.
    async fn kill(&self) {
        let mut sides = Deck::of(&[(true, 1), (false, 1)]);
        while !self.is_over.load(Ordering::Relaxed) {
            tokio::time::sleep(QUIET).await;
            if sides.draw(&mut rand::rng()) {
                self.proxy.cut();
            } else {
                self.server.end_one_session();
            }
            self.counts.kills.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// So many workers for so long.
    async fn run(self: &Arc<Self>, workers: usize, lasts: Duration) {
        self.is_over.store(false, Ordering::Relaxed);
        let mut tasks = tokio::task::JoinSet::new();
        for _ in 0..workers {
            let soak = self.clone();
            tasks.spawn(async move { soak.work().await });
        }
        let soak = self.clone();
        tasks.spawn(async move { soak.kill().await });
        tokio::time::sleep(lasts).await;
        self.is_over.store(true, Ordering::Relaxed);
        while let Some(ended) = tasks.join_next().await {
            ended.unwrap();
        }
    }

    /// What is there when nobody waits.
    async fn left(&self) -> Left {
        let count = |sql: &str| self.server.sql(sql).parse::<usize>().expect("a number");
        let waiting = "select count(*) from cotter_claim where state = 'w'";
        // Who was cut off in the queue has its place until its lease as a waiter ends.
        eventually("nobody is in the queue", || count(waiting) == 0).await;
        Left {
            locks: count("select count(*) from pg_locks where locktype = 'advisory'"),
            channels: self.channels().await,
            sessions: self.server.sessions(),
        }
    }

    /// On how many channels the pooler's sessions listen. Only a session itself knows; a transaction keeps each apart.
    async fn channels(&self) -> usize {
        let (mut channels, mut open) = (0, Vec::new());
        for _ in 0..SESSIONS {
            let settings = self.pooler.url("").parse::<tokio_postgres::Config>().unwrap();
            let (client, connection) = settings.connect(NoTls).await.unwrap();
            tokio::spawn(connection);
            let asked =
                client.simple_query("begin; select count(*) from pg_listening_channels()").await.unwrap();
            let rows = asked.iter().filter_map(|message| match message {
                SimpleQueryMessage::Row(row) => row.get(0)?.parse::<usize>().ok(),
                _ => None,
            });
            channels += rows.sum::<usize>();
            open.push(client);
        }
        for client in open {
            client.simple_query("commit").await.unwrap();
        }
        channels
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs postgres and pgbouncer"]
async fn an_hour_of_waits_leaves_nothing() {
    let (soak, watch) = (Arc::new(Soak::start()), Stopwatch::start());
    let holder = soak.connect().await.unwrap();
    let held = holder.mutex("held").lock().await.unwrap();
    soak.run(3, WARM_UP).await;
    let before = soak.left().await;
    soak.run(3, length()).await;
    let after = soak.left().await;
    let figures = format!("after {:?}: {}; before {before:?}, after {after:?}", watch.elapsed(), soak.counts);
    let _ = writeln!(std::io::stdout(), "{figures}");
    let count = |count: &AtomicU64| count.load(Ordering::Relaxed);
    let least = [&soak.counts.taken, &soak.counts.timed_out, &soak.counts.cancelled, &soak.counts.kills];
    demand(least.into_iter().all(|many| count(many) > 4), Kind::Void, &*figures);
    demand(after.locks <= before.locks && after.locks == 0, Kind::LeftBehind, &*figures);
    demand(after.channels <= before.channels && after.channels == 0, Kind::LeftBehind, &*figures);
    demand(after.sessions <= SESSIONS, Kind::LeftBehind, &*figures);
    demand(held.is_valid(), Kind::NeedlessLoss, &*figures);
    held.finish().await.unwrap();
    for name in ["held", "free"] {
        happens("nobody has it", holder.mutex(name).lock()).await.unwrap().finish().await.unwrap();
    }
}

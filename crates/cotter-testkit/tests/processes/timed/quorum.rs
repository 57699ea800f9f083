//! A crowd at a quorum of real servers, over links of different lengths.

use cotter::{Client, Result, quorum, redis};
use cotter_testkit::bare::enlist;
use cotter_testkit::history::Kind;
use cotter_testkit::servers::{Proxy, Redis};
use cotter_testkit::sized;
use cotter_testkit::timing::Stopwatch;
use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

const CLIENTS: u64 = 20;
const LONGEST_LEASE: u64 = 3600;
const ROUND_TRIP: Duration = Duration::from_millis(20);

/// The times between two holders, and when the last one had it.
type Log = Arc<Mutex<(Option<Instant>, Vec<Duration>)>>;

/// A client of its own, like another process, and its links to the members.
async fn client(number: u64, servers: &[Redis]) -> Result<(Client, Vec<Proxy>)> {
    let link = |(member, server): (u64, &Redis)| {
        let proxy = Proxy::start(server.port());
        // From no delay at all to the whole round trip, in another order at each member.
        let delay = ROUND_TRIP.mul_f64(((number * 7 + member * 13) % CLIENTS) as f64 / CLIENTS as f64);
        proxy.delay_requests(delay / 2);
        proxy.delay_replies(delay / 2);
        proxy
    };
    let links: Vec<_> = (0..).zip(servers).map(link).collect();
    let member = |link: &Proxy| {
        let store = redis::Store::from_url(link.redis_url("prefix=cotter:quorum"))?;
        Ok(store.with_votes(Duration::from_secs(LONGEST_LEASE)))
    };
    let members = links.iter().map(member).collect::<Result<Vec<_>>>()?;
    let store = quorum::Store::new(members)?.with_timeout(Duration::from_millis(250));
    Ok((Client::builder().connect_to(store).await?, links))
}

async fn compete(client: Client, log: Log, wins: usize) -> Result<()> {
    let log = || log.lock().unwrap_or_else(PoisonError::into_inner);
    while log().1.len() < wins {
        let guard = client.mutex("wanted").lock().await?;
        {
            let mut log = log();
            let last = log.0.replace(Instant::now());
            log.1.extend(last.map(|last| last.elapsed()));
        }
        let _ = guard.release().await?;
    }
    Ok(())
}

/// Twenty clients whose requests take up to 20 ms to each of three members split their votes, and yet somebody wins soon.
#[tokio::test]
#[ignore = "needs redis-server"]
async fn somebody_wins_within_ten_round_trips() {
    let servers = [Redis::start(), Redis::start(), Redis::start()];
    servers.iter().for_each(|server| enlist(server, "cotter:quorum", LONGEST_LEASE));
    let watch = Stopwatch::of(Kind::SlowHandOver);
    let (log, mut tasks, mut links) = (Log::default(), JoinSet::new(), Vec::new());
    for number in 0..CLIENTS {
        let (client, to_members) = client(number, &servers).await.expect("the members answer");
        links.push(to_members);
        tasks.spawn(compete(client, log.clone(), sized(300, 3_000)));
    }
    while let Some(done) = tasks.join_next().await {
        done.expect("no client panics").expect("the members answer");
    }
    let mut pauses = std::mem::take(&mut log.lock().unwrap_or_else(PoisonError::into_inner).1);
    pauses.sort_unstable();
    let (median, late) = (pauses[pauses.len() / 2], pauses[pauses.len() * 99 / 100]);
    let figures = format!("{} times, median {median:?}, 99th percentile {late:?}", pauses.len());
    let _ = writeln!(std::io::stdout(), "{figures}");
    watch.took_at_most(late, 10 * ROUND_TRIP, figures);
}

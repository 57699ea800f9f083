//! Many leases that are renewed: what it costs here and in the server, and whether any is late.

use super::server;
use crate::redis::two_workers;
use crate::renewal::cpu;
use cotter::{Client, Lease};
use cotter_testkit::servers::Postgres;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

const GUARDS: usize = 100_000;
const TTL: Duration = Duration::from_secs(30);
/// How many are asked for at once.
const BATCH: usize = 500;

pub(crate) fn run() {
    let server = server();
    let client = Client::builder().url(server.url("")).lease(Lease::renewed(TTL)).connect().wait().unwrap();
    let began = Instant::now();
    let guards = two_workers().block_on(async {
        let mut guards = Vec::with_capacity(GUARDS);
        for batch in 0..GUARDS / BATCH {
            let mut set = JoinSet::new();
            for i in 0..BATCH {
                let lock = client.mutex(format!("renewed:{batch}:{i}")).lock();
                set.spawn(async move { lock.await.unwrap() });
            }
            guards.extend(set.join_all().await);
        }
        guards
    });
    println!("{GUARDS} leases taken in {:.1?}", began.elapsed());
    let (start, ours, theirs, before) = (Instant::now(), cpu(), server_cpu(&server), transactions(&server));
    let mut least = TTL;
    while start.elapsed() < TTL * 2 {
        std::thread::sleep(Duration::from_secs(1));
        least = guards.iter().filter_map(|guard| guard.remaining()).fold(least, Duration::min);
    }
    let seconds = start.elapsed().as_secs_f64();
    let share = |busy: Duration| busy.as_secs_f64() / seconds * 100.0;
    let (ours, theirs) = (share(cpu() - ours), share(server_cpu(&server).saturating_sub(theirs)));
    // What a session has done is counted when it has been idle for a moment, or once a second.
    std::thread::sleep(Duration::from_secs(2));
    let statements = (transactions(&server) - before) / seconds;
    let lost = guards.iter().filter(|guard| !guard.is_valid()).count();
    println!("{GUARDS} leases, ttl {TTL:?}, over {:?}: {lost} lost, least time left {least:?}", TTL * 2);
    println!("client {ours:.1} % of a core, server {theirs:.1} %, {statements:.1} statements a second");
}

fn transactions(server: &Postgres) -> f64 {
    let count = "select xact_commit from pg_stat_database where datname = 'cotter'";
    server.sql(count).parse().unwrap()
}

/// All its processes.
fn server_cpu(server: &Postgres) -> Duration {
    let folder = server.dir().join("data").canonicalize().unwrap();
    let pid = std::fs::read_to_string(folder.join("postmaster.pid")).unwrap();
    let pid = pid.lines().next().unwrap().to_owned();
    let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
    let ticks = |pid: &str, fields: [usize; 2]| -> u64 {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let after = stat.rsplit_once(") ").map_or("", |(_, rest)| rest).split(' ').collect::<Vec<_>>();
        fields.iter().filter_map(|field| after.get(*field)?.parse::<u64>().ok()).sum()
    };
    // User and system time; of processes that have ended, what their parent was told.
    let all = children.split_whitespace().map(|pid| ticks(pid, [11, 12])).sum::<u64>();
    Duration::from_millis((all + ticks(&pid, [11, 12]) + ticks(&pid, [13, 14])) * 10)
}

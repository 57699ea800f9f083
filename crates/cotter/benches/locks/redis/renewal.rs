//! Many guards that are renewed: what it costs here and in the server, and whether any is late.

use super::{runtime, server, server_cpu};
use crate::renewal::cpu;
use cotter::{Client, Lease};
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

const GUARDS: usize = 100_000;
const TTL: Duration = Duration::from_secs(30);
/// How many are asked for at once.
const BATCH: usize = 500;

pub(crate) fn run() {
    let server = server();
    let client = Client::builder().url(server.url("")).lease(Lease::renewed(TTL)).connect().wait().unwrap();
    let guards = runtime().block_on(async {
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
    let (start, ours, theirs) = (Instant::now(), cpu(), server_cpu(&server));
    let mut least = TTL;
    while start.elapsed() < TTL * 2 {
        std::thread::sleep(Duration::from_secs(1));
        least = guards.iter().filter_map(|guard| guard.remaining()).fold(least, Duration::min);
    }
    let share = |busy: Duration| busy.as_secs_f64() / start.elapsed().as_secs_f64() * 100.0;
    let (ours, theirs) = (share(cpu() - ours), share(server_cpu(&server).saturating_sub(theirs)));
    let lost = guards.iter().filter(|guard| !guard.is_valid()).count();
    println!("{GUARDS} guards, ttl {TTL:?}, over {:?}: {lost} lost, least time left {least:?}", TTL * 2);
    println!("client {ours:.1} % of a core, server {theirs:.1} %");
}

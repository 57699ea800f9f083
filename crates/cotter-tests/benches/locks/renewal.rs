//! 100,000 guards that are renewed: what that costs, and whether any is late.

use crate::redis::two_workers;
use cotter::{Client, Guard, Lease};
use rustix::time::ClockId;
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

pub(crate) const GUARDS: usize = 100_000;
pub(crate) const TTL: Duration = Duration::from_secs(30);
/// How many are asked for at once, where a server is asked.
const BATCH: usize = 500;

/// What this process has used but for the thread that asks: that one watches the guards, which costs more than to renew
/// them.
pub(crate) fn cpu() -> Duration {
    let used = |clock| {
        let time = rustix::time::clock_gettime(clock);
        Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
    };
    used(ClockId::ProcessCPUTime).saturating_sub(used(ClockId::ThreadCPUTime))
}

/// Takes locks at this URL, and prints what their renewal costs here and in the server, whose statements are counted.
pub(crate) fn by_statements(url: String, statements: impl Fn() -> f64, server_cpu: impl Fn() -> Duration) {
    let client = Client::builder().lease(Lease::renewed(TTL)).connect(url).wait().unwrap();
    let guards = take(&two_workers(), &client, GUARDS);
    let before = statements();
    let elapsed = watch(&guards, server_cpu);
    println!("{:.1} statements a second", (statements() - before) / elapsed.as_secs_f64());
}

/// Takes so many locks of a server.
pub(crate) fn take(runtime: &Runtime, client: &Client, count: usize) -> Vec<Guard> {
    let began = Instant::now();
    let guards = runtime.block_on(async {
        let mut guards = Vec::with_capacity(count);
        for batch in 0..count / BATCH {
            let mut set = JoinSet::new();
            for i in 0..BATCH {
                let lock = client.mutex(format!("renewed:{batch}:{i}")).lock();
                set.spawn(async move { lock.await.unwrap() });
            }
            guards.extend(set.join_all().await);
        }
        guards
    });
    println!("taken in {:.1?}", began.elapsed());
    guards
}

/// Looks on for two leases, and prints what was seen, and what it has cost here and in the server. Returns how long that took.
pub(crate) fn watch(guards: &[Guard], server_cpu: impl Fn() -> Duration) -> Duration {
    let (start, ours, theirs) = (Instant::now(), cpu(), server_cpu());
    let mut least = TTL;
    while start.elapsed() < TTL * 2 {
        std::thread::sleep(Duration::from_secs(1));
        least = guards.iter().filter_map(|guard| guard.remaining()).fold(least, Duration::min);
    }
    let elapsed = start.elapsed();
    let share = |busy: Duration| busy.as_secs_f64() / elapsed.as_secs_f64() * 100.0;
    let (ours, theirs) = (share(cpu() - ours), share(server_cpu().saturating_sub(theirs)));
    let lost = guards.iter().filter(|guard| !guard.is_valid()).count();
    println!(
        "{} guards, ttl {TTL:?}, over {:?}: {lost} lost, least time left {least:?}",
        guards.len(),
        TTL * 2
    );
    println!("client {ours:.1} % of a core, server {theirs:.1} %");
    elapsed
}

fn resident() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    statm.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * rustix::param::page_size()
}

pub(crate) fn run() {
    let client = Client::connect("memory:").wait().unwrap();
    let before = resident();
    let guards: Vec<_> = (0..GUARDS)
        .map(|i| client.mutex(format!("renewed:{i}")).lease(Lease::renewed(TTL)).lock().wait().unwrap())
        .collect();
    let each = (resident() - before) / GUARDS;
    let (start, busy) = (Instant::now(), cpu());
    let mut least = TTL;
    while start.elapsed() < TTL * 2 {
        std::thread::sleep(Duration::from_secs(5));
    }
    let share = (cpu() - busy).as_secs_f64() / start.elapsed().as_secs_f64();
    for guard in &guards {
        least = least.min(guard.remaining().unwrap());
    }
    let lost = guards.iter().filter(|g| !g.is_valid()).count();
    println!("{GUARDS} guards, ttl {TTL:?}, over {:?}", TTL * 2);
    println!("{:.2} % of a core, {each} bytes each, {lost} lost, least time left {least:?}", share * 100.0);
}

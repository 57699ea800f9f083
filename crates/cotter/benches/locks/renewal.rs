//! 100,000 guards that are renewed: what that costs, and whether any is late.

use cotter::{Client, Lease};
use rustix::time::ClockId;
use std::time::{Duration, Instant};

const GUARDS: usize = 100_000;
const TTL: Duration = Duration::from_secs(30);

/// What this process has used but for the thread that asks: that one watches the guards, which costs more than to renew
/// them.
pub(crate) fn cpu() -> Duration {
    let used = |clock| {
        let time = rustix::time::clock_gettime(clock);
        Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
    };
    used(ClockId::ProcessCPUTime).saturating_sub(used(ClockId::ThreadCPUTime))
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

//! `redlock:` between processes, with readers beside each other, while servers restart without their data.

use super::six_with_leases_of_two_seconds;
use crate::setup::{beside_others_on, show};
use cotter_testkit::bare::enlist;
use cotter_testkit::processes::{Outcome, Trouble};
use cotter_testkit::servers::{Redis, redlock_url};
use cotter_testkit::{Usage, sized};
use std::io;
use std::time::{Duration, Instant};

/// The longest lease, in seconds, and how long a server abstains after a restart.
const LONGEST_LEASE: u64 = 3;
/// The next server is restarted when the last one votes again.
const RESTART_EVERY: Duration = Duration::from_secs(2 * LONGEST_LEASE);

/// Restarts one server after the other.
struct Restarts {
    servers: Vec<Redis>,
    next: Instant,
    done: usize,
}

impl Trouble for Restarts {
    fn step(&mut self) -> io::Result<()> {
        if Instant::now() >= self.next {
            let server = self.done % self.servers.len();
            self.servers[server].restart();
            self.done += 1;
            self.next = Instant::now() + RESTART_EVERY;
        }
        Ok(())
    }

    fn so_far(&self) -> (usize, usize) {
        (self.done, self.done)
    }

    fn lacks(&self) -> Option<String> {
        (self.done < self.servers.len()).then(|| "not every server was restarted".to_owned())
    }

    fn end(&mut self) -> io::Result<Outcome> {
        Ok(Outcome { planned: self.done, confirmed: self.done, ..Outcome::default() })
    }
}

/// Six processes that write and read; one of them is stopped every second, for up to twice its lease, now and then one is killed.
/// Each token belongs to one holder, also where several read at once.
#[test]
#[ignore = "needs redis-server"]
fn readers_and_members_in_trouble() {
    let servers: Vec<_> = (0..3).map(|_| Redis::start()).collect();
    servers.iter().for_each(|server| enlist(server, "cotter:quorum", LONGEST_LEASE));
    let options = format!("max_ttl={LONGEST_LEASE}s&timeout=250ms");
    let (_place, mut run) = beside_others_on(&redlock_url(servers.iter().map(Redis::port), &options));
    six_with_leases_of_two_seconds(&mut run, 700_000..1_300_000);
    run.orders.names = (0..3).map(|i| format!("name {i}")).collect();
    run.orders.usages = vec![Usage::Mutex, Usage::RwLock { writers: 0.1 }, Usage::RwLock { writers: 0.3 }];
    run.orders.tasks = 6;
    // A quorum has no queue.
    run.limits.place_slack = Duration::MAX;
    (run.acquisitions, run.faults) = (sized(1_500, 30_000), sized(20, 300));
    run.contended = sized(300, 6_000);
    let mut restarts = Restarts { servers, next: Instant::now() + RESTART_EVERY, done: 0 };
    let report = run.go_under(&mut restarts).expect("the run can be made");
    show("redlock, readers and members in trouble", &report);
    report.demand_clean_but_for(|error| error.contains("are needed") || error.contains("unavailable: "));
}

//! Ten thousand jobs whose time has not come.

use crate::{runtime, scheduled};
use cotter::Client;
use cotter_scheduler::{Job, Trigger};
use std::time::{Duration, Instant};

const JOBS: usize = 10_000;
const WATCHED: Duration = Duration::from_secs(30);

/// Processor time of this process; the kernel counts hundredths of a second.
fn cpu() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("a process has a stat");
    let (_, rest) = stat.rsplit_once(") ").expect("the name stands in brackets");
    let ticks = rest.split_whitespace().skip(11).take(2).map(|field| field.parse::<u64>().expect("a number"));
    Duration::from_millis(ticks.sum::<u64>() * 10)
}

pub(crate) fn run() {
    runtime().block_on(async {
        let client = Client::connect("memory:").await.expect("memory can be used");
        let trigger = Trigger::cron("0 0 0 1 1 ? 2099").expect("an expression");
        let jobs = (0..JOBS).map(|n| Job::new(format!("job-{n}"), trigger.clone(), |_| async {})).collect();
        let begin = Instant::now();
        scheduled(&client, jobs, async {
            tokio::time::sleep(Duration::from_secs(5)).await;
            let (ready, busy) = (begin.elapsed(), cpu());
            tokio::time::sleep(WATCHED).await;
            let share = (cpu() - busy).as_secs_f64() / WATCHED.as_secs_f64();
            println!("{JOBS} idle jobs over {WATCHED:?}, from {ready:.1?} after the start on");
            println!("{:.2} % of a core (target: less than 1)", share * 100.0);
        })
        .await;
    });
}

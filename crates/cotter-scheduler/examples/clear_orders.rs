//! A clean-up job that any number of replicas run: each slot is started by one of them.
//!
//! Start it twice with a store that both see: `cargo run --example clear_orders -- file:`

use cotter_scheduler::{Event, Job, Misfire, Run, Scheduler, Trigger};
use std::io::Write;
use std::time::Duration;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let url = std::env::args().nth(1).unwrap_or_else(|| "memory:".into());
    let client = cotter::Client::connect(url).await?;
    let clear = Job::new("clear-orders", Trigger::cron("* * * * * ?")?, |run: Run| async move {
        for _order in 0..3 {
            run.check()?; // the lock may be gone: never go on without looking
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Ok::<(), cotter::Lost>(())
    });
    let say = |event: &Event| drop(writeln!(std::io::stdout(), "{event}"));
    let scheduler = Scheduler::new(&client, "orders").job(clear.misfire(Misfire::Once)).observe(say);
    scheduler.run_until(tokio::time::sleep(Duration::from_secs(3)), Duration::from_secs(30)).await?;
    Ok(client.close(Duration::from_secs(5)).await?)
}

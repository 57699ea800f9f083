//! The program of one holder process: tasks that take locks, work inside, and give them back.
//!
//! | file | concept |
//! |---|---|
//! | `orders` | the orders of a holder |
//! | `task` | one task's attempts, recorded |

mod orders;
mod task;

pub use orders::{Habits, Orders};

use crate::Actor;
use crate::history::{Recorder, What};
use crate::resource::Resource;
use crate::timing::FAR;
use cotter::{Client, Lease};
use std::error::Error;
use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use task::Task;

/// The state that the tasks of one process share.
#[derive(Debug)]
struct Shared {
    orders: Orders,
    actor: Actor,
    /// By name, in the order of the orders: one that checks tokens and one that does not.
    resources: Vec<[Resource; 2]>,
    stop: AtomicBool,
}

/// Does what the first argument orders, in JSON, until its input ends.
///
/// # Errors
/// The orders, the store or the log cannot be used.
pub fn main() -> Result<(), Box<dyn Error>> {
    let orders: Orders = serde_json::from_str(&std::env::args().nth(1).ok_or("no orders")?)?;
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(run(orders))
}

async fn run(orders: Orders) -> Result<(), Box<dyn Error>> {
    let log = Recorder::to_file(&orders.log, orders.process)?;
    let lease = Lease::renewed(Duration::from_millis(orders.ttl_ms));
    let client = connect(&orders, lease).await?;
    let shared = Arc::new(Shared {
        actor: Actor::new(client.clone(), &log, orders.process),
        resources: orders.names.iter().map(|n| orders.resources_of(n)).collect::<Result<_, _>>()?,
        stop: AtomicBool::new(false),
        orders,
    });
    stop_with_input(shared.clone());
    let tasks: Vec<_> =
        (0..shared.orders.tasks).map(|n| tokio::spawn(Task::new(shared.clone(), n as u64).run())).collect();
    for task in tasks {
        task.await??;
    }
    client.close(FAR).await?;
    log.record(What::Finished);
    Ok(())
}

/// As a service would that starts while its store is in trouble.
async fn connect(orders: &Orders, lease: Lease) -> cotter::Result<Client> {
    let builder = Client::builder().lease(lease).local_turns(orders.local_turns);
    builder.retry_connect(4 * FAR).connect(&orders.url).await
}

/// The input ends when the harness says so, and also when the harness is gone.
fn stop_with_input(shared: Arc<Shared>) {
    std::thread::spawn(move || {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        shared.stop.store(true, Ordering::Release);
    });
}

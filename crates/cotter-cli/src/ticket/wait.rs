//! Waiting for the lock.

use super::acquire::Acquire;
use crate::command::signals::Signals;
use crate::run::wait::{Acquired, acquire, lock};
use cotter::{Client, Guard, Name};
use cotter_console::{Console, Exit, Failure};
use tokio::time::Instant;

/// Waits as long as the arguments say, from `began` on, as `cotter run` does. `Err` has the exit if there is no lock.
pub(super) async fn wait(
    args: &Acquire,
    began: Instant,
    client: &Client,
    name: &Name,
    console: &Console,
) -> Result<Result<Guard, Exit>, Failure> {
    let mut signals = Signals::listen()?;
    let left = args.wait_options.since(began);
    let asking = lock(args.shared, &left, client, name);
    Ok(match acquire(asking, &args.wait_options, client, name, &mut signals, console).await? {
        Acquired::Held(guard) => Ok(guard),
        Acquired::Busy => Err(Exit::Busy(args.wait_options.busy_code)),
        Acquired::Interrupted(signal) => Err(Exit::Interrupted(signal)),
    })
}

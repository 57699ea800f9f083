//! Mail to customers, whose letters are sent one after the other.

use cotter::{Client, FencingToken, Guard, Result};
use std::time::Duration;

/// How long a worker waits for another one that writes to the same customer.
const PATIENCE: Duration = Duration::from_secs(5);

/// Sends a letter to a customer by `send`, to which nobody else writes meanwhile. False if somebody else does, all the time.
///
/// `send` is dropped where it has got to if the lock is lost: then this fails.
pub async fn deliver(locks: &Client, customer: &str, send: impl AsyncFnOnce(FencingToken)) -> Result<bool> {
    let customer = locks.mutex(format!("customer:{customer}"));
    let sent = customer.try_with_for(PATIENCE, async |guard: &Guard| send(guard.token()).await);
    Ok(sent.await?.is_some())
}

//! The ways to ask for a name, in each mode.

use cotter::{Client, Guard, Mode, Result};
use std::time::Duration;

pub(super) async fn try_once(client: &Client, name: &str, mode: Mode) -> Result<Option<Guard>> {
    Ok(match mode {
        Mode::Shared => client.rwlock(name).try_read().await?.map(Guard::from),
        Mode::Permits { take, of } => {
            client.semaphore(name, of).take(take).try_acquire().await?.map(Guard::from)
        }
        _ => client.mutex(name).try_lock().await?,
    })
}

pub(super) async fn try_for(
    client: &Client,
    name: &str,
    mode: Mode,
    wait: Duration,
) -> Result<Option<Guard>> {
    Ok(match mode {
        Mode::Shared => client.rwlock(name).try_read_for(wait).await?.map(Guard::from),
        Mode::Permits { take, of } => {
            client.semaphore(name, of).take(take).try_acquire_for(wait).await?.map(Guard::from)
        }
        _ => client.mutex(name).try_lock_for(wait).await?,
    })
}

pub(super) async fn wait(client: &Client, name: &str, mode: Mode) -> Result<Guard> {
    Ok(match mode {
        Mode::Shared => client.rwlock(name).read().await?.into(),
        Mode::Permits { take, of } => client.semaphore(name, of).take(take).acquire().await?.into(),
        _ => client.mutex(name).lock().await?,
    })
}

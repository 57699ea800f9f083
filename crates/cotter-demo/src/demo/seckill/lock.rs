//! The locks around a sale. The sale is the same with each of them.

use super::check_then_del::{CheckThenDel, ShortLock};
use super::{Kind, Sale};
use crate::store::Store;
use cotter::{Client, Guard, Lease, Mutex, Name};
use cotter_console::{Console, Exit, Failure};
use std::time::Duration;

/// The timeout of the last releases.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

pub(super) enum Lock {
    On(Client, Mutex),
    Off,
    CheckThenDel(CheckThenDel),
}

/// The lock as held by one buyer.
pub(super) enum Held {
    On(Guard),
    Off,
    CheckThenDel(ShortLock),
}

/// The name of the lock of an item.
fn name(item: &str) -> Result<Name, Failure> {
    Ok(Name::new(format!("seckill:{item}"))?)
}

impl Lock {
    pub(super) async fn open(sale: &Sale, store: &dyn Store, console: &Console) -> Result<Self, Failure> {
        let name = name(&sale.item)?;
        match sale.lock {
            Kind::Off => Ok(Self::Off),
            Kind::CheckThenDel => {
                Ok(Self::CheckThenDel(CheckThenDel::open(&name, sale.short_lease(), store).await?))
            }
            Kind::On => {
                // Requested leases are not renewed, as in a program without a watchdog.
                let lease = sale.ttl.map_or_else(Lease::default, Lease::fixed);
                let client = store.connect(Client::builder().lease(lease), console).await?;
                check_ttl(sale.ttl, &client)?;
                let mutex = client.mutex(&name);
                Ok(Self::On(client, mutex))
            }
        }
    }

    pub(super) async fn acquire(&self, buyer: u32) -> Result<Held, Failure> {
        Ok(match self {
            Self::On(_, mutex) => Held::On(mutex.lock().await?),
            Self::Off => Held::Off,
            Self::CheckThenDel(lock) => Held::CheckThenDel(lock.acquire(buyer).await?),
        })
    }

    /// Waits for the last releases.
    pub(super) async fn close(self) {
        if let Self::On(client, _) = self {
            // If the store does not answer, they are free when their leases end.
            let _ = client.close(CLOSE_TIMEOUT).await;
        }
    }
}

fn check_ttl(ttl: Option<Duration>, client: &Client) -> Result<(), Failure> {
    let least = client.info().capabilities.min_ttl;
    match ttl {
        Some(ttl) if ttl < least => {
            let why = format!("--ttl {ttl:?} is too short for this store: the minimum is {least:?}");
            Err(Failure::new(Exit::Usage, why))
        }
        _ => Ok(()),
    }
}

impl Held {
    pub(super) fn token(&self) -> Option<u64> {
        match self {
            Self::On(guard) => Some(guard.token().get()),
            Self::Off | Self::CheckThenDel(_) => None,
        }
    }

    /// Whether the lease ended while the holder continued.
    pub(super) fn is_late(&self) -> bool {
        match self {
            Self::On(guard) => guard.check().is_err(),
            Self::Off => false,
            Self::CheckThenDel(held) => held.is_late(),
        }
    }

    /// Releases the lock. Returns the buyer whose lock was released instead, if any.
    pub(super) async fn release(self) -> Result<Option<u32>, Failure> {
        match self {
            Self::On(guard) => {
                guard.finish().await?;
                Ok(None)
            }
            Self::Off => Ok(None),
            Self::CheckThenDel(held) => held.release().await,
        }
    }
}

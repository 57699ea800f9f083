//! The lock around a sale. The sale is the same with each of them.

use super::check_then_del::{CheckThenDel, ShortLock};
use super::{Kind, Sale};
use crate::exit::Exit;
use crate::output::{Console, Failure};
use crate::store::Chosen;
use cotter::{Client, Guard, Lease, Mutex, Name};
use std::time::Duration;

/// How long the last releases may take.
const CLOSE: Duration = Duration::from_secs(2);

pub(super) enum Lock {
    On(Client, Mutex),
    Off,
    CheckThenDel(CheckThenDel),
}

/// One buyer's turn.
pub(super) enum Turn {
    On(Guard),
    Off,
    CheckThenDel(ShortLock),
}

/// The name of the lock of what is sold.
fn name(item: &str) -> Result<Name, Failure> {
    Ok(Name::new(format!("seckill:{item}"))?)
}

impl Lock {
    pub(super) async fn open(sale: &Sale, store: &Chosen, console: &Console) -> Result<Self, Failure> {
        let name = name(&sale.item)?;
        match sale.lock {
            Kind::Off => Ok(Self::Off),
            Kind::CheckThenDel => {
                Ok(Self::CheckThenDel(CheckThenDel::open(&name, sale.short_lease(), store).await?))
            }
            Kind::On => {
                // Leases that were asked for are not renewed: what a program without a watchdog does.
                let lease = sale.ttl.map_or_else(Lease::default, Lease::fixed);
                let client = store.connect(Client::builder().lease(lease), console).await?;
                check_ttl(sale.ttl, &client)?;
                let mutex = client.mutex(&name);
                Ok(Self::On(client, mutex))
            }
        }
    }

    pub(super) async fn acquire(&self, buyer: u32) -> Result<Turn, Failure> {
        Ok(match self {
            Self::On(_, mutex) => Turn::On(mutex.lock().await?),
            Self::Off => Turn::Off,
            Self::CheckThenDel(lock) => Turn::CheckThenDel(lock.acquire(buyer).await?),
        })
    }

    /// Waits for the last releases.
    pub(super) async fn close(self) {
        if let Self::On(client, _) = self {
            // A store that does not answer any more frees them when their leases run out.
            let _ = client.close(CLOSE).await;
        }
    }
}

fn check_ttl(ttl: Option<Duration>, client: &Client) -> Result<(), Failure> {
    let least = client.info().capabilities.min_ttl;
    match ttl {
        Some(ttl) if ttl < least => {
            let why = format!("--ttl {ttl:?} is too short for this store: it takes {least:?} and more");
            Err(Failure::new(Exit::Usage, why))
        }
        _ => Ok(()),
    }
}

impl Turn {
    pub(super) fn token(&self) -> Option<u64> {
        match self {
            Self::On(guard) => Some(guard.token().get()),
            Self::Off | Self::CheckThenDel(_) => None,
        }
    }

    /// The lease has ended while its holder still went on.
    pub(super) fn is_late(&self) -> bool {
        match self {
            Self::On(guard) => guard.check().is_err(),
            Self::Off => false,
            Self::CheckThenDel(held) => held.is_late(),
        }
    }

    /// Ends it. The answer is the buyer whose lock was freed instead.
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

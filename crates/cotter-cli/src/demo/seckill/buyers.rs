//! One process of buyers.

use super::super::children::wait_for_the_word;
use super::Buyers;
use super::lock::Lock;
use super::log::{Entry, Log, Sold};
use super::stock::Stock;
use crate::exit::Exit;
use crate::output::{Console, Failure};
use crate::store::Chosen;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::sleep;

/// What all buyers of this process share.
struct Shop {
    lock: Lock,
    stock: Stock,
    log: Log,
    work: Duration,
    process: u32,
}

pub(in crate::demo) async fn play(args: &Buyers, store: &Chosen, console: &Console) -> Result<Exit, Failure> {
    let lock = Lock::open(&args.sale, store, console).await?;
    let (stock, log) = (Stock::new(&args.dir), Log::open(&args.dir)?);
    let shop = Arc::new(Shop { lock, stock, log, work: args.sale.work(), process: args.process });
    // All processes begin at once.
    let Some(ended) = wait_for_the_word(console)? else { return Ok(Exit::Done) };
    let mut buyers = JoinSet::new();
    for buyer in args.first..args.first + args.count {
        buyers.spawn(answer(shop.clone(), buyer));
    }
    tokio::select! {
        () = async { while buyers.join_next().await.is_some() {} } => {}
        _ = ended => buyers.shutdown().await,
    }
    if let Some(shop) = Arc::into_inner(shop) {
        shop.lock.close().await;
    }
    Ok(Exit::Done)
}

/// One buyer, from the try to the answer.
async fn answer(shop: Arc<Shop>, buyer: u32) {
    if let Err(failure) = shop.sell(buyer).await {
        // A log that cannot be written to lacks this answer, which the audit will find.
        let _ = shop.log.append(&Entry::Failed { buyer, why: failure.message });
    }
}

impl Shop {
    async fn sell(&self, buyer: u32) -> Result<(), Failure> {
        let turn = self.lock.acquire(buyer).await?;
        let left = self.stock.read()?;
        let entry = if left == 0 {
            Entry::SoldOut { buyer }
        } else {
            sleep(self.work).await;
            let remaining = left - 1;
            // A careful program would look whether it still holds the lock. The audit shows what comes of not looking.
            self.stock.write(remaining)?;
            let (process, token, late) = (self.process, turn.token(), turn.is_late());
            Entry::Sale(Sold { buyer, process, remaining, token, late })
        };
        self.log.append(&entry)?;
        // The buyer has its answer. A release that fails leaves the lock to the end of its lease.
        if let Ok(Some(of)) = turn.release().await {
            self.log.append(&Entry::WrongRelease { buyer, of })?;
        }
        Ok(())
    }
}

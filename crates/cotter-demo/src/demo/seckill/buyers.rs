//! One process of buyers.

use super::super::children::wait_for_start;
use super::Buyers;
use super::lock::Lock;
use super::log::{Entry, Log, Sold};
use super::stock::Stock;
use crate::store::Store;
use cotter_console::{Console, Exit, Failure};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::sleep;

/// State shared by all buyers of this process.
struct Sales {
    lock: Lock,
    stock: Stock,
    log: Log,
    work: Duration,
    process: u32,
}

pub(in crate::demo) async fn play(
    args: &Buyers,
    store: &dyn Store,
    console: &Console,
) -> Result<Exit, Failure> {
    let lock = Lock::open(&args.sale, store, console).await?;
    let (stock, log) = (Stock::new(&args.dir), Log::open(&args.dir)?);
    let sales = Arc::new(Sales { lock, stock, log, work: args.sale.work(), process: args.process });
    // All processes start at the same time.
    let Some(ended) = wait_for_start(console)? else { return Ok(Exit::Done) };
    let mut buyers = JoinSet::new();
    for buyer in args.first..args.first + args.count {
        buyers.spawn(answer(sales.clone(), buyer));
    }
    tokio::select! {
        () = async { while buyers.join_next().await.is_some() {} } => {}
        _ = ended => buyers.shutdown().await,
    }
    if let Some(sales) = Arc::into_inner(sales) {
        sales.lock.close().await;
    }
    Ok(Exit::Done)
}

/// One buyer, from the attempt to the answer.
async fn answer(sales: Arc<Sales>, buyer: u32) {
    if let Err(failure) = sales.sell(buyer).await {
        // If the log cannot be written, the audit will find that the answer is missing.
        let _ = sales.log.append(&Entry::Failed { buyer, why: failure.message });
    }
}

impl Sales {
    async fn sell(&self, buyer: u32) -> Result<(), Failure> {
        let held = self.lock.acquire(buyer).await?;
        let left = self.stock.read()?;
        let entry = if left == 0 {
            Entry::SoldOut { buyer }
        } else {
            sleep(self.work).await;
            let remaining = left - 1;
            // A careful program would check whether it still holds the lock. The audit shows the consequences of not checking.
            self.stock.write(remaining)?;
            let (process, token, late) = (self.process, held.token(), held.is_late());
            Entry::Sale(Sold { buyer, process, remaining, token, late })
        };
        self.log.append(&entry)?;
        // The buyer has its answer. If the release fails, the lock is free when its lease ends.
        if let Ok(Some(of)) = held.release().await {
            self.log.append(&Entry::WrongRelease { buyer, of })?;
        }
        Ok(())
    }
}

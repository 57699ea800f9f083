//! `cotter demo clear-orders --same-database`: what protects orders in the store's own database from a holder that does not know
//! that its lease has ended.
//!
//! | file | concept |
//! |---|---|
//! | `address` | where the database of a store is |
//! | `connection` | a connection to it, whichever it is |
//! | `orders` | the tables, and the three ways to close an order |
//! | `replica` | one replica |
//! | `audit` | the audit of the tables |

mod address;
mod audit;
mod connection;
mod orders;
mod replica;

pub(in crate::demo) use replica::{Holder, play};

use super::ClearOrders;
use crate::demo::children::{Children, demo_process};
use crate::store::Store;
use connection::Connection;
use cotter::Client;
use cotter_console::{Console, Exit, Failure, StopSignals};
use orders::Orders;
use std::ops::ControlFlow;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How often it is looked whether all replicas have ended.
const LOOK_INTERVAL: Duration = Duration::from_millis(50);

pub(super) async fn run(args: &ClearOrders, store: &dyn Store, console: &Console) -> Result<Exit, Failure> {
    let mut stops = StopSignals::listen()?;
    if args.replicas < 2 {
        return Err(Failure::usage(
            "--same-database needs at least --replicas 2: one takes over from another",
        ));
    }
    // Problems of the store are reported once here, not by every process.
    store.connect(Client::builder(), console).await?.close(Duration::from_secs(2)).await?;
    let mut orders = Orders::new(Connection::open(store).await?, suffix());
    orders.create(args.orders).await?;
    let played = play_all(args, store, &orders, &mut stops).await;
    let result = match played {
        Ok(None) => audit::read(&mut orders, args.orders, args.replicas).await.map(Ok),
        Ok(Some(signal)) => Ok(Err(signal)),
        Err(e) => Err(e),
    };
    orders.drop().await?;
    match result? {
        Ok(verdict) => {
            verdict.print(console)?;
            Ok(if verdict.is_clean() { Exit::Done } else { Exit::Unclean })
        }
        Err(signal) => Ok(Exit::Interrupted(signal)),
    }
}

/// Has the replicas do their work. Returns the signal that interrupted it, if any.
async fn play_all(
    args: &ClearOrders,
    store: &dyn Store,
    orders: &Orders,
    stops: &mut StopSignals,
) -> Result<Option<u8>, Failure> {
    let mut commands = Vec::new();
    for replica in 1..=args.replicas {
        let mut command = demo_process("holder", store)?;
        command.args(["--tables", orders.suffix(), "--replica", &replica.to_string()]);
        commands.push(command);
    }
    let mut children = tokio::select! {
        children = Children::start(commands) => children?,
        signal = stops.next() => return Ok(Some(signal)),
    };
    children.begin().await?;
    children.watch(stops, LOOK_INTERVAL, || Ok(ControlFlow::Continue(()))).await
}

/// Different for each run, so that two of them do not share tables.
fn suffix() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("{:x}_{:x}", now.as_micros(), std::process::id())
}

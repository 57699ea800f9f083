//! `cotter demo`: demonstrations of what a lock is good for.
//!
//! | file | concept |
//! |---|---|
//! | `seckill/` | a flash sale |
//! | `clear_orders/` | a clean-up job on several replicas |
//! | `children` | the processes of a demonstration |
//! | `verdict` | the result of an audit |

mod children;
mod clear_orders;
mod seckill;
mod verdict;

use crate::store::Store;
use clap::{Args, Subcommand};
use cotter_console::{Console, Exit, Failure};
use tempfile::{Builder, TempDir};

/// Demonstrate what a lock is good for
#[derive(Debug, Args)]
pub struct Demo {
    #[command(subcommand)]
    command: DemoCommand,
}

#[derive(Debug, Subcommand)]
enum DemoCommand {
    Seckill(seckill::Seckill),
    ClearOrders(clear_orders::ClearOrders),
    #[command(hide = true)]
    Buyers(seckill::Buyers),
    #[command(hide = true)]
    Replica(clear_orders::Replica),
    #[command(hide = true)]
    Holder(clear_orders::Holder),
}

/// A folder for the files of a demonstration, which is removed at its end.
fn folder(prefix: &str) -> Result<TempDir, Failure> {
    let made = Builder::new().prefix(prefix).tempdir();
    made.map_err(|e| {
        Failure::config(format!("cannot create a temporary folder: {e}; set TMPDIR to another one"))
    })
}

impl Demo {
    /// Runs the demonstration.
    pub async fn run(&self, store: &dyn Store, console: &Console) -> Result<Exit, Failure> {
        match &self.command {
            DemoCommand::Seckill(args) => seckill::run(args, store, console).await,
            DemoCommand::ClearOrders(args) => clear_orders::run(args, store, console).await,
            DemoCommand::Buyers(args) => seckill::play(args, store, console).await,
            DemoCommand::Replica(args) => clear_orders::play(args, store, console).await,
            DemoCommand::Holder(args) => clear_orders::play_holder(args, store, console).await,
        }
    }
}

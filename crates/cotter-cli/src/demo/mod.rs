//! `cotter demo`: what a lock is good for, to be seen.
//!
//! | file | concept |
//! |---|---|
//! | `seckill/` | a flash sale |
//! | `clear_orders/` | a clean-up job on several replicas |
//! | `children` | the processes that play in one |
//! | `verdict` | what its audit comes to |

mod children;
mod clear_orders;
mod seckill;
mod verdict;

use crate::exit::Exit;
use crate::output::{Console, Failure};
use crate::store::Chosen;
use clap::{Args, Subcommand};

/// Show what a lock is good for
#[derive(Debug, Args)]
pub(crate) struct Demo {
    #[command(subcommand)]
    play: Play,
}

#[derive(Debug, Subcommand)]
enum Play {
    Seckill(seckill::Seckill),
    ClearOrders(clear_orders::ClearOrders),
    #[command(hide = true)]
    Buyers(seckill::Buyers),
    #[command(hide = true)]
    Replica(clear_orders::Replica),
}

/// Runs what was asked for.
pub(crate) async fn run(demo: &Demo, store: &Chosen, console: &Console) -> Result<Exit, Failure> {
    match &demo.play {
        Play::Seckill(args) => seckill::run(args, store, console).await,
        Play::ClearOrders(args) => clear_orders::run(args, store, console).await,
        Play::Buyers(args) => seckill::play(args, store, console).await,
        Play::Replica(args) => clear_orders::play(args, store, console).await,
    }
}

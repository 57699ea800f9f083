//! `cotter demo`: what a lock is good for, to be seen.
//!
//! | file | concept |
//! |---|---|
//! | `seckill/` | a flash sale |
//! | `children` | the processes that play in one |
//! | `verdict` | what its audit comes to |
//! | `stops` | the signals that end it |

mod children;
mod seckill;
mod stops;
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
    #[command(hide = true)]
    Buyers(seckill::Buyers),
}

/// Runs what was asked for.
pub(crate) async fn run(demo: &Demo, store: &Chosen, console: &Console) -> Result<Exit, Failure> {
    match &demo.play {
        Play::Seckill(args) => seckill::run(args, store, console).await,
        Play::Buyers(args) => seckill::play(args, store, console).await,
    }
}

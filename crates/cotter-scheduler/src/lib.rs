//! Cron expressions in the Quartz dialect, and scheduled jobs whose every slot is started once across all replicas.
//!
//! ```
//! use cotter_scheduler::{Job, Run, Scheduler, Trigger};
//! use std::time::Duration;
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let client = cotter::Client::connect("memory:").await?;
//! let clear = Job::new("clear-orders", Trigger::cron("* * * * * ?")?, |run: Run| async move {
//!     run.check()?; // before each step that must not be done twice
//!     Ok::<(), cotter::Lost>(())
//! });
//! let stop = tokio::time::sleep(Duration::from_millis(20)); // usually a signal
//! Scheduler::new(&client, "orders").job(clear).run_until(stop, Duration::from_secs(30)).await?;
//! # Ok(()) }
//! ```
//!
//! Run the same program on as many hosts as you like: each slot of a job is started at most once while the store keeps
//! its data, on exactly one of them. A *slot* is one scheduled instant of one job. The exact guarantees, and when not to
//! use this crate, are in [scheduler.md].
//!
//! [`cron`] parses expressions such as `0 15 10 ? * MON-FRI`, describes them, and computes when they fire in any time zone.
//! Its types are independent of other crates: instants are [`UnixTime`], time zones are [`Zone`]. The features `chrono` and `jiff`
//! convert between `UnixTime` and the instants of these crates; neither is on by default.
//!
//! [scheduler.md]: https://github.com/cotter-rs/cotter/blob/v0.1.0/docs/scheduler.md

/// The snippets of the pages that are written by hand: here, because this crate sees both libraries.
#[cfg(doctest)]
mod pages {
    #[doc = include_str!("../../../README.md")]
    mod readme {}
    #[doc = include_str!("../../cotter/README.md")]
    mod cotter {}
    #[doc = include_str!("../README.md")]
    mod cotter_scheduler {}
    #[doc = include_str!("../../../docs/cron.md")]
    mod cron {}
    #[doc = include_str!("../../../docs/migrating.md")]
    mod migrating {}
    #[doc = include_str!("../../../docs/observability.md")]
    mod observability {}
    #[doc = include_str!("../../../docs/primitives.md")]
    mod primitives {}
    #[doc = include_str!("../../../docs/scheduler.md")]
    mod scheduler {}
    #[doc = include_str!("../../../docs/stores.md")]
    mod stores {}
}

mod backfill;
mod calendar;
mod compare;
mod decide;
mod definition;
mod error;
mod event;
mod handle;
mod hash;
mod histories;
mod host;
mod job;
mod jobs;
mod label;
mod log;
mod notes;
mod one_shot;
mod pausing;
mod policy;
mod requested;
mod run;
mod runner;
mod scheduler;
mod status;
mod stopping;
mod trigger;

pub mod cron;

pub use backfill::Backfill;
pub use compare::Comparison;
pub use cron::{Cron, CronError, Field, LocalTime, TimeError, UnixTime, Zone, ZoneError};
pub use definition::Difference;
pub use error::{Error, ErrorKind, Result};
pub use event::{Event, EventKind};
pub use handle::{Handle, Next, Workers};
pub use histories::History;
pub use host::Host;
pub use job::Job;
pub use jobs::Jobs;
pub use label::Label;
pub use log::Logged;
pub use notes::Entry;
pub use one_shot::{OneShot, Pending};
pub use pausing::{PausedBy, Pausing};
pub use policy::{Busy, Concurrency, Ending, Misfire, OnCrash, OnStop};
pub use requested::Requested;
pub use run::{Outcome, Run, Why};
pub use scheduler::Scheduler;
pub use status::{JobStatus, StandsBy, WaitsFor};
pub use stopping::Stopping;
pub use trigger::Trigger;

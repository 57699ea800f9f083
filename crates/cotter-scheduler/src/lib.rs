//! Cron in the Quartz dialect, and scheduled jobs that run once across all replicas.
//!
//! [`cron`] reads expressions such as `0 15 10 ? * MON-FRI`, explains them and says when they fire in any
//! time zone. Its types stand on their own: instants are [`UnixTime`], time zones are [`Zone`].

pub mod cron;

pub use cron::{Cron, CronError, Field, LocalTime, TimeError, UnixTime, Zone, ZoneError};

//! Cron expressions in the Quartz dialect.
//!
//! ```text
//! seconds minutes hours day-of-month month day-of-week [year]
//! ```
//!
//! [`Cron`] is an expression that was understood; [`CronError`] says where and why one was not.
//! [`Cron::next`] and [`Cron::previous`] answer for an instant ([`UnixTime`]) in a time zone ([`Zone`]).
//!
//! ```
//! use cotter_scheduler::{Cron, UnixTime, Zone};
//!
//! let cron: Cron = "0 30 2 * * ?".parse()?;
//! let zone = Zone::named("America/New_York")?;
//! let after: UnixTime = "2024-03-09T12:00:00-05:00".parse()?;
//!
//! // 02:30 does not exist on that night: the job runs when the clock has jumped, at 03:00.
//! let next = cron.next(after, &zone).unwrap();
//! assert_eq!(zone.local(next).to_string(), "2024-03-10T03:00:00-04:00");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod adapters;
mod civil;
mod clock;
mod compile;
mod cursor;
mod days;
mod describe;
mod display;
mod error;
mod expression;
mod field;
mod item;
mod iter;
mod letters;
mod local;
mod mistake;
mod next;
mod parse;
mod previous;
mod rfc3339;
mod spans;
mod split;
mod unix_time;
mod walk;
mod words;
mod zone;

pub use error::CronError;
pub use expression::Cron;
pub use field::Field;
pub use iter::{After, Before};
pub use local::LocalTime;
pub use rfc3339::TimeError;
pub use unix_time::{RangeError, UnixTime};
pub use zone::{Zone, ZoneError};

//! Cron expressions in the Quartz dialect, and the five fields of crontabs ([`Cron::from_crontab`]).
//!
//! ```text
//! seconds minutes hours day-of-month month day-of-week [year]
//! ```
//!
//! [`Cron`] is a parsed expression; [`CronError`] has the position of a mistake and the reason. [`Cron::next`] and
//! [`Cron::previous`] compute instants ([`UnixTime`]) in a time zone ([`Zone`]).
//!
//! ```
//! use cotter_scheduler::{Cron, UnixTime, Zone};
//!
//! let cron: Cron = "0 30 2 * * ?".parse()?;
//! let zone = Zone::named("America/New_York")?;
//! let after: UnixTime = "2024-03-09T12:00:00-05:00".parse()?;
//!
//! // 02:30 does not exist that night: the job runs after the clock has jumped, at 03:00.
//! let next = cron.next(after, &zone).unwrap();
//! assert_eq!(zone.local(next).to_string(), "2024-03-10T03:00:00-04:00");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

// | file | concept |
// |---|---|
// | `expression`, `field`, `item` | the public type; the seven fields; an entry of a field as written |
// | `parse`, `split`, `cursor`, `letters` | from text to items; splitting into fields; a position in a field; `L`, `W`, `#`, `C`, names |
// | `error`, `mistake`, `words` | the public error; the mistakes and their texts; helpers for sentences |
// | `display`, `describe` | the canonical form; the description in English |
// | `crontab` | the five fields of crontabs |
// | `compile`, `time_set`, `days` | from items to sets; matching times of day; matching days of a month |
// | `walk`, `civil` | the search on a calendar without time zones; dates and days |
// | `next`, `previous`, `runs`, `spans`, `iter` | the search through clock changes; seconds in a row that match; a time zone as a table; iterators |
// | `zone`, `local`, `unix_time`, `rfc3339`, `adapters` | time zones; local times; instants; parsing instants; `jiff` and `chrono` |

mod adapters;
pub(crate) mod civil;
mod compile;
mod crontab;
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
mod runs;
mod spans;
mod split;
mod time_set;
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

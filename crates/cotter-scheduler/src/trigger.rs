//! When a job runs.

use crate::{Cron, Error, Result, UnixTime, Zone};
use std::fmt;
use std::time::Duration;

/// When a job runs.
///
/// | | slots | counted from |
/// |---|---|---|
/// | [`cron`](Self::cron) | what the expression says | the calendar of a [`zone`](Self::zone) |
/// | [`fixed_rate`](Self::fixed_rate) | every so often, however long a run takes | the first start ever, by the store's clock |
/// | [`fixed_delay`](Self::fixed_delay) | so long after the last run | its end, on whichever replica |
/// | [`once_at`](Self::once_at) | one | |
///
/// ```
/// use cotter_scheduler::{Trigger, Zone};
///
/// let nightly = Trigger::cron("0 30 2 * * ?")?.zone(Zone::named("Asia/Shanghai")?);
/// assert_eq!(nightly.to_string(), "cron 0 30 2 * * ? in Asia/Shanghai");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Trigger(pub(crate) Kind);

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Kind {
    Cron(Box<Cron>, Zone),
    Rate(Duration),
    Delay(Duration),
    Once(UnixTime),
}

/// The shortest period and delay: shorter ones keep the store busy with nothing else.
const SHORTEST: Duration = Duration::from_millis(1);
/// The longest, about a century.
const LONGEST: Duration = Duration::from_secs(100 * 366 * 86_400);

impl Trigger {
    /// The slots of a cron expression in the Quartz dialect (see [`cron`](crate::cron)), in UTC unless a
    /// [`zone`](Self::zone) is given.
    ///
    /// # Errors
    /// [`ErrorKind::Trigger`](crate::ErrorKind::Trigger) says where the mistake is, and what to write instead.
    pub fn cron(expression: &str) -> Result<Self> {
        Ok(Self(Kind::Cron(Box::new(expression.parse()?), Zone::utc())))
    }

    /// A slot every `period`. A run that takes longer delays the next ones, which then follow back to back; none is
    /// forgotten up to [`max_backlog`](crate::Job::max_backlog).
    ///
    /// # Errors
    /// [`ErrorKind::Trigger`](crate::ErrorKind::Trigger) for less than a millisecond or more than a century.
    pub fn fixed_rate(period: Duration) -> Result<Self> {
        checked("fixed rate", period).map(|d| Self(Kind::Rate(d)))
    }

    /// A slot `delay` after the end of the last run, wherever it ran. A run that crashed ends when that is noticed.
    ///
    /// # Errors
    /// [`ErrorKind::Trigger`](crate::ErrorKind::Trigger) for less than a millisecond or more than a century.
    pub fn fixed_delay(delay: Duration) -> Result<Self> {
        checked("fixed delay", delay).map(|d| Self(Kind::Delay(d)))
    }

    /// One slot, at this instant. A job that is first started after it counts as late.
    ///
    /// # Errors
    /// [`ErrorKind::Trigger`](crate::ErrorKind::Trigger) for an instant before 1970 or after 2099.
    pub fn once_at(instant: UnixTime) -> Result<Self> {
        let end = UnixTime::from_seconds(4_102_444_800);
        if instant < UnixTime::EPOCH || instant >= end {
            return Err(Error::trigger(format!("once at {instant} is out of range; from 1970 to 2099")));
        }
        Ok(Self(Kind::Once(instant)))
    }

    /// The time zone of a cron expression; on other triggers it changes nothing.
    #[must_use]
    pub fn zone(mut self, zone: Zone) -> Self {
        if let Kind::Cron(_, of) = &mut self.0 {
            *of = zone;
        }
        self
    }

    /// The first cron slot after an instant; other triggers depend on what has run.
    pub fn next_after(&self, instant: UnixTime) -> Option<UnixTime> {
        match &self.0 {
            Kind::Cron(cron, zone) => cron.next(instant, zone),
            Kind::Once(at) => (*at > instant).then_some(*at),
            Kind::Rate(_) | Kind::Delay(_) => None,
        }
    }
}

fn checked(what: &str, d: Duration) -> Result<Duration> {
    if (SHORTEST..=LONGEST).contains(&d) {
        return Ok(d);
    }
    Err(Error::trigger(format!("a {what} of {d:?} is out of range; from 1 ms to 100 years")))
}

impl fmt::Display for Trigger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Cron(cron, zone) => write!(f, "cron {cron} in {zone}"),
            Kind::Rate(d) => write!(f, "fixed rate {d:?}"),
            Kind::Delay(d) => write!(f, "fixed delay {d:?}"),
            Kind::Once(at) => write!(f, "once at {at}"),
        }
    }
}

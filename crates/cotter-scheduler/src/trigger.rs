//! Triggers of jobs.

use crate::hash::Length;
use crate::{Cron, Error, Result, UnixTime, Zone};
use std::fmt;
use std::time::Duration;

/// The trigger of a job: it determines the slots.
///
/// | | slots | counted from |
/// |---|---|---|
/// | [`cron`](Self::cron) | those of the expression | the calendar of a [`zone`](Self::zone) |
/// | [`fixed_rate`](Self::fixed_rate) | one per period, however long a run takes | the first start ever, by the store's clock |
/// | [`fixed_delay`](Self::fixed_delay) | one, a delay after the last run | the end of that run, on any replica |
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
    Demand,
}

/// Shorter periods and delays would keep the store busy with nothing else.
const MIN_PERIOD: Duration = Duration::from_millis(1);
/// About a century.
const MAX_PERIOD: Duration = Duration::from_secs(100 * 366 * 86_400);

impl Trigger {
    /// The slots of a cron expression in the Quartz dialect (see [`cron`](crate::cron)), in UTC unless a
    /// [`zone`](Self::zone) is given.
    ///
    /// # Errors
    /// [`ErrorKind::Trigger`](crate::ErrorKind::Trigger), with the position of the mistake and what to write instead.
    pub fn cron(expression: &str) -> Result<Self> {
        Ok(Self(Kind::Cron(Box::new(expression.parse()?), Zone::utc())))
    }

    /// A slot every `period`. A run that takes longer delays the next ones, which then follow back to back; up to
    /// [`max_backlog`](crate::Job::max_backlog) of them are kept.
    ///
    /// # Errors
    /// [`ErrorKind::Trigger`](crate::ErrorKind::Trigger) for less than a millisecond or more than a century.
    pub fn fixed_rate(period: Duration) -> Result<Self> {
        checked("fixed rate", period).map(|d| Self(Kind::Rate(d)))
    }

    /// A slot `delay` after the end of the last run, on any replica. A crashed run ends when the crash is noticed.
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
            return Err(Error::trigger(format!("once at {instant} is out of range: 1970 to 2099")));
        }
        Ok(Self(Kind::Once(instant)))
    }

    /// No slots at all: the job runs when it is [triggered](crate::Jobs::trigger), and for [one-shot runs](crate::OneShot).
    pub fn on_demand() -> Self {
        Self(Kind::Demand)
    }

    /// The time zone of a cron expression; without effect on other triggers.
    #[must_use]
    pub fn zone(mut self, zone: Zone) -> Self {
        if let Kind::Cron(_, of) = &mut self.0 {
            *of = zone;
        }
        self
    }

    /// The trigger that `Display` wrote.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        if let Some(instant) = text.strip_prefix("once at ") {
            return Some(Self(Kind::Once(instant.parse().ok()?)));
        }
        if text == "on demand" {
            return Some(Self::on_demand());
        }
        for (kind, make) in
            [("fixed rate ", Kind::Rate as fn(Duration) -> Kind), ("fixed delay ", Kind::Delay)]
        {
            if let Some(length) = text.strip_prefix(kind) {
                return Length::parse(length).map(|Length(d)| Self(make(d)));
            }
        }
        let (cron, zone) = text.strip_prefix("cron ")?.rsplit_once(" in ")?;
        Some(Self(Kind::Cron(Box::new(cron.parse().ok()?), Zone::named(zone).ok()?)))
    }

    /// Whether its slots are known beforehand: those of cron and `once_at` are, the others depend on earlier runs.
    pub fn is_planned(&self) -> bool {
        matches!(self.0, Kind::Cron(..) | Kind::Once(_))
    }

    /// Whether slots depend on the ends of runs.
    pub(crate) fn depends_on_ends(&self) -> bool {
        matches!(self.0, Kind::Delay(_))
    }

    /// The first slot after an instant, for cron and `once_at`; `None` for other triggers, which depend on earlier runs.
    pub fn next_after(&self, instant: UnixTime) -> Option<UnixTime> {
        match &self.0 {
            Kind::Cron(cron, zone) => cron.next(instant, zone),
            Kind::Once(at) => (*at > instant).then_some(*at),
            Kind::Rate(_) | Kind::Delay(_) | Kind::Demand => None,
        }
    }
}

fn checked(what: &str, d: Duration) -> Result<Duration> {
    if (MIN_PERIOD..=MAX_PERIOD).contains(&d) {
        return Ok(d);
    }
    Err(Error::trigger(format!("a {what} of {d:?} is out of range: 1 ms to 100 years")))
}

impl fmt::Display for Trigger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Cron(cron, zone) => write!(f, "cron {cron} in {zone}"),
            Kind::Rate(d) => write!(f, "fixed rate {}", Length(*d)),
            Kind::Delay(d) => write!(f, "fixed delay {}", Length(*d)),
            Kind::Once(at) => write!(f, "once at {at}"),
            Kind::Demand => f.write_str("on demand"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn triggers_are_parsed_back() {
        let zone = Zone::named("Asia/Shanghai").unwrap();
        let cron = Trigger::cron("0 30 2 ? * MON-FRI").unwrap().zone(zone);
        let once = Trigger::once_at("2031-05-02T10:00:00Z".parse().unwrap()).unwrap();
        let rate = Trigger::fixed_rate(Duration::from_secs(1)).unwrap();
        let delay = Trigger::fixed_delay(Duration::from_micros(1_234_050)).unwrap();
        for trigger in [cron, once, rate, delay, Trigger::on_demand()] {
            assert_eq!(Trigger::parse(&trigger.to_string()), Some(trigger));
        }
        assert_eq!(Trigger::parse("(off) cron 0 30 2 * * ? in UTC"), None);
    }
}

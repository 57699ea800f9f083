//! Triggers of jobs.

use crate::calendar::{Calendar, Search};
use crate::hash::Length;
use crate::{Cron, Error, Result, UnixTime, Zone};
use std::fmt;
use std::time::Duration;

/// The trigger of a job: it determines the slots.
///
/// | | slots | counted from |
/// |---|---|---|
/// | [`cron`](Self::cron), [`crontab`](Self::crontab) | those of the expression | the calendar of a [`zone`](Self::zone) |
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
pub struct Trigger(pub(crate) Kind, pub(crate) Calendar);

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
    fn new(kind: Kind) -> Self {
        Self(kind, Calendar::default())
    }

    /// Creates a trigger with the slots of a cron expression in the Quartz dialect (see [`cron`](crate::cron)), in UTC
    /// unless a [`zone`](Self::zone) is given.
    ///
    /// # Errors
    /// [`ErrorKind::Trigger`](crate::ErrorKind::Trigger), with the position of the mistake and what to write instead.
    pub fn cron(expression: &str) -> Result<Self> {
        Ok(Self::new(Kind::Cron(Box::new(expression.parse()?), Zone::utc())))
    }

    /// Creates a trigger with the slots of the five fields of a crontab ([`Cron::from_crontab`]), in UTC unless a
    /// [`zone`](Self::zone) is given.
    ///
    /// # Errors
    /// As [`cron`](Self::cron).
    pub fn crontab(line: &str) -> Result<Self> {
        Ok(Self::new(Kind::Cron(Box::new(Cron::from_crontab(line)?), Zone::utc())))
    }

    /// Creates a trigger with a slot every `period`. A run that takes longer delays the next ones, which then follow
    /// back to back; up to [`max_backlog`](crate::Job::max_backlog) of them are kept.
    ///
    /// # Errors
    /// [`ErrorKind::Trigger`](crate::ErrorKind::Trigger) for less than a millisecond or more than a century.
    pub fn fixed_rate(period: Duration) -> Result<Self> {
        checked("fixed rate", period).map(|d| Self::new(Kind::Rate(d)))
    }

    /// Creates a trigger with a slot `delay` after the end of the last run, on any replica. A crashed run ends when the
    /// crash is noticed.
    ///
    /// # Errors
    /// [`ErrorKind::Trigger`](crate::ErrorKind::Trigger) for less than a millisecond or more than a century.
    pub fn fixed_delay(delay: Duration) -> Result<Self> {
        checked("fixed delay", delay).map(|d| Self::new(Kind::Delay(d)))
    }

    /// Creates a trigger with one slot, at this instant. A job that is first started after it counts as late.
    ///
    /// # Errors
    /// [`ErrorKind::Trigger`](crate::ErrorKind::Trigger) for an instant before 1970 or after 2099.
    pub fn once_at(instant: UnixTime) -> Result<Self> {
        let end = UnixTime::from_seconds(4_102_444_800);
        if instant < UnixTime::EPOCH || instant >= end {
            return Err(Error::trigger(format!("once at {instant} is out of range: 1970 to 2099")));
        }
        Ok(Self::new(Kind::Once(instant)))
    }

    /// Creates a trigger without any slots: the job runs when it is [triggered](crate::Jobs::trigger), and for
    /// [one-shot runs](crate::OneShot).
    pub fn on_demand() -> Self {
        Self::new(Kind::Demand)
    }

    /// Sets the time zone of a cron expression; has no effect on other triggers.
    #[must_use]
    pub fn zone(mut self, zone: Zone) -> Self {
        if let Kind::Cron(_, of) = &mut self.0 {
            *of = zone;
        }
        self
    }

    /// Excludes slots before this instant. Has no effect on a job that runs on demand.
    #[must_use]
    pub fn starting(mut self, at: UnixTime) -> Self {
        self.1.from = Some(at);
        self
    }

    /// Excludes slots after this instant. Has no effect on a job that runs on demand.
    ///
    /// A slot that was missed before the end is still treated as the job's [`Misfire`](crate::Misfire) policy says, even
    /// after it. The exception is a fixed rate without [`Misfire::All`](crate::Misfire::All): only its newest slot is
    /// ever made up for, and that one is excluded once it lies after the end.
    #[must_use]
    pub fn ending(mut self, at: UnixTime) -> Self {
        self.1.until = Some(at);
        self
    }

    /// Excludes slots on these days of the trigger's time zone: `2031-12-25`, or `2031-12-24/2032-01-01` for several.
    ///
    /// # Errors
    /// [`ErrorKind::Trigger`](crate::ErrorKind::Trigger) for other texts, and for triggers other than cron.
    pub fn except_days(mut self, days: &str) -> Result<Self> {
        self.check_exclusion()?;
        self.1.except_days(days)?;
        Ok(self)
    }

    /// Excludes slots at the seconds at which this expression fires, in the time zone of the trigger: `* * 22-5 * * ?`
    /// excludes nights.
    ///
    /// # Errors
    /// As [`cron`](Self::cron), and for triggers other than cron.
    pub fn except_cron(mut self, expression: &str) -> Result<Self> {
        self.check_exclusion()?;
        self.1.except_times(expression.parse()?);
        Ok(self)
    }

    fn check_exclusion(&self) -> Result<()> {
        match self.0 {
            Kind::Cron(..) => Ok(()),
            _ => Err(Error::trigger(
                "only slots of a cron expression can be excluded; use `cron` or `crontab`",
            )),
        }
    }

    /// The trigger that `Display` wrote.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        match text.strip_suffix(']').and_then(|text| text.split_once(" [")) {
            Some((text, calendar)) => Some(Self(Self::parse_kind(text)?, Calendar::parse(calendar)?)),
            None => Self::parse_kind(text).map(Self::new),
        }
    }

    fn parse_kind(text: &str) -> Option<Kind> {
        if let Some(instant) = text.strip_prefix("once at ") {
            return Some(Kind::Once(instant.parse().ok()?));
        }
        if text == "on demand" {
            return Some(Kind::Demand);
        }
        for (kind, make) in
            [("fixed rate ", Kind::Rate as fn(Duration) -> Kind), ("fixed delay ", Kind::Delay)]
        {
            if let Some(length) = text.strip_prefix(kind) {
                return Length::parse(length).map(|Length(d)| make(d));
            }
        }
        let (text, zone) = text.rsplit_once(" in ")?;
        let cron = match text.strip_prefix("crontab ") {
            Some(line) => Cron::from_crontab(line).ok()?,
            None => text.strip_prefix("cron ")?.parse().ok()?,
        };
        Some(Kind::Cron(Box::new(cron), Zone::named(zone).ok()?))
    }

    /// Returns true if it is certain that there is no slot after an instant.
    pub fn has_ended(&self, instant: UnixTime) -> bool {
        match &self.0 {
            Kind::Cron(cron, zone) => self.1.next(cron, zone, instant) == Search::Ended,
            Kind::Once(_) => self.next_after(instant).is_none(),
            Kind::Rate(_) | Kind::Delay(_) => self.1.until.is_some_and(|until| until <= instant),
            Kind::Demand => false,
        }
    }

    /// Returns true if the slots are known beforehand: those of cron and `once_at` are, the others depend on earlier
    /// runs.
    pub fn is_planned(&self) -> bool {
        matches!(self.0, Kind::Cron(..) | Kind::Once(_))
    }

    /// The period of a fixed rate; `None` for other triggers.
    pub fn period(&self) -> Option<Duration> {
        match self.0 {
            Kind::Rate(period) => Some(period),
            _ => None,
        }
    }

    /// Whether slots depend on the ends of runs.
    pub(crate) fn depends_on_ends(&self) -> bool {
        matches!(self.0, Kind::Delay(_))
    }

    /// Returns the first slot after an instant, for cron and `once_at`; `None` for other triggers, which depend on
    /// earlier runs, and if the search was given up behind a million runs of excluded slots
    /// ([`has_ended`](Self::has_ended) tells).
    pub fn next_after(&self, instant: UnixTime) -> Option<UnixTime> {
        match &self.0 {
            Kind::Cron(cron, zone) => self.1.next(cron, zone, instant).slot(),
            Kind::Once(at) => (*at > instant && self.1.covers(*at)).then_some(*at),
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
            Kind::Cron(cron, zone) if cron.is_crontab() => write!(f, "crontab {cron} in {zone}"),
            Kind::Cron(cron, zone) => write!(f, "cron {cron} in {zone}"),
            Kind::Rate(d) => write!(f, "fixed rate {}", Length(*d)),
            Kind::Delay(d) => write!(f, "fixed delay {}", Length(*d)),
            Kind::Once(at) => write!(f, "once at {at}"),
            Kind::Demand => f.write_str("on demand"),
        }?;
        if self.1 == Calendar::default() { Ok(()) } else { write!(f, " [{}]", self.1) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn triggers_are_parsed_back() {
        let zone = Zone::named("Asia/Shanghai").unwrap();
        let cron = Trigger::cron("0 30 2 ? * MON-FRI").unwrap().zone(zone);
        let crontab =
            Trigger::crontab("30 2 13 * 1-5").unwrap().zone(Zone::utc()).except_days("2031-01-01").unwrap();
        assert_eq!(crontab.to_string(), "crontab 30 2 13 * MON-FRI in UTC [except 2031-01-01]");
        let once = Trigger::once_at("2031-05-02T10:00:00Z".parse().unwrap()).unwrap();
        let rate = Trigger::fixed_rate(Duration::from_secs(1)).unwrap();
        let delay = Trigger::fixed_delay(Duration::from_micros(1_234_050)).unwrap();
        let limited =
            cron.clone().starting(UnixTime::EPOCH).ending("2031-05-02T10:00:00.5Z".parse().unwrap());
        let limited =
            limited.except_days("2031-01-01").unwrap().except_days("2030-12-24/2030-12-31").unwrap();
        let limited = limited.except_cron("* * 22-5 * * ?").unwrap();
        let text = "cron 0 30 2 ? * MON-FRI in Asia/Shanghai [from 1970-01-01T00:00:00Z; until 2031-05-02T10:00:00.5Z; \
                    except 2031-01-01; except 2030-12-24/2030-12-31; except cron * * 22-5 * * ?]";
        assert_eq!(limited.to_string(), text);
        for trigger in [
            cron,
            crontab,
            once,
            rate.clone().ending(UnixTime::EPOCH),
            rate,
            delay,
            limited,
            Trigger::on_demand(),
        ] {
            assert_eq!(Trigger::parse(&trigger.to_string()), Some(trigger));
        }
        assert_eq!(Trigger::parse("(off) cron 0 30 2 * * ? in UTC"), None);
    }
}

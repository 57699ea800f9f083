//! A parsed expression.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;

use super::compile::Compiled;
use super::item::{Dialect, Items};
use super::iter::{After, Before};
use super::{CronError, UnixTime, Zone, crontab, describe, parse};

/// A cron expression in the Quartz dialect, or [in that of crontabs](Self::from_crontab).
///
/// It is parsed with [`str::parse`], which reads the Quartz dialect only. `Display` writes a canonical form (capitals, names
/// for months and days of the week, one blank between fields, no year if every year matches), which parses to an equal
/// expression. Equality is structural: `MON` and `2` are equal, `MON,TUE` and `MON-TUE` are not, and no line of a crontab
/// equals an expression of the Quartz dialect.
///
/// ```
/// use cotter_scheduler::Cron;
///
/// let cron: Cron = "0 0 9-21 * * 2-7".parse()?;
/// assert_eq!(cron.to_string(), "0 0 9-21 ? * MON-SAT");
/// # Ok::<(), cotter_scheduler::CronError>(())
/// ```
#[derive(Clone)]
pub struct Cron {
    items: Items,
    compiled: Compiled,
}

impl Cron {
    pub(crate) fn new(items: Items) -> Self {
        let compiled = Compiled::new(&items);
        Cron { items, compiled }
    }

    /// Parses the five fields of a crontab, `minute hour day-of-month month day-of-week`, as cron(8) of Debian reads them, or one
    /// of the nicknames `@yearly`, `@annually`, `@monthly`, `@weekly`, `@daily`, `@midnight` and `@hourly`.
    ///
    /// Sunday is 0 and 7. A day matches if *either* day field does, unless one of them begins with `*`: then both have to match.
    /// `Display` writes the five fields, with names, which this function reads back. When the clock changes, the expression behaves
    /// as one of the Quartz dialect with the same hours.
    ///
    /// ```
    /// use cotter_scheduler::{Cron, Zone};
    ///
    /// let cron = Cron::from_crontab("30 9 13 * 5")?;
    /// assert_eq!(cron.describe(), "At 09:30:00, on the 13th of the month or on Friday");
    /// let after = "2024-06-08T00:00:00Z".parse()?;
    /// let utc = Zone::utc();
    /// let next: Vec<_> = cron.after(after, &utc).take(2).map(|at| at.to_string()).collect();
    /// assert_eq!(next, ["2024-06-13T09:30:00Z", "2024-06-14T09:30:00Z"], "a Thursday and a Friday");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Anything else, with the field, the column, the reason and what to write instead: a command behind the fields, `@reboot`, `?`,
    /// ranges that run backwards, and what cron(8) accepts and ignores.
    pub fn from_crontab(line: &str) -> Result<Self, CronError> {
        crontab::parse(line).map(Self::new)
    }

    pub(crate) fn is_crontab(&self) -> bool {
        self.items.dialect == Dialect::Crontab
    }

    pub(crate) fn items(&self) -> &Items {
        &self.items
    }

    /// Returns the first instant strictly after `after` at which the expression fires in a zone.
    ///
    /// `None` if there is none until the end of the year 2099. The result is always a whole second. The search is bounded even
    /// for an expression that never fires, such as `0 0 0 30 2 ?`.
    ///
    /// ```
    /// use cotter_scheduler::{Cron, Zone};
    ///
    /// let cron: Cron = "0 0 12 LW * ?".parse()?;
    /// let next = cron.next("2024-06-01T00:00:00Z".parse()?, &Zone::utc());
    /// assert_eq!(next.unwrap().to_string(), "2024-06-28T12:00:00Z");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn next(&self, after: UnixTime, zone: &Zone) -> Option<UnixTime> {
        self.compiled.next(after.seconds(), zone.spans()).map(UnixTime::from_seconds)
    }

    /// Returns the last instant strictly before `before` at which the expression fires in a zone.
    ///
    /// `None` if there is none since the beginning of the year 1970.
    pub fn previous(&self, before: UnixTime, zone: &Zone) -> Option<UnixTime> {
        self.compiled.previous(before.seconds_up(), zone.spans()).map(UnixTime::from_seconds)
    }

    /// The first second after this instant, at which the expression fires, up to which it is known to fire every second.
    pub(crate) fn fires_until(&self, instant: UnixTime, zone: &Zone) -> UnixTime {
        UnixTime::from_seconds(self.compiled.fires_until(instant.seconds(), zone.spans()))
    }

    /// The earliest second from which the expression is known to fire every second until this instant, at which it fires.
    pub(crate) fn fires_since(&self, instant: UnixTime, zone: &Zone) -> UnixTime {
        UnixTime::from_seconds(self.compiled.fires_since(instant.seconds(), zone.spans()))
    }

    /// Returns true if the expression fires at exactly this instant.
    pub fn fires_at(&self, instant: UnixTime, zone: &Zone) -> bool {
        let before = UnixTime::from_seconds(instant.seconds().saturating_sub(1));
        self.next(before, zone) == Some(instant)
    }

    /// Returns all instants strictly after `after`, earliest first.
    ///
    /// ```
    /// use cotter_scheduler::{Cron, Zone};
    ///
    /// let cron: Cron = "0 0 0 29 2 ?".parse()?;
    /// let zone = Zone::utc();
    /// let days: Vec<_> = cron.after("2090-01-01T00:00:00Z".parse()?, &zone).collect();
    /// assert_eq!(days.len(), 2, "2092 and 2096; 2100 is no leap year and out of range");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn after<'a>(&'a self, after: UnixTime, zone: &'a Zone) -> After<'a> {
        After { cron: self, zone, at: Some(after) }
    }

    /// Returns all instants strictly before `before`, latest first.
    pub fn before<'a>(&'a self, before: UnixTime, zone: &'a Zone) -> Before<'a> {
        Before { cron: self, zone, at: Some(before) }
    }

    /// Returns what numbers of days of the week mean, if an expression has any: Sunday is 1 here, as in Quartz, and 0 or 7 in a
    /// crontab. `None` for an expression that is read the same way everywhere. For those who move a crontab.
    ///
    /// ```
    /// use cotter_scheduler::Cron;
    ///
    /// assert!(Cron::doubt("0 0 9 * * 1-5").unwrap().contains("SUN-THU here"));
    /// assert!(Cron::doubt("0 0 9 ? * MON-FRI").is_none());
    /// ```
    pub fn doubt(expression: &str) -> Option<String> {
        crontab::numbers(expression)
    }

    /// Returns the expression in plain English.
    ///
    /// ```
    /// use cotter_scheduler::Cron;
    ///
    /// let cron: Cron = "0 15 10 ? * MON-FRI".parse()?;
    /// assert_eq!(cron.describe(), "At 10:15:00, Monday through Friday");
    /// # Ok::<(), cotter_scheduler::CronError>(())
    /// ```
    pub fn describe(&self) -> String {
        describe::describe(&self.items)
    }
}

impl FromStr for Cron {
    type Err = CronError;

    fn from_str(text: &str) -> Result<Self, CronError> {
        parse::parse(text).map(Cron::new)
    }
}

impl TryFrom<&str> for Cron {
    type Error = CronError;

    fn try_from(text: &str) -> Result<Self, CronError> {
        text.parse()
    }
}

impl fmt::Debug for Cron {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cron({self})")
    }
}

impl PartialEq for Cron {
    fn eq(&self, other: &Self) -> bool {
        self.items == other.items
    }
}

impl Eq for Cron {}

impl Hash for Cron {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.items.hash(state);
    }
}

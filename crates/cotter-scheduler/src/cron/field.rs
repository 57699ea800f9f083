//! The seven fields of an expression.

use std::fmt;

/// A field of a cron expression; variants are in the order of the fields.
///
/// ```
/// use cotter_scheduler::Field;
///
/// assert_eq!(Field::DayOfWeek.to_string(), "day-of-week");
/// assert_eq!(Field::Hours.range(), (0, 23));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Field {
    /// 0 to 59.
    Seconds,
    /// 0 to 59.
    Minutes,
    /// 0 to 23.
    Hours,
    /// 1 to 31.
    DayOfMonth,
    /// 1 to 12, or `JAN` to `DEC`.
    Month,
    /// 1 to 7, or `SUN` to `SAT`; in a crontab the numbers are 0 to 7.
    DayOfWeek,
    /// 1970 to 2099.
    Year,
}

const MONTHS: [&str; 12] =
    ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
const WEEKDAYS: [&str; 7] = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];

impl Field {
    /// All fields, in the order of an expression.
    pub const ALL: [Field; 7] = [
        Field::Seconds,
        Field::Minutes,
        Field::Hours,
        Field::DayOfMonth,
        Field::Month,
        Field::DayOfWeek,
        Field::Year,
    ];

    /// Returns the name, as used in errors: `seconds`, `day-of-month`, …
    pub fn name(self) -> &'static str {
        match self {
            Field::Seconds => "seconds",
            Field::Minutes => "minutes",
            Field::Hours => "hours",
            Field::DayOfMonth => "day-of-month",
            Field::Month => "month",
            Field::DayOfWeek => "day-of-week",
            Field::Year => "year",
        }
    }

    /// Returns the smallest and the largest number that may be written in this field of the Quartz dialect.
    pub fn range(self) -> (u16, u16) {
        match self {
            Field::Seconds | Field::Minutes => (0, 59),
            Field::Hours => (0, 23),
            Field::DayOfMonth => (1, 31),
            Field::Month => (1, 12),
            Field::DayOfWeek => (1, 7),
            Field::Year => (1970, 2099),
        }
    }

    /// The largest useful step: a larger one would never be taken.
    pub(crate) fn max_step(self) -> u16 {
        let (min, max) = self.range();
        match self {
            Field::DayOfMonth | Field::Month | Field::DayOfWeek => max,
            _ => max - min,
        }
    }

    /// Three-letter names of the values, from the smallest on; empty for the fields without names.
    pub(crate) fn names(self) -> &'static [&'static str] {
        match self {
            Field::Month => &MONTHS,
            Field::DayOfWeek => &WEEKDAYS,
            _ => &[],
        }
    }

    pub(crate) fn is_day(self) -> bool {
        matches!(self, Field::DayOfMonth | Field::DayOfWeek)
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

//! The matching days of a month.

use super::civil::{self, Date};

/// Saturdays and Sundays are not weekdays; 0 is Sunday.
const SATURDAY: u32 = 6;
const SUNDAY: u32 = 0;
const SEVEN: u32 = 0b111_1111;

/// Sets of days; bit n stands for n. Several may be filled: a day matches when any of them has it, unless both kinds are needed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct DayRule {
    /// Days of the month, 1 to 31.
    pub(crate) of_month: u32,
    /// `L-n`.
    pub(crate) last: u32,
    /// `L-nW`.
    pub(crate) last_weekday: u32,
    /// `nW`.
    pub(crate) nearest: u32,
    /// Days of the week, 0 (Sunday) to 6.
    pub(crate) of_week: u32,
    /// `nL`, 0 (Sunday) to 6.
    pub(crate) last_of_week: u32,
    /// `n#k` as one set of days of the week per k.
    pub(crate) nth: [u8; 5],
    /// A day matches when it is in `of_month` and in another set. Implies that `of_week` is not empty.
    pub(crate) needs_both: bool,
}

/// The properties of a month that the rules need.
#[derive(Clone, Copy)]
struct Month {
    length: u32,
    /// The day of the week of its first day.
    first: u32,
}

impl DayRule {
    /// The matching days of a month; bit n stands for day n.
    pub(crate) fn in_month(&self, year: i64, month: u32) -> u32 {
        let length = civil::month_length(year, month);
        let mut days = self.of_month;
        if self.depends_on_month() {
            let first = civil::weekday(civil::days_from(Date { year, month, day: 1 }));
            let special = self.special(Month { length, first });
            days = if self.needs_both { days & special } else { days | special };
        }
        days & (u32::MAX >> (31 - length)) & !1
    }

    fn depends_on_month(&self) -> bool {
        let of_month = self.last | self.last_weekday | self.nearest;
        of_month | self.of_week | self.last_of_week != 0 || self.nth != [0; 5]
    }

    fn special(&self, month: Month) -> u32 {
        let mut days = 0;
        for before in bits(self.last) {
            days |= month.before_last(before).map_or(0, |day| 1 << day);
        }
        for before in bits(self.last_weekday) {
            days |= month.before_last(before).map_or(0, |day| 1 << month.nearest_weekday(day));
        }
        for day in bits(self.nearest).filter(|&day| day <= month.length) {
            days |= 1 << month.nearest_weekday(day);
        }
        for weekday in bits(self.of_week) {
            days |= month.all(weekday);
        }
        for weekday in bits(self.last_of_week) {
            days |= 1 << (31 - month.all(weekday).leading_zeros());
        }
        for (week, &weekdays) in (0..).zip(&self.nth) {
            for weekday in bits(weekdays.into()) {
                days |= month.all(weekday) & (SEVEN << (1 + 7 * week));
            }
        }
        days
    }
}

impl Month {
    /// The day `before` days before the last one, if the month is long enough.
    fn before_last(self, before: u32) -> Option<u32> {
        self.length.checked_sub(before).filter(|&day| day > 0)
    }

    /// The weekday nearest to a day, never leaving the month.
    fn nearest_weekday(self, day: u32) -> u32 {
        match (self.first + day - 1) % 7 {
            SATURDAY if day == 1 => 3,
            SATURDAY => day - 1,
            SUNDAY if day == self.length => day - 2,
            SUNDAY => day + 1,
            _ => day,
        }
    }

    fn first_of(self, weekday: u32) -> u32 {
        1 + (7 + weekday - self.first) % 7
    }

    /// All days with that day of the week.
    fn all(self, weekday: u32) -> u32 {
        let first = self.first_of(weekday);
        let weekly = 1 | 1 << 7 | 1 << 14 | 1 << 21 | 1 << 28;
        (weekly << first) & (u32::MAX >> (31 - self.length))
    }
}

fn bits(set: u32) -> impl Iterator<Item = u32> {
    std::iter::successors(Some(set), |&set| Some(set & set.wrapping_sub(1)))
        .take_while(|&set| set != 0)
        .map(u32::trailing_zeros)
}

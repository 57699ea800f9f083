//! Days and dates of the proleptic Gregorian calendar.

/// Days in 400 years, after which the calendar repeats itself.
const ERA: i64 = 146_097;
/// Days from 0000-03-01 to 1970-01-01.
const EPOCH: i64 = 719_468;

pub(crate) const DAY: i64 = 86_400;

/// A date: year, month (1 to 12), day (1 to 31).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Date {
    pub(crate) year: i64,
    pub(crate) month: u32,
    pub(crate) day: u32,
}

/// Days from 1970-01-01 to the date.
///
/// The year is counted from March on, so that the leap day is its last one and needs no special case.
pub(crate) fn days_from(date: Date) -> i64 {
    let year = date.year - i64::from(date.month <= 2);
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let month = i64::from((date.month + 9) % 12);
    let of_year = (153 * month + 2) / 5 + i64::from(date.day) - 1;
    era * ERA + of_era * 365 + of_era / 4 - of_era / 100 + of_year - EPOCH
}

/// The date of a day counted from 1970-01-01.
pub(crate) fn date_of(days: i64) -> Date {
    let days = days + EPOCH;
    let era = days.div_euclid(ERA);
    let of_era = days.rem_euclid(ERA) as u32;
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    Date { year: i64::from(year) + era * 400 + i64::from(month <= 2), month, day }
}

/// The day of the week: 0 is Sunday.
pub(crate) fn weekday(days: i64) -> u32 {
    (days + 4).rem_euclid(7) as u32
}

pub(crate) fn month_length(year: i64, month: u32) -> u32 {
    match month {
        2 => 28 + u32::from(is_leap(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_of_three_centuries_is_where_counting_puts_it() {
        let mut date = Date { year: 1890, month: 1, day: 1 };
        let first = days_from(date);
        for days in first..first + 110_000 {
            assert_eq!(date_of(days), date);
            assert_eq!(days_from(date), days);
            date = tomorrow(date);
        }
    }

    fn tomorrow(date: Date) -> Date {
        let Date { year, month, day } = date;
        if day < month_length(year, month) {
            return Date { day: day + 1, ..date };
        }
        match month {
            12 => Date { year: year + 1, month: 1, day: 1 },
            _ => Date { year, month: month + 1, day: 1 },
        }
    }

    #[test]
    fn known_days() {
        assert_eq!(days_from(Date { year: 1970, month: 1, day: 1 }), 0);
        assert_eq!(days_from(Date { year: 2000, month: 2, day: 29 }), 11_016);
        assert_eq!(weekday(0), 4, "1970-01-01 was a Thursday");
        assert_eq!(weekday(-4), 0);
    }
}

//! Every kind of mistake and its words.

use cotter_scheduler::{Cron, CronError, Field};

const SHAPE: &str = "`seconds minutes hours day-of-month month day-of-week [year]`";

/// An expression, and the error in full; `<shape>` stands for the order of the fields.
#[rustfmt::skip]
const MISTAKES: &[(&str, &str)] = &[
    ("", "column 1: the expression is empty; write <shape>, for example `0 0 12 * * ?`"),
    ("  ", "column 1: the expression is empty; write <shape>, for example `0 0 12 * * ?`"),
    ("0 0 0 1", "month, column 8: the month field is missing: found 4 of at least 6 fields; write <shape>"),
    ("*/15 * * * *", "day-of-week, column 13: the day-of-week field is missing: found 5 of at least 6 fields; this line of a crontab is `0 */15 * * * ?` here; `crontab` takes it as it is"),
    ("0 9 1 * 1", "day-of-week, column 10: the day-of-week field is missing: found 5 of at least 6 fields; this line of a crontab is for days of two kinds, which only `crontab` takes"),
    ("0 9 1 * 8", "day-of-week, column 10: the day-of-week field is missing: found 5 of at least 6 fields; a five-field crontab line needs the seconds in front (`0 …`), and Sunday is 1 here"),
    ("* *", "hours, column 4: the hours field is missing: found 2 of at least 6 fields; write <shape>"),
    ("0 0 0 1 1 ? 2000 1", "column 18: there are more than 7 fields; end after the year: write <shape>"),
    ("@daily", "column 1: nicknames such as `@daily` are not in the Quartz dialect; write `0 0 0 * * ?`"),
    ("@reboot", "column 1: nicknames such as `@reboot` are not in the Quartz dialect; write <shape>"),
    ("0 0 0 ? * ?", "day-of-week, column 11: `?` is in both day fields; write `*` in one of them for every day"),
    ("0 0 0 1 * MON", "day-of-week, column 11: day-of-month and day-of-week are both restricted; write `?` in one of them; for both conditions use two expressions"),
    ("? * * * * ?", "seconds, column 1: `?` is allowed only in day-of-month and day-of-week; write `*` for every value"),
    ("* * * ? ? *", "month, column 9: `?` is allowed only in day-of-month and day-of-week; write `*` for every value"),
    ("0 0 0 1? * ?", "day-of-month, column 8: `?` must be the only character of its field; write `?` alone, or leave it out"),
    ("0 0 0 ?1 * ?", "day-of-month, column 7: `?` must be the only character of its field; write `?` alone, or leave it out"),
    ("5? * * * * ?", "seconds, column 2: `?` is allowed only in day-of-month and day-of-week; write `*` for every value"),
    ("0 0 0 $ * ?", "day-of-month, column 7: `$` means nothing here; remove it"),
    ("0 5é * * * ?", "minutes, column 4: `é` means nothing here; remove it"),
    ("5x * * * * ?", "seconds, column 2: `x` cannot follow a value; remove it, or put a comma before the next value"),
    ("5* * * * * ?", "seconds, column 2: `*` cannot follow a value; remove it, or put a comma before the next value"),
    ("1,,2 * * * * ?", "seconds, column 3: an entry of the list is empty; remove the extra comma, or write a value"),
    ("1, * * * * ?", "seconds, column 3: an entry of the list is empty; remove the extra comma, or write a value"),
    (",1 * * * * ?", "seconds, column 1: an entry of the list is empty; remove the extra comma, or write a value"),
    ("*1 * * * * ?", "seconds, column 2: `1` cannot follow `*`; only a step such as `*/5`, or a comma, can follow `*`"),
    ("** * * * * ?", "seconds, column 2: `*` cannot follow `*`; only a step such as `*/5`, or a comma, can follow `*`"),
    ("-1 * * * * ?", "seconds, column 1: the range has no start; write both ends, such as `1-5`"),
    ("1- * * * * ?", "seconds, column 3: the range has no end; write both ends, such as `1-5`"),
    ("1-/2 * * * * ?", "seconds, column 3: the range has no end; write both ends, such as `1-5`"),
    ("1-2-3 * * * * ?", "seconds, column 4: a range has only two ends; separate several ranges with commas, such as `1-5,10-15`"),
    ("0 0 0 1 1 ? 2010-2005", "year, column 18: the years run backwards, from 2010 to 2005; write `2005-2010`"),
    ("1/ * * * * ?", "seconds, column 3: the step after `/` is missing; write a number of 1 or more, such as `*/5`"),
    ("*/0 * * * * ?", "seconds, column 3: a step of 0 never advances; write a step of 1 or more"),
    ("*/60 * * * * ?", "seconds, column 3: the step 60 is too large; write a step from 1 to 59, or a single value"),
    ("*/99999 * * * * ?", "seconds, column 3: the step 99999 is too large; write a step from 1 to 59, or a single value"),
    ("0 0 0/24 * * ?", "hours, column 7: the step 24 is too large; write a step from 1 to 23, or a single value"),
    ("0 0 0 1/32 * ?", "day-of-month, column 9: the step 32 is too large; write a step from 1 to 31, or a single value"),
    ("1/2/3 * * * * ?", "seconds, column 4: there can be only one step; write `start/step` or `from-to/step`"),
    ("60 * * * * ?", "seconds, column 1: 60 is out of range; write a number from 0 to 59"),
    ("0 0 24 * * ?", "hours, column 5: 24 is out of range; write a number from 0 to 23"),
    ("0 0 0 0 * ?", "day-of-month, column 7: 0 is out of range; write a number from 1 to 31"),
    ("0 0 0 1 13 ?", "month, column 9: 13 is out of range; write a number from 1 to 12"),
    ("0 0 0 ? * 0", "day-of-week, column 11: 0 is not a day of the week; Sunday is 1 or SUN"),
    ("0 0 0 ? * 8", "day-of-week, column 11: 8 is not a day of the week; write 1 (SUN) to 7 (SAT), or a name"),
    ("0 0 0 1 1 ? 1969", "year, column 13: 1969 is out of range; write a number from 1970 to 2099"),
    ("123456789 * * * * ?", "seconds, column 1: 123456789 is out of range; write a number from 0 to 59"),
    ("L * * * * ?", "seconds, column 1: `L` means nothing in seconds; use it only in day-of-month and day-of-week"),
    ("0 0 0 1 L ?", "month, column 9: `L` means nothing in month; use it only in day-of-month and day-of-week"),
    ("W * * * * ?", "seconds, column 1: `W` means nothing in seconds; use it only in day-of-month"),
    ("0 0 0 ? * W", "day-of-week, column 11: `W` means nothing in day-of-week; use it only in day-of-month"),
    ("0 0 0 ? * LW", "day-of-week, column 11: `W` means nothing in day-of-week; use it only in day-of-month"),
    ("0 0 0 W * ?", "day-of-month, column 7: `W` has no day before it; write the day first, such as `15W`"),
    ("0 0 0 C * ?", "day-of-month, column 7: `C` has no day before it; write the day first, such as `15C`"),
    ("C * * * * ?", "seconds, column 1: `C` means nothing in seconds; use it only in day-of-month and day-of-week"),
    ("0 0 0 WL * ?", "day-of-month, column 7: `WL` is the wrong way round; write `LW` for the last weekday of the month"),
    ("0 0 0 ? * L-3", "day-of-week, column 12: `L-…` belongs to day-of-month; write `6L` for the last Friday of the month"),
    ("0 0 0 L- * ?", "day-of-month, column 9: the number of days after `L-` is missing; write, for example, `L-3`"),
    ("0 0 0 L-31 * ?", "day-of-month, column 9: no month has a day 31 days before its last one; write `L-0` to `L-30`"),
    ("0 0 0 L-3/2 * ?", "day-of-month, column 10: `/` cannot follow here; end the entry, or put a comma before the next one"),
    ("0 0 0 LW-3 * ?", "day-of-month, column 9: `-` cannot follow here; end the entry, or put a comma before the next one"),
    ("0 0 0 5L * ?", "day-of-month, column 8: `5L` belongs to day-of-week; write `L` for the last day of the month, or move `nL` to day-of-week"),
    ("5L * * * * ?", "seconds, column 2: `L` means nothing in seconds; use it only in day-of-month and day-of-week"),
    ("0 0 0 ? * 3W", "day-of-week, column 12: `W` means nothing in day-of-week; use it only in day-of-month"),
    ("5C * * * * ?", "seconds, column 2: `C` means nothing in seconds; use it only in day-of-month and day-of-week"),
    ("0 0 0 3#1 * ?", "day-of-month, column 8: `#` means nothing in day-of-month; use it only in day-of-week"),
    ("0 0 0 ? * #2", "day-of-week, column 11: `#` has no day of the week before it; write the day first, such as `6#3` for the third Friday"),
    ("0 0 0 ? * 6#", "day-of-week, column 13: the number after `#` is missing; write 1 to 5, such as `6#3` for the third Friday"),
    ("0 0 0 ? * 6#6", "day-of-week, column 13: `#6` names no day of any month; write 1 to 5 after `#`"),
    ("0 0 0 ? * 6#0", "day-of-week, column 13: `#0` names no day of any month; write 1 to 5 after `#`"),
    ("0 0 0 ? * 6#3L", "day-of-week, column 14: `L` cannot follow here; end the entry, or put a comma before the next one"),
    ("0 0 0 ? * 2-6L", "day-of-week, column 14: `L` goes with a single day, not with a range; list the days, such as `2L,3L` or `2#1,3#1`"),
    ("0 0 0 ? * 2-6#1", "day-of-week, column 14: `#` goes with a single day, not with a range; list the days, such as `2L,3L` or `2#1,3#1`"),
    ("0 0 0 1-5W * ?", "day-of-month, column 10: `W` goes with a single day, not with a range; list the days, such as `1W,2W,3W`"),
    ("0 0 0 1-5C * ?", "day-of-month, column 10: `C` goes with a single day, not with a range; leave it out: without a calendar `C` changes nothing"),
    ("0 0 0 1-L * ?", "day-of-month, column 9: a range cannot end with `L`; write the number of the last value"),
    ("MON * * * * ?", "seconds, column 1: `MON` means nothing in seconds; write numbers from 0 to 59"),
    ("0 0 0 ? * MONDAY", "day-of-week, column 11: names have three letters, `MONDAY` has 6; write MON"),
    ("0 0 0 1 SEPT ?", "month, column 9: names have three letters, `SEPT` has 4; write SEP"),
    ("0 0 0 ? * MO", "day-of-week, column 11: `MO` is not a name of the day-of-week field; write a name from SUN to SAT, or a number"),
    ("0 0 0 1 FOO ?", "month, column 9: `FOO` is not a name of the month field; write a name from JAN to DEC, or a number"),
    ("0 0 0 1-5x * ?", "day-of-month, column 10: `x` cannot follow a value; remove it, or put a comma before the next value"),
    ("0 0 0 1-5? * ?", "day-of-month, column 10: `?` must be the only character of its field; write `?` alone, or leave it out"),
    ("0 0 0 15W/2 * ?", "day-of-month, column 10: `/` cannot follow here; end the entry, or put a comma before the next one"),
    ("1-$ * * * * ?", "seconds, column 3: `$` means nothing here; remove it"),
    ("0 0 0 1 1-$ ?", "month, column 11: `$` means nothing here; remove it"),
    ("0 0 0 1 1 ? L", "year, column 13: `L` means nothing in year; use it only in day-of-month and day-of-week"),
    ("1/x * * * * ?", "seconds, column 3: the step after `/` is missing; write a number of 1 or more, such as `*/5`"),
    ("1/2x * * * * ?", "seconds, column 4: `x` cannot follow here; end the entry, or put a comma before the next one"),
    ("0 0 0 ? * FRIW", "day-of-week, column 14: `W` means nothing in day-of-week; use it only in day-of-month"),
    ("0 0 0 1 JANL ?", "month, column 12: `L` means nothing in month; use it only in day-of-month and day-of-week"),
];

fn error(expression: &str) -> CronError {
    expression.parse::<Cron>().expect_err(expression)
}

#[test]
fn every_mistake_has_its_own_words() {
    for (expression, text) in MISTAKES {
        assert_eq!(error(expression).to_string(), text.replace("<shape>", SHAPE), "{expression:?}");
    }
}

#[test]
fn the_parts_of_an_error() {
    let error = error("0 0/5 9-17 ? * MONDAY-FRI");
    assert_eq!(error.field(), Some(Field::DayOfWeek));
    assert_eq!(error.column(), 16);
    assert_eq!(error.reason(), "names have three letters, `MONDAY` has 6");
    assert_eq!(error.hint(), "write MON");
    assert_eq!(error.expression(), "0 0/5 9-17 ? * MONDAY-FRI");
    assert_eq!(error.with_caret(), "0 0/5 9-17 ? * MONDAY-FRI\n               ^");
    assert_eq!(error.clone(), error);
    let _: &dyn std::error::Error = &error;
}

#[test]
fn the_first_mistake_from_the_left_is_reported() {
    assert_eq!(error("0 0 0 32 13 ?").field(), Some(Field::DayOfMonth));
    assert_eq!(error("0 0 0 ? 13 ?").field(), Some(Field::Month));
}

#[test]
fn columns_count_characters_and_the_caret_stands_under_them() {
    let error = error("0\t5é * * * ?");
    assert_eq!(error.column(), 4);
    assert_eq!(error.with_caret(), "0 5é * * * ?\n   ^");
}

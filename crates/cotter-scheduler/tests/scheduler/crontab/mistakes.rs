//! What is refused in a crontab, and its words.

use cotter_scheduler::{Cron, Field, Trigger};

const SHAPE: &str = "`minute hour day-of-month month day-of-week`";
const PLACE: &str = "it has a place of its own, in a job file `command` or `shell`";
const QUARTZ: &str =
    "the Quartz dialect has it, with a field for seconds in front: use `cron` instead of `crontab`";

/// A line, and the error in full, with marks for the constants.
#[rustfmt::skip]
const MISTAKES: &[(&str, &str)] = &[
    ("", "column 1: the expression is empty; write <shape>, for example `0 9 * * 1-5`, or `@daily`"),
    (" \t", "column 1: the expression is empty; write <shape>, for example `0 9 * * 1-5`, or `@daily`"),
    ("0 9 ", "day-of-month, column 4: the day-of-month field is missing: found 2 of 5 fields; write <shape>"),
    ("0 9 * *", "day-of-week, column 8: the day-of-week field is missing: found 4 of 5 fields; write <shape>"),
    ("0 0 9 ? * MON-FRI", "column 11: there are more than 5 fields: this is the Quartz dialect, whose first field is for seconds; use `cron` instead of `crontab`"),
    ("0 9 * * 1-5 report", "column 13: the command of the line does not belong here; leave it out: <place>"),
    ("0 9 * * * root report --all", "column 11: the command of the line does not belong here; leave it out: <place>"),
    ("@daily report", "column 8: the command of the line does not belong here; leave it out: <place>"),
    ("0 9 * * 1 mail ops%text", "column 11: the command of the line does not belong here; leave it out: <place>, where `%` is a character like any other"),
    ("0 9 * * 1%", "day-of-week, column 10: `%` belongs to the command of a line; leave out the command: <place>, where `%` is a character like any other"),
    ("0 9 % * 1", "day-of-month, column 5: `%` belongs to the command of a line; leave out the command: <place>, where `%` is a character like any other"),
    ("@reboot", "column 1: `@reboot` is not a time: a job belongs to all hosts, and no slot of it to the start of one; let the service manager of the host start the command"),
    (" @every 5m", "column 2: `@every` is not a nickname that crontabs have; for a period, use `fixed_rate`"),
    ("@dayly", "column 1: `@dayly` is not a nickname that crontabs have; write @yearly, @annually, @monthly, @weekly, @daily, @midnight or @hourly"),
    ("60 * * * *", "minutes, column 1: 60 is out of range; write a number from 0 to 59"),
    ("0 24 * * *", "hours, column 3: 24 is out of range; write a number from 0 to 23"),
    ("0 0 0 * *", "day-of-month, column 5: 0 is out of range; write a number from 1 to 31"),
    ("0 0 * 13 *", "month, column 7: 13 is out of range; write a number from 1 to 12"),
    ("0 0 * * 8", "day-of-week, column 9: 8 is not a day of the week; write 0 (SUN) to 7 (SUN), or a name"),
    ("0 0 * * 99999999", "day-of-week, column 9: 99999999 is not a day of the week; write 0 (SUN) to 7 (SUN), or a name"),
    ("0 0 * * monday", "day-of-week, column 9: names have three letters, `MONDAY` has 6; write MON"),
    ("0 0 * foo *", "month, column 7: `FOO` is not a name of the month field; write a name from JAN to DEC, or a number"),
    ("H 0 * * *", "minutes, column 1: `H` means nothing in minutes; write numbers from 0 to 59"),
    ("5/15 * * * *", "minutes, column 2: in a crontab a step goes with `*` or a range, not with one value; write `5-59/…` for all from 5 on"),
    ("0 0 * * 1/2", "day-of-week, column 10: in a crontab a step goes with `*` or a range, not with one value; write `1-6/…` for all from 1 on"),
    ("/5 * * * *", "minutes, column 1: `/` means nothing here; remove it"),
    ("0 22-2 * * *", "hours, column 6: the range runs backwards, from 22 to 2; a range of a crontab does not wrap around: write `22-23,0-2`"),
    ("0 0 * * fri-mon", "day-of-week, column 13: the range runs backwards, from 5 to 1; a range of a crontab does not wrap around: write `5-6,0-1`"),
    ("0 0 * 11-feb *", "month, column 10: the range runs backwards, from 11 to 2; a range of a crontab does not wrap around: write `11-12,1-2`"),
    ("*/0 * * * *", "minutes, column 3: a step of 0 never advances; write a step of 1 or more"),
    ("*/60 * * * *", "minutes, column 3: the step 60 is too large; write a step from 1 to 59, or a single value"),
    ("*/ * * * *", "minutes, column 3: the step after `/` is missing; write a number of 1 or more, such as `*/5`"),
    ("1-9/2/3 * * * *", "minutes, column 6: there can be only one step; write `start/step` or `from-to/step`"),
    ("*5 * * * *", "minutes, column 2: `5` cannot follow `*`; only a step such as `*/5`, or a comma, can follow `*`"),
    ("5* * * * *", "minutes, column 2: `*` cannot follow a value; remove it, or put a comma before the next value"),
    ("1,,2 * * * *", "minutes, column 3: an entry of the list is empty; remove the extra comma, or write a value"),
    ("-5 * * * *", "minutes, column 1: the range has no start; write both ends, such as `1-5`"),
    ("5- * * * *", "minutes, column 3: the range has no end; write both ends, such as `1-5`"),
    ("1-2-3 * * * *", "minutes, column 4: a range has only two ends; separate several ranges with commas, such as `1-5,10-15`"),
    ("0~30 * * * *", "minutes, column 2: `~` means nothing here; remove it"),
    ("5x * * * *", "minutes, column 2: `x` cannot follow a value; remove it, or put a comma before the next value"),
    ("0 0 ? * 1", "day-of-month, column 5: `?` is not in the dialect of crontabs; write `*`"),
    ("0 0 L * *", "day-of-month, column 5: `L` is not in the dialect of crontabs; <quartz>"),
    ("0 0 15W * *", "day-of-month, column 7: `W` is not in the dialect of crontabs; <quartz>"),
    ("0 0 * * 5L", "day-of-week, column 10: `L` is not in the dialect of crontabs; <quartz>"),
    ("0 0 * * fril", "day-of-week, column 12: `l` is not in the dialect of crontabs; <quartz>"),
    ("0 0 * * 5#2", "day-of-week, column 10: `#` is not in the dialect of crontabs; <quartz>"),
];

#[test]
fn every_mistake_has_its_own_words() {
    for (line, text) in MISTAKES {
        let text = text.replace("<shape>", SHAPE).replace("<place>", PLACE).replace("<quartz>", QUARTZ);
        let error = Cron::from_crontab(line).expect_err(line);
        assert_eq!(error.to_string(), text, "{line:?}");
        assert_eq!(error.expression(), *line);
    }
}

#[test]
fn the_mistake_is_pointed_to() {
    let error = Cron::from_crontab("0 9 * * 1-8").unwrap_err();
    assert_eq!((error.field(), error.column()), (Some(Field::DayOfWeek), 11));
    assert_eq!(error.with_caret(), "0 9 * * 1-8\n          ^");
    let error = Trigger::crontab("0 9 * * 1-8").unwrap_err().to_string();
    assert!(error.contains("day-of-week, column 11: 8 is not a day of the week"), "{error}");
}

//! The mistakes that only lines of crontabs can have, and their texts.

use crate::cron::field::Field;
use crate::cron::mistake::{Mistake, mistake};

const SHAPE: &str = "write `minute hour day-of-month month day-of-week`";
const COMMAND: &str = "it has a place of its own, in a job file `command` or `shell`";

pub(super) fn empty() -> Mistake {
    mistake("the expression is empty", format!("{SHAPE}, for example `0 9 * * 1-5`, or `@daily`"))
}

pub(super) fn too_few(found: usize, missing: Field) -> Mistake {
    mistake(format!("the {missing} field is missing: found {found} of 5 fields"), SHAPE)
}

pub(super) fn quartz() -> Mistake {
    mistake(
        "there are more than 5 fields: this is the Quartz dialect, whose first field is for seconds",
        "use `cron` instead of `crontab`",
    )
}

/// `has_percent`: the command contains `%`, which cron(8) turns into a new line.
pub(super) fn command(has_percent: bool) -> Mistake {
    let percent = if has_percent { ", where `%` is a character like any other" } else { "" };
    mistake("the command of the line does not belong here", format!("leave it out: {COMMAND}{percent}"))
}

pub(super) fn percent() -> Mistake {
    mistake(
        "`%` belongs to the command of a line",
        format!("leave out the command: {COMMAND}, where `%` is a character like any other"),
    )
}

pub(super) fn reboot() -> Mistake {
    mistake(
        "`@reboot` is not a time: a job belongs to all hosts, and no slot of it to the start of one",
        "let the service manager of the host start the command",
    )
}

pub(super) fn unknown_nickname(name: &str) -> Mistake {
    let hint = match name {
        "@every" => "for a period, use `fixed_rate`",
        _ => "write @yearly, @annually, @monthly, @weekly, @daily, @midnight or @hourly",
    };
    mistake(format!("`{}` is not a nickname that crontabs have", name.escape_debug()), hint)
}

/// `5/15`, which Vixie's cron ignores or refuses, and others take for a range.
pub(super) fn step_of_one(first: u16, field: Field) -> Mistake {
    let (_, max) = field.range();
    let max = if field == Field::DayOfWeek { max - 1 } else { max };
    mistake(
        "in a crontab a step goes with `*` or a range, not with one value",
        format!("write `{first}-{max}/…` for all from {first} on"),
    )
}

pub(super) fn backward(first: u16, last: u16, field: Field) -> Mistake {
    let (min, max) = if field == Field::DayOfWeek { (0, 6) } else { field.range() };
    mistake(
        format!("the range runs backwards, from {first} to {last}"),
        format!("a range of a crontab does not wrap around: write `{first}-{max},{min}-{last}`"),
    )
}

pub(super) fn no_day_of_week(number: &str) -> Mistake {
    mistake(format!("{number} is not a day of the week"), "write 0 (SUN) to 7 (SUN), or a name")
}

pub(super) fn question() -> Mistake {
    mistake("`?` is not in the dialect of crontabs", "write `*`")
}

pub(super) fn of_quartz(what: &str) -> Mistake {
    mistake(
        format!("`{what}` is not in the dialect of crontabs"),
        "the Quartz dialect has it, with a field for seconds in front: use `cron` instead of `crontab`",
    )
}

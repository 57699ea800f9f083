//! The mistakes and their texts: in the expression as a whole, in lists, ranges, steps and numbers.
//!
//! Those of `L`, `W`, `#`, `C` and names are in `letters.rs`.

use super::field::Field;

/// The reason of a mistake, and a hint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mistake {
    pub(crate) reason: String,
    pub(crate) hint: String,
}

pub(crate) fn mistake(reason: impl Into<String>, hint: impl Into<String>) -> Mistake {
    Mistake { reason: reason.into(), hint: hint.into() }
}

const SHAPE: &str = "write `seconds minutes hours day-of-month month day-of-week [year]`";

pub(crate) fn empty() -> Mistake {
    mistake("the expression is empty", format!("{SHAPE}, for example `0 0 12 * * ?`"))
}

/// `advice`: what to write instead, if it is a line of a crontab.
pub(crate) fn too_few(found: usize, missing: Field, advice: Option<String>) -> Mistake {
    let hint = match (found, advice) {
        (_, Some(advice)) => advice,
        (5, None) => {
            "a five-field crontab line needs the seconds in front (`0 …`), and Sunday is 1 here".to_owned()
        }
        _ => SHAPE.to_owned(),
    };
    mistake(format!("the {missing} field is missing: found {found} of at least 6 fields"), hint)
}

pub(crate) fn too_many() -> Mistake {
    mistake("there are more than 7 fields", format!("end after the year: {SHAPE}"))
}

pub(crate) fn nickname(name: &str) -> Mistake {
    let hint = match name.to_ascii_lowercase().as_str() {
        "@yearly" | "@annually" => "write `0 0 0 1 1 ?`",
        "@monthly" => "write `0 0 0 1 * ?`",
        "@weekly" => "write `0 0 0 ? * SUN`",
        "@daily" | "@midnight" => "write `0 0 0 * * ?`",
        "@hourly" => "write `0 0 * * * ?`",
        _ => SHAPE,
    };
    mistake(format!("nicknames such as `{name}` are not in the Quartz dialect"), hint)
}

pub(crate) fn both_days_open() -> Mistake {
    mistake("`?` is in both day fields", "write `*` in one of them for every day")
}

pub(crate) fn both_days_restricted() -> Mistake {
    mistake(
        "day-of-month and day-of-week are both restricted",
        "write `?` in one of them; for both conditions use two expressions",
    )
}

pub(crate) fn question_elsewhere() -> Mistake {
    mistake("`?` is allowed only in day-of-month and day-of-week", "write `*` for every value")
}

pub(crate) fn question_not_alone() -> Mistake {
    mistake("`?` must be the only character of its field", "write `?` alone, or leave it out")
}

pub(crate) fn unexpected(c: char) -> Mistake {
    mistake(format!("`{}` means nothing here", c.escape_debug()), "remove it")
}

pub(crate) fn trailing(text: &str) -> Mistake {
    mistake(format!("`{text}` cannot follow a value"), "remove it, or put a comma before the next value")
}

pub(crate) fn empty_item() -> Mistake {
    mistake("an entry of the list is empty", "remove the extra comma, or write a value")
}

pub(crate) fn after_star(c: char) -> Mistake {
    mistake(format!("`{c}` cannot follow `*`"), "only a step such as `*/5`, or a comma, can follow `*`")
}

pub(crate) fn no_range_start() -> Mistake {
    mistake("the range has no start", "write both ends, such as `1-5`")
}

pub(crate) fn no_range_end() -> Mistake {
    mistake("the range has no end", "write both ends, such as `1-5`")
}

pub(crate) fn second_range() -> Mistake {
    mistake("a range has only two ends", "separate several ranges with commas, such as `1-5,10-15`")
}

pub(crate) fn backward_years(from: u16, to: u16) -> Mistake {
    mistake(format!("the years run backwards, from {from} to {to}"), format!("write `{to}-{from}`"))
}

pub(crate) fn no_step() -> Mistake {
    mistake("the step after `/` is missing", "write a number of 1 or more, such as `*/5`")
}

pub(crate) fn zero_step() -> Mistake {
    mistake("a step of 0 never advances", "write a step of 1 or more")
}

pub(crate) fn large_step(step: &str, field: Field) -> Mistake {
    let max = field.max_step();
    mistake(
        format!("the step {step} is too large"),
        format!("write a step from 1 to {max}, or a single value"),
    )
}

pub(crate) fn second_step() -> Mistake {
    mistake("there can be only one step", "write `start/step` or `from-to/step`")
}

pub(crate) fn out_of_range(number: &str, field: Field) -> Mistake {
    let (min, max) = field.range();
    if field == Field::DayOfWeek {
        return weekday_out_of_range(number);
    }
    mistake(format!("{number} is out of range"), format!("write a number from {min} to {max}"))
}

fn weekday_out_of_range(number: &str) -> Mistake {
    let zero = number.bytes().all(|b| b == b'0');
    let hint = if zero { "Sunday is 1 or SUN" } else { "write 1 (SUN) to 7 (SAT), or a name" };
    mistake(format!("{number} is not a day of the week"), hint)
}

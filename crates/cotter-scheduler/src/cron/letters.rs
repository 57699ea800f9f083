//! Parsing of `L`, `W`, `#`, `C` and names, and the texts of their mistakes.

use super::cursor::{Cursor, Fault};
use super::field::Field;
use super::item::Item;
use super::mistake::{Mistake, mistake};

/// An item that begins with a letter and is not a value: `L`, `LW`, `L-3`, `L-3W`.
///
/// `None` if the letters are something else, most likely a name.
pub(super) fn leading(cursor: &mut Cursor<'_>) -> Result<Option<Item>, Fault> {
    let field = cursor.field();
    let run = cursor.letters();
    let found = match (run.as_str(), field) {
        ("L", Field::DayOfMonth) => last(cursor)?,
        ("L", Field::DayOfWeek) => saturday(cursor)?,
        ("LW", Field::DayOfMonth) => {
            cursor.skip(2);
            Item::LastWeekday(0)
        }
        ("WL", Field::DayOfMonth) => return Err(cursor.fault(reversed())),
        ("W", Field::DayOfMonth) | ("C", Field::DayOfMonth | Field::DayOfWeek) => {
            return Err(cursor.fault(alone(&run)));
        }
        ("W" | "LW" | "WL", _) => return Err(cursor.fault(elsewhere("W", field))),
        ("L" | "C", _) => return Err(cursor.fault(elsewhere(&run, field))),
        _ => return Ok(None),
    };
    cursor.end_of_item()?;
    Ok(Some(found))
}

/// `L` in day-of-week: the last day of the week, which is Saturday.
fn saturday(cursor: &mut Cursor<'_>) -> Result<Item, Fault> {
    cursor.skip(1);
    match cursor.peek() {
        Some('-') => Err(cursor.fault(offset_of_weekday())),
        _ => Ok(Item::Value(7)),
    }
}

/// `L`, `L-3`, `L-3W` in day-of-month.
fn last(cursor: &mut Cursor<'_>) -> Result<Item, Fault> {
    cursor.skip(1);
    if !cursor.eat('-') {
        return Ok(Item::Last(0));
    }
    let start = cursor.position();
    let text = cursor.digits();
    if text.is_empty() {
        return Err(cursor.fault(no_offset()));
    }
    let before =
        text.parse().ok().filter(|&n| n <= 30).ok_or_else(|| cursor.fault_at(start, large_offset(&text)))?;
    Ok(if cursor.letters() == "W" {
        cursor.skip(1);
        Item::LastWeekday(before)
    } else {
        Item::Last(before)
    })
}

/// `L`, `W`, `C` after a value; `None` if the letters are none of them.
pub(super) fn trailing(cursor: &mut Cursor<'_>, value: u16) -> Result<Option<Item>, Fault> {
    let field = cursor.field();
    let run = cursor.letters();
    let item = match (run.as_str(), field) {
        ("L", Field::DayOfWeek) => Item::LastOf(value),
        ("L", Field::DayOfMonth) => return Err(cursor.fault(last_of_number(value))),
        ("W", Field::DayOfMonth) => Item::NearestWeekday(value),
        ("C", Field::DayOfMonth | Field::DayOfWeek) => Item::Value(value),
        ("L" | "W" | "C", _) => return Err(cursor.fault(elsewhere(&run, field))),
        _ => return Ok(None),
    };
    cursor.skip(1);
    cursor.end_of_item()?;
    Ok(Some(item))
}

/// `#k` after a day of the week.
pub(super) fn nth(cursor: &mut Cursor<'_>, day: u16) -> Result<Item, Fault> {
    if cursor.field() != Field::DayOfWeek {
        return Err(cursor.fault(elsewhere("#", cursor.field())));
    }
    cursor.skip(1);
    let start = cursor.position();
    let text = cursor.digits();
    if text.is_empty() {
        return Err(cursor.fault(no_nth()));
    }
    let nth = text
        .parse()
        .ok()
        .filter(|n| (1..=5).contains(n))
        .ok_or_else(|| cursor.fault_at(start, bad_nth(&text)))?;
    cursor.end_of_item()?;
    Ok(Item::Nth(day, nth))
}

/// The number of a name. Only the three letters are consumed.
pub(super) fn name(cursor: &mut Cursor<'_>) -> Result<u16, Fault> {
    let run = cursor.letters();
    let field = cursor.field();
    if field.names().is_empty() {
        return Err(cursor.fault(no_names(&run, field)));
    }
    let (head, tail) = run.split_at(run.len().min(3));
    let number = (field.range().0..).zip(field.names()).find(|&(_, &known)| known == head);
    match number {
        Some((number, _)) if matches!(tail, "" | "L" | "W" | "C") => {
            cursor.skip(3);
            Ok(number)
        }
        Some((_, known)) => Err(cursor.fault(long_name(&run, known))),
        None => Err(cursor.fault(unknown_name(&run, field))),
    }
}

pub(super) fn on_range(what: &str) -> Mistake {
    let hint = match what {
        "W" => "list the days, such as `1W,2W,3W`",
        "C" => "leave it out: without a calendar `C` changes nothing",
        _ => "list the days, such as `2L,3L` or `2#1,3#1`",
    };
    mistake(format!("`{what}` goes with a single day, not with a range"), hint)
}

pub(super) fn range_to_last() -> Mistake {
    mistake("a range cannot end with `L`", "write the number of the last value")
}

pub(super) fn no_day_before_nth() -> Mistake {
    mistake("`#` has no day of the week before it", "write the day first, such as `6#3` for the third Friday")
}

/// Unexpected text after a complete item.
pub(super) fn after_special(c: char) -> Mistake {
    mistake(
        format!("`{}` cannot follow here", c.escape_debug()),
        "end the entry, or put a comma before the next one",
    )
}

fn elsewhere(what: &str, field: Field) -> Mistake {
    let home = match what {
        "L" | "C" => "day-of-month and day-of-week",
        "W" => "day-of-month",
        _ => "day-of-week",
    };
    mistake(format!("`{what}` means nothing in {field}"), format!("use it only in {home}"))
}

fn alone(what: &str) -> Mistake {
    mistake(format!("`{what}` has no day before it"), format!("write the day first, such as `15{what}`"))
}

fn reversed() -> Mistake {
    mistake("`WL` is the wrong way round", "write `LW` for the last weekday of the month")
}

fn offset_of_weekday() -> Mistake {
    mistake("`L-…` belongs to day-of-month", "write `6L` for the last Friday of the month")
}

fn no_offset() -> Mistake {
    mistake("the number of days after `L-` is missing", "write, for example, `L-3`")
}

fn large_offset(text: &str) -> Mistake {
    mistake(format!("no month has a day {text} days before its last one"), "write `L-0` to `L-30`")
}

fn last_of_number(day: u16) -> Mistake {
    mistake(
        format!("`{day}L` belongs to day-of-week"),
        "write `L` for the last day of the month, or move `nL` to day-of-week",
    )
}

fn no_nth() -> Mistake {
    mistake("the number after `#` is missing", "write 1 to 5, such as `6#3` for the third Friday")
}

fn bad_nth(text: &str) -> Mistake {
    mistake(format!("`#{text}` names no day of any month"), "write 1 to 5 after `#`")
}

fn no_names(run: &str, field: Field) -> Mistake {
    let (min, max) = field.range();
    mistake(format!("`{run}` means nothing in {field}"), format!("write numbers from {min} to {max}"))
}

fn long_name(run: &str, known: &str) -> Mistake {
    mistake(format!("names have three letters, `{run}` has {}", run.len()), format!("write {known}"))
}

fn unknown_name(run: &str, field: Field) -> Mistake {
    let names = field.names();
    let (first, last) = (names[0], names[names.len() - 1]);
    mistake(
        format!("`{run}` is not a name of the {field} field"),
        format!("write a name from {first} to {last}, or a number"),
    )
}

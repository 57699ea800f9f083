//! From the text of one field to items.
//!
//! Days of the week are numbered from 0 here, as they are written, and from 1 in items.

use super::mistake;
use crate::cron::cursor::{Cursor, Fault};
use crate::cron::field::Field;
use crate::cron::item::{Base, Item};
use crate::cron::mistake::{self as common, Mistake};
use crate::cron::{letters, parse};

/// What only the Quartz dialect has.
const QUARTZ: [&str; 5] = ["L", "W", "LW", "WL", "C"];

pub(super) fn list(cursor: &mut Cursor<'_>) -> Result<Vec<Item>, Fault> {
    parse::list(cursor, item)
}

fn item(cursor: &mut Cursor<'_>) -> Result<Item, Fault> {
    match cursor.peek() {
        None | Some(',') => Err(cursor.fault(common::empty_item())),
        Some('*') => parse::star(cursor),
        Some('-') => Err(cursor.fault(common::no_range_start())),
        Some(_) => with_value(cursor),
    }
}

fn with_value(cursor: &mut Cursor<'_>) -> Result<Item, Fault> {
    let first = value(cursor)?;
    let field = cursor.field();
    match cursor.peek() {
        None | Some(',') => Ok(Item::Value(numbered(field, first))),
        Some('-') => range(cursor, first),
        Some('/') => Err(cursor.fault(mistake::step_of_one(first, field))),
        Some(c) => Err(cursor.fault(after_value(cursor, c))),
    }
}

fn range(cursor: &mut Cursor<'_>, first: u16) -> Result<Item, Fault> {
    cursor.skip(1);
    if cursor.is_end_of_item() || cursor.peek() == Some('/') {
        return Err(cursor.fault(common::no_range_end()));
    }
    let (field, start) = (cursor.field(), cursor.position());
    let is_name = cursor.peek().is_some_and(|c| c.is_ascii_alphabetic());
    let last = match value(cursor)? {
        // Sunday has two numbers, and at the end of a range the name stands for the other one.
        0 if is_name && field == Field::DayOfWeek && first > 0 => 7,
        last => last,
    };
    if last < first {
        return Err(cursor.fault_at(start, mistake::backward(first, last, field)));
    }
    let (from, to) = match (field, first, last) {
        (Field::DayOfWeek, 0, 7) => (1, 7),
        _ => (numbered(field, first), numbered(field, last)),
    };
    match cursor.peek() {
        None | Some(',') => Ok(Item::Range(from, to)),
        Some('/') => parse::step(cursor, Base::Range(from, to)),
        Some('-') => Err(cursor.fault(common::second_range())),
        Some(c) => Err(cursor.fault(after_value(cursor, c))),
    }
}

/// A number or a name.
fn value(cursor: &mut Cursor<'_>) -> Result<u16, Fault> {
    let is_day = cursor.field() == Field::DayOfWeek;
    match cursor.peek() {
        Some(c) if c.is_ascii_digit() && is_day => day_of_week(cursor),
        Some(c) if c.is_ascii_digit() => parse::number(cursor),
        Some(c) if c.is_ascii_alphabetic() && !QUARTZ.contains(&cursor.letters().as_str()) => {
            letters::name(cursor).map(|number| if is_day { number - 1 } else { number })
        }
        Some(c) => Err(cursor.fault(foreign(cursor, c))),
        None => Err(cursor.fault(common::empty_item())),
    }
}

fn day_of_week(cursor: &mut Cursor<'_>) -> Result<u16, Fault> {
    let start = cursor.position();
    let text = cursor.digits();
    let number = text.parse().ok().filter(|number| (0..=7).contains(number));
    number.ok_or_else(|| cursor.fault_at(start, mistake::no_day_of_week(&text)))
}

fn after_value(cursor: &Cursor<'_>, c: char) -> Mistake {
    match cursor.letters_as_written() {
        run if !run.is_empty() && !QUARTZ.contains(&run.to_ascii_uppercase().as_str()) => {
            common::trailing(&run)
        }
        _ => foreign(cursor, c),
    }
}

/// What no field of a crontab contains.
fn foreign(cursor: &Cursor<'_>, c: char) -> Mistake {
    match c {
        '?' => mistake::question(),
        '#' => mistake::of_quartz("#"),
        '%' => mistake::percent(),
        '*' => common::trailing("*"),
        c if c.is_ascii_alphabetic() => mistake::of_quartz(&cursor.letters_as_written()),
        c => common::unexpected(c),
    }
}

/// The number in items.
fn numbered(field: Field, number: u16) -> u16 {
    if field == Field::DayOfWeek { number % 7 + 1 } else { number }
}

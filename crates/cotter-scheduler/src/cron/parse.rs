//! Parsing of text to items.

use super::cursor::{Cursor, Fault};
use super::error::CronError;
use super::field::Field;
use super::item::{Base, Days, Dialect, Item, Items};
use super::mistake::Mistake;
use super::split::split;
use super::{letters, mistake};

pub(super) fn parse(text: &str) -> Result<Items, CronError> {
    let chars: Vec<char> = text.chars().collect();
    let items = split(&chars).and_then(|mut fields| items(&mut fields));
    items.map_err(|fault| CronError::new(text, fault.field, fault.at, fault.mistake))
}

/// Parses field by field from the left, so that the first of several mistakes is reported.
fn items(fields: &mut [Cursor<'_>]) -> Result<Items, Fault> {
    let seconds = list(&mut fields[0], item)?;
    let minutes = list(&mut fields[1], item)?;
    let hours = list(&mut fields[2], item)?;
    let of_month = day(&mut fields[3])?;
    let months = list(&mut fields[4], item)?;
    let of_week = day(&mut fields[5])?;
    let years = fields.get_mut(6).map_or(Ok(vec![Item::All]), |years| list(years, item))?;
    let days = days(of_month, of_week).map_err(|mistake| fields[5].fault_at(0, mistake))?;
    Ok(Items { dialect: Dialect::Quartz, seconds, minutes, hours, days, months, years })
}

/// The contents of one day field.
enum Day {
    /// `?`
    Open,
    /// `*`
    Every,
    Some(Vec<Item>),
}

fn days(of_month: Day, of_week: Day) -> Result<Days, Mistake> {
    match (of_month, of_week) {
        (Day::Open, Day::Open) => Err(mistake::both_days_open()),
        (Day::Some(_), Day::Some(_)) => Err(mistake::both_days_restricted()),
        (Day::Some(days), _) => Ok(Days::OfMonth(days)),
        (_, Day::Some(days)) => Ok(Days::OfWeek(days)),
        _ => Ok(Days::Every),
    }
}

fn day(cursor: &mut Cursor<'_>) -> Result<Day, Fault> {
    if cursor.text() == ['?'] {
        return Ok(Day::Open);
    }
    let items = list(cursor, item)?;
    Ok(if items == [Item::All] { Day::Every } else { Day::Some(items) })
}

/// The entries of a field, each as `item` reads it.
pub(super) fn list(
    cursor: &mut Cursor<'_>,
    item: fn(&mut Cursor<'_>) -> Result<Item, Fault>,
) -> Result<Vec<Item>, Fault> {
    let mut items = Vec::new();
    loop {
        items.push(item(cursor)?);
        if !cursor.eat(',') {
            return Ok(items);
        }
    }
}

fn item(cursor: &mut Cursor<'_>) -> Result<Item, Fault> {
    match cursor.peek() {
        None | Some(',') => Err(cursor.fault(mistake::empty_item())),
        Some('*') => star(cursor),
        Some('/') => step(cursor, Base::All),
        Some('?') if cursor.field().is_day() => Err(cursor.fault(mistake::question_not_alone())),
        Some('?') => Err(cursor.fault(mistake::question_elsewhere())),
        Some('-') => Err(cursor.fault(mistake::no_range_start())),
        Some('#') => Err(cursor.fault(letters::no_day_before_nth())),
        Some(c) if c.is_ascii_alphabetic() => match letters::leading(cursor)? {
            Some(special) => Ok(special),
            None => with_value(cursor),
        },
        Some(_) => with_value(cursor),
    }
}

/// `*`, with or without a step.
pub(super) fn star(cursor: &mut Cursor<'_>) -> Result<Item, Fault> {
    cursor.skip(1);
    match cursor.peek() {
        None | Some(',') => Ok(Item::All),
        Some('/') => step(cursor, Base::All),
        Some(c) => Err(cursor.fault(mistake::after_star(c))),
    }
}

/// An item that begins with a number or a name.
fn with_value(cursor: &mut Cursor<'_>) -> Result<Item, Fault> {
    let first = value(cursor)?;
    match cursor.peek() {
        None | Some(',') => Ok(Item::Value(first)),
        Some('-') => range(cursor, first),
        Some('/') => step(cursor, Base::From(first)),
        Some('#') => letters::nth(cursor, first),
        Some(c) if c.is_ascii_alphabetic() => {
            let special = letters::trailing(cursor, first)?;
            special.ok_or_else(|| cursor.fault(mistake::trailing(&cursor.letters_as_written())))
        }
        Some(c) => Err(cursor.fault(after_value(cursor, c))),
    }
}

fn after_value(cursor: &Cursor<'_>, c: char) -> Mistake {
    match c {
        '?' if cursor.field().is_day() => mistake::question_not_alone(),
        '?' => mistake::question_elsewhere(),
        '*' => mistake::trailing("*"),
        _ => mistake::unexpected(c),
    }
}

/// A number or a name.
fn value(cursor: &mut Cursor<'_>) -> Result<u16, Fault> {
    match cursor.peek() {
        Some(c) if c.is_ascii_digit() => number(cursor),
        Some(c) if c.is_ascii_alphabetic() => letters::name(cursor),
        Some(c) => Err(cursor.fault(mistake::unexpected(c))),
        None => Err(cursor.fault(mistake::empty_item())),
    }
}

/// A number in the range of the field.
pub(super) fn number(cursor: &mut Cursor<'_>) -> Result<u16, Fault> {
    let start = cursor.position();
    let text = cursor.digits();
    let (min, max) = cursor.field().range();
    let number = text.parse().ok().filter(|number| (min..=max).contains(number));
    number.ok_or_else(|| cursor.fault_at(start, mistake::out_of_range(&text, cursor.field())))
}

fn range(cursor: &mut Cursor<'_>, first: u16) -> Result<Item, Fault> {
    cursor.skip(1);
    if cursor.is_end_of_item() || cursor.peek() == Some('/') {
        return Err(cursor.fault(mistake::no_range_end()));
    }
    if matches!(cursor.letters().as_str(), "L" | "LW") {
        return Err(cursor.fault(letters::range_to_last()));
    }
    let start = cursor.position();
    let last = value(cursor)?;
    if cursor.field() == Field::Year && last < first {
        return Err(cursor.fault_at(start, mistake::backward_years(first, last)));
    }
    match cursor.peek() {
        None | Some(',') => Ok(Item::Range(first, last)),
        Some('/') => step(cursor, Base::Range(first, last)),
        Some('-') => Err(cursor.fault(mistake::second_range())),
        Some('#') => Err(cursor.fault(letters::on_range("#"))),
        Some(c) => Err(cursor.fault(match cursor.letters().as_str() {
            run @ ("L" | "W" | "C") => letters::on_range(run),
            "" => after_value(cursor, c),
            _ => mistake::trailing(&cursor.letters_as_written()),
        })),
    }
}

/// `/n` after a base.
pub(super) fn step(cursor: &mut Cursor<'_>, base: Base) -> Result<Item, Fault> {
    cursor.skip(1);
    let start = cursor.position();
    let text = cursor.digits();
    if text.is_empty() {
        return Err(cursor.fault(mistake::no_step()));
    }
    let step = text.parse().unwrap_or(u16::MAX);
    if step == 0 {
        return Err(cursor.fault_at(start, mistake::zero_step()));
    }
    if step > cursor.field().max_step() {
        return Err(cursor.fault_at(start, mistake::large_step(&text, cursor.field())));
    }
    if cursor.peek() == Some('/') {
        return Err(cursor.fault(mistake::second_step()));
    }
    cursor.end_of_item()?;
    Ok(Item::Step(base, step))
}

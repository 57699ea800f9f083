//! The canonical form.

use std::fmt::{self, Formatter};

use super::expression::Cron;
use super::field::Field;
use super::item::{Base, Days, Dialect, Item};

impl fmt::Display for Cron {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let items = self.items();
        let every = [Item::All];
        let is_crontab = items.dialect == Dialect::Crontab;
        let open: &[Item] = if is_crontab { &every } else { &[] };
        let (of_month, of_week): (&[Item], &[Item]) = match &items.days {
            Days::Every => (&every, open),
            Days::OfMonth(days) => (days, open),
            Days::OfWeek(days) => (open, days),
            Days::Either(of_month, of_week) | Days::Both(of_month, of_week) => (of_month, of_week),
        };
        if !is_crontab {
            list(f, Field::Seconds, &items.seconds)?;
            f.write_str(" ")?;
        }
        list(f, Field::Minutes, &items.minutes)?;
        let days =
            [(Field::DayOfMonth, of_month), (Field::Month, &items.months), (Field::DayOfWeek, of_week)];
        let years = (items.years != every).then_some((Field::Year, &items.years[..]));
        for (field, items) in [(Field::Hours, &items.hours[..])].into_iter().chain(days).chain(years) {
            f.write_str(" ")?;
            list(f, field, items)?;
        }
        Ok(())
    }
}

/// One field; no items stand for `?`.
fn list(f: &mut Formatter<'_>, field: Field, items: &[Item]) -> fmt::Result {
    if items.is_empty() {
        return f.write_str("?");
    }
    for (index, &part) in items.iter().enumerate() {
        if index > 0 {
            f.write_str(",")?;
        }
        item(f, field, part)?;
    }
    Ok(())
}

fn item(f: &mut Formatter<'_>, field: Field, item: Item) -> fmt::Result {
    let name = |n: u16| Name(field, n);
    match item {
        Item::All => f.write_str("*"),
        Item::Value(a) => write!(f, "{}", name(a)),
        Item::Range(a, b) => write!(f, "{}-{}", name(a), name(b)),
        Item::Step(Base::All, n) => write!(f, "*/{n}"),
        Item::Step(Base::From(a), n) => write!(f, "{}/{n}", name(a)),
        Item::Step(Base::Range(a, b), n) => write!(f, "{}-{}/{n}", name(a), name(b)),
        Item::Last(0) => f.write_str("L"),
        Item::Last(n) => write!(f, "L-{n}"),
        Item::LastWeekday(0) => f.write_str("LW"),
        Item::LastWeekday(n) => write!(f, "L-{n}W"),
        Item::NearestWeekday(n) => write!(f, "{n}W"),
        Item::LastOf(day) => write!(f, "{}L", name(day)),
        Item::Nth(day, nth) => write!(f, "{}#{nth}", name(day)),
    }
}

/// A value by its name, where the field has names.
struct Name(Field, u16);

impl fmt::Display for Name {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Name(field, value) = *self;
        match field.names().get(usize::from(value - field.range().0)) {
            Some(name) => f.write_str(name),
            None => write!(f, "{value}"),
        }
    }
}

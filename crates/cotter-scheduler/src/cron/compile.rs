//! Compilation of items to the sets that the search uses.

use super::days::DayRule;
use super::field::Field;
use super::item::{Base, Days, Item, Items};
use super::time_set::TimeSet;
use super::walk::FIRST_YEAR;

/// An expression as sets of numbers.
#[derive(Clone, Debug)]
pub(crate) struct Compiled {
    pub(crate) clock: TimeSet,
    /// Hours that name times of day.
    pub(crate) fixed: u32,
    /// Hours that follow elapsed time; see [`Item::follows_real_time`].
    pub(crate) live: u32,
    pub(crate) days: DayRule,
    pub(crate) months: u32,
    /// Bit n stands for 1970 + n.
    years: [u64; 3],
}

impl Compiled {
    pub(crate) fn new(items: &Items) -> Self {
        let hours = |live| {
            let chosen = items.hours.iter().filter(|item| item.follows_real_time() == live);
            small_set(Field::Hours, chosen) as u32
        };
        Compiled {
            clock: TimeSet {
                seconds: small_set(Field::Seconds, &items.seconds),
                minutes: small_set(Field::Minutes, &items.minutes),
            },
            fixed: hours(false),
            live: hours(true),
            days: day_rule(&items.days),
            months: small_set(Field::Month, &items.months) as u32,
            years: years(&items.years),
        }
    }

    pub(crate) fn has_year(&self, year: i64) -> bool {
        let bit = (year - FIRST_YEAR) as usize;
        self.years.get(bit / 64).is_some_and(|word| word >> (bit % 64) & 1 == 1)
    }
}

/// The members of a field whose numbers are all below 64.
fn small_set<'a>(field: Field, items: impl IntoIterator<Item = &'a Item>) -> u64 {
    items.into_iter().flat_map(|&item| values(field, item)).fold(0, |set, value| set | 1 << value)
}

fn years(items: &[Item]) -> [u64; 3] {
    let mut set = [0; 3];
    for year in items.iter().flat_map(|&item| values(Field::Year, item)) {
        let bit = usize::from(year) - FIRST_YEAR as usize;
        set[bit / 64] |= 1 << (bit % 64);
    }
    set
}

/// The plain numbers of an item; none for `L`, `W` and `#`.
fn values(field: Field, item: Item) -> impl Iterator<Item = u16> {
    let (min, max) = field.range();
    let (first, last, step) = match item {
        Item::All => (min, max, 1),
        Item::Value(a) => (a, a, 1),
        Item::Range(a, b) => (a, b, 1),
        Item::Step(Base::All, n) => (min, max, n),
        Item::Step(Base::From(a), n) => (a, max, n),
        Item::Step(Base::Range(a, b), n) => (a, b, n),
        _ => (1, 0, 0),
    };
    let size = max - min + 1;
    let count = match step {
        0 => 0,
        _ if last >= first => (last - first) / step + 1,
        _ => (last + size - first) / step + 1,
    };
    (0..count).map(move |k| min + (first - min + k * step) % size)
}

fn day_rule(days: &Days) -> DayRule {
    let mut rule = DayRule::default();
    match days {
        Days::Every => rule.of_month = u32::MAX,
        Days::OfMonth(items) => items.iter().for_each(|&item| add_day_of_month(&mut rule, item)),
        Days::OfWeek(items) => items.iter().for_each(|&item| add_day_of_week(&mut rule, item)),
        Days::Either(of_month, of_week) | Days::Both(of_month, of_week) => {
            of_month.iter().for_each(|&item| add_day_of_month(&mut rule, item));
            of_week.iter().for_each(|&item| add_day_of_week(&mut rule, item));
            rule.needs_both = matches!(days, Days::Both(..));
        }
    }
    rule
}

fn add_day_of_month(rule: &mut DayRule, item: Item) {
    match item {
        Item::Last(before) => rule.last |= 1 << before,
        Item::LastWeekday(before) => rule.last_weekday |= 1 << before,
        Item::NearestWeekday(day) => rule.nearest |= 1 << day,
        plain => rule.of_month |= small_set(Field::DayOfMonth, [&plain]) as u32,
    }
}

fn add_day_of_week(rule: &mut DayRule, item: Item) {
    match item {
        Item::LastOf(day) => rule.last_of_week |= 1 << (day - 1),
        Item::Nth(day, nth) => rule.nth[usize::from(nth) - 1] |= 1 << (day - 1),
        plain => rule.of_week |= (small_set(Field::DayOfWeek, [&plain]) >> 1) as u32,
    }
}

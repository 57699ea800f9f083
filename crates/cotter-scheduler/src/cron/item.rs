//! One entry of a comma-separated list, as written.

/// The start and end of a stepped item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Base {
    /// `*/n`, `/n`.
    All,
    /// `a/n`: from `a` to the end of the field.
    From(u16),
    /// `a-b/n`.
    Range(u16, u16),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Item {
    /// `*`
    All,
    /// `a`
    Value(u16),
    /// `a-b`; wraps when `b < a`.
    Range(u16, u16),
    /// `…/n`
    Step(Base, u16),
    /// `L-n` in day-of-month; `L` is 0.
    Last(u16),
    /// `L-nW` in day-of-month; `LW` is 0.
    LastWeekday(u16),
    /// `nW` in day-of-month.
    NearestWeekday(u16),
    /// `nL` in day-of-week.
    LastOf(u16),
    /// `n#k` in day-of-week: the day, then which one of the month.
    Nth(u16, u16),
}

/// How the expression is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Dialect {
    /// Six or seven fields.
    Quartz,
    /// Five fields.
    Crontab,
}

/// The day fields that decide. The Quartz dialect requires `?` in one of them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Days {
    Every,
    OfMonth(Vec<Item>),
    OfWeek(Vec<Item>),
    /// A day of the month or of the week, in a crontab.
    Either(Vec<Item>, Vec<Item>),
    /// A day of the month that is also that of the week, in a crontab.
    Both(Vec<Item>, Vec<Item>),
}

/// The expression as written, without anything derived from it; used by `Eq`, `Display` and the description.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Items {
    pub(crate) dialect: Dialect,
    pub(crate) seconds: Vec<Item>,
    pub(crate) minutes: Vec<Item>,
    pub(crate) hours: Vec<Item>,
    pub(crate) days: Days,
    pub(crate) months: Vec<Item>,
    /// `[All]` when the field was left out.
    pub(crate) years: Vec<Item>,
}

impl Item {
    /// Whether the item, in the hours field, follows elapsed time through a clock change.
    ///
    /// `*`, steps, and a range over all hours are intervals; everything else names times of day.
    pub(crate) fn follows_real_time(self) -> bool {
        match self {
            Item::All | Item::Step(..) => true,
            Item::Range(a, b) => (b + 1) % 24 == a,
            _ => false,
        }
    }
}

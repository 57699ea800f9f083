//! One entry of a comma-separated list, as it was written.

/// Where a stepped item starts and ends.
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

/// Which of the two day fields decides. There is no third way: the dialect wants `?` in the other one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Days {
    Every,
    OfMonth(Vec<Item>),
    OfWeek(Vec<Item>),
}

/// All that was written, and nothing computed from it: what `Eq`, `Display` and the description look at.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Items {
    pub(crate) seconds: Vec<Item>,
    pub(crate) minutes: Vec<Item>,
    pub(crate) hours: Vec<Item>,
    pub(crate) days: Days,
    pub(crate) months: Vec<Item>,
    /// `[All]` when the field was left out.
    pub(crate) years: Vec<Item>,
}

impl Item {
    /// Whether the item, in the hours field, follows real time through a change of the clock.
    ///
    /// `*` and steps speak of intervals, and so does a range that leaves no hour out; everything else names
    /// times on the clock.
    pub(crate) fn follows_real_time(self) -> bool {
        match self {
            Item::All | Item::Step(..) => true,
            Item::Range(a, b) => (b + 1) % 24 == a,
            _ => false,
        }
    }
}

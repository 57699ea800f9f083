//! The matching times of day.

/// Sets of seconds, minutes and hours; bit n stands for n. Seconds and minutes are never empty.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TimeSet {
    pub(crate) seconds: u64,
    pub(crate) minutes: u64,
}

fn lowest(bits: u64) -> Option<u32> {
    (bits != 0).then(|| bits.trailing_zeros())
}

fn highest(bits: u64) -> Option<u32> {
    (bits != 0).then(|| 63 - bits.leading_zeros())
}

/// The lowest member that is `n` or more; `n` is below 64.
fn at_least(bits: u64, n: u32) -> Option<u32> {
    lowest(bits & (u64::MAX << n))
}

/// The highest member that is `n` or less.
fn at_most(bits: u64, n: u32) -> Option<u32> {
    highest(bits & (u64::MAX >> (63 - n)))
}

fn seconds_of(hour: u32, minute: u32, second: u32) -> u32 {
    hour * 3600 + minute * 60 + second
}

impl TimeSet {
    /// The first time of a day, in seconds from midnight.
    pub(crate) fn first(self, hours: u32) -> Option<u32> {
        let hour = lowest(u64::from(hours))?;
        Some(seconds_of(hour, lowest(self.minutes)?, lowest(self.seconds)?))
    }

    pub(crate) fn last(self, hours: u32) -> Option<u32> {
        let hour = highest(u64::from(hours))?;
        Some(seconds_of(hour, highest(self.minutes)?, highest(self.seconds)?))
    }

    /// The first time of the day at or after `time`.
    pub(crate) fn at_or_after(self, hours: u32, time: u32) -> Option<u32> {
        let hours = u64::from(hours);
        let (hour, minute, second) = (time / 3600, time / 60 % 60, time % 60);
        if hours >> hour & 1 == 1 {
            if self.minutes >> minute & 1 == 1
                && let Some(second) = at_least(self.seconds, second)
            {
                return Some(seconds_of(hour, minute, second));
            }
            if let Some(minute) = at_least(self.minutes, minute + 1) {
                return Some(seconds_of(hour, minute, lowest(self.seconds)?));
            }
        }
        let hour = at_least(hours, hour + 1)?;
        Some(seconds_of(hour, lowest(self.minutes)?, lowest(self.seconds)?))
    }

    /// The last time of the day at or before `time`.
    pub(crate) fn at_or_before(self, hours: u32, time: u32) -> Option<u32> {
        let hours = u64::from(hours);
        let (hour, minute, second) = (time / 3600, time / 60 % 60, time % 60);
        if hours >> hour & 1 == 1 {
            if self.minutes >> minute & 1 == 1
                && let Some(second) = at_most(self.seconds, second)
            {
                return Some(seconds_of(hour, minute, second));
            }
            if let Some(minute) = minute.checked_sub(1).and_then(|m| at_most(self.minutes, m)) {
                return Some(seconds_of(hour, minute, highest(self.seconds)?));
            }
        }
        let hour = at_most(hours, hour.checked_sub(1)?)?;
        Some(seconds_of(hour, highest(self.minutes)?, highest(self.seconds)?))
    }
}

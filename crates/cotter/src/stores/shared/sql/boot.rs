//! From which boot of a machine the moments in a row count, and whether that one is over.
//!
//! The machine has a name for each of its boots. But a container may have been given a name of its own, and shares the clock
//! with processes outside all the same. Between two that do not know each other's name for the boot, the clock decides: it
//! never goes back, so a row that was written in its future was written before the machine was started again. After that
//! moment such a row counts, though it may be an old one: until its leases have ended, which are not longer for that.
//!
//! The time of day at the boot would say no more. Whoever sets the clock changes it.

use crate::Moment;
use std::time::Duration;

/// The boot that a reader or writer of a row lives in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Boot<'a> {
    /// Empty where it has no name that others know.
    pub(crate) id: &'a str,
    /// A moment after the row was read, and before the next one is written.
    pub(crate) at: Moment,
}

/// The clocks of two processors may differ by a little.
const TOLERANCE: Duration = Duration::from_secs(1);

impl Boot<'_> {
    /// For moments of a server's clock, which does not begin anew.
    #[cfg(any(test, feature = "mysql"))]
    pub(crate) const OF_NO_MACHINE: Self = Self { id: "", at: Moment::NEVER };

    /// What is written as the moment of a row; zero for none.
    pub(super) fn written(self) -> u64 {
        if self.at == Moment::NEVER { 0 } else { self.at.as_nanos() }
    }

    /// Whether the machine was started again since the row was written, as far as can be told.
    pub(super) fn is_after(self, id: &str, written: u64) -> bool {
        if id.is_empty() || self.id.is_empty() {
            return Moment::from_nanos(written) > self.at + TOLERANCE;
        }
        self.id != id
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: u64 = 3_600_000_000_000;

    fn boot(id: &str, nanos: u64) -> Boot<'_> {
        Boot { id, at: Moment::from_nanos(nanos) }
    }

    #[test]
    fn a_boot_that_both_have_a_name_for_is_told_by_the_name() {
        for written in [0, HOUR, 2 * HOUR] {
            assert!(!boot("a", HOUR).is_after("a", written));
            assert!(boot("a", HOUR).is_after("b", written));
        }
    }

    #[test]
    fn without_a_common_name_the_clock_tells_and_in_doubt_the_row_counts() {
        for (reader, writer) in [("", "a"), ("a", ""), ("", "")] {
            let after = |written| boot(reader, HOUR).is_after(writer, written);
            assert!(after(2 * HOUR) && after(HOUR + 2_000_000_000));
            assert!(!after(HOUR + 1_000_000) && !after(HOUR) && !after(1) && !after(0));
        }
    }

    #[test]
    fn rows_of_a_server_have_no_boot() {
        assert!(!Boot::OF_NO_MACHINE.is_after("", 0) && Boot::OF_NO_MACHINE.written() == 0);
    }
}

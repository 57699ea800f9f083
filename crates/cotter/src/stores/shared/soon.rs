//! What is done for most locks only if they are held for a while, for all of them together.

use std::mem::{replace, take};
use std::time::Duration;

/// Between a grant and what is only worth its price for a lock that is held for longer. Most are released before.
pub(crate) const SOON: Duration = Duration::from_millis(25);

/// Things to be done when they have been here for a whole period, so after one or two.
#[derive(Debug)]
pub(crate) struct Soon<T> {
    young: Vec<T>,
    ripe: Vec<T>,
    is_running: bool,
}

impl<T> Default for Soon<T> {
    fn default() -> Self {
        Self { young: Vec::new(), ripe: Vec::new(), is_running: false }
    }
}

impl<T> Soon<T> {
    /// Adds one. Returns true if nobody is waiting to do any: whoever is told so has to call [`due`](Self::due) after each period,
    /// until it is over.
    pub(crate) fn add(&mut self, thing: T) -> bool {
        self.young.push(thing);
        !replace(&mut self.is_running, true)
    }

    /// At the end of a period: what is to be done now, and whether there is another period.
    pub(crate) fn due(&mut self) -> (Vec<T>, bool) {
        let due = replace(&mut self.ripe, take(&mut self.young));
        self.is_running = !self.ripe.is_empty();
        (due, self.is_running)
    }

    /// Whether somebody will call [`due`](Self::due).
    #[cfg(feature = "etcd")]
    pub(crate) fn is_running(&self) -> bool {
        self.is_running
    }

    /// Has nothing done that was added.
    #[cfg(feature = "etcd")]
    pub(crate) fn clear(&mut self) {
        (self.young, self.ripe) = (Vec::new(), Vec::new());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_added_is_not_due_before_a_whole_period() {
        let mut soon = Soon::default();
        assert!(soon.add(1));
        assert!(!soon.add(2));
        assert_eq!(soon.due(), (vec![], true), "violation[watched-at-once]: less than a period has passed");
        assert!(!soon.add(3));
        assert_eq!(soon.due(), (vec![1, 2], true));
        assert_eq!(soon.due(), (vec![3], false));
        assert!(soon.add(4));
    }
}

//! Iterators over the instants of an expression.

use std::iter::FusedIterator;

use super::{Cron, UnixTime, Zone};

/// The instants after a point in time, earliest first; created by [`Cron::after`].
#[derive(Clone, Debug)]
pub struct After<'a> {
    pub(super) cron: &'a Cron,
    pub(super) zone: &'a Zone,
    pub(super) at: Option<UnixTime>,
}

/// The instants before a point in time, latest first; created by [`Cron::before`].
#[derive(Clone, Debug)]
pub struct Before<'a> {
    pub(super) cron: &'a Cron,
    pub(super) zone: &'a Zone,
    pub(super) at: Option<UnixTime>,
}

impl Iterator for After<'_> {
    type Item = UnixTime;

    fn next(&mut self) -> Option<UnixTime> {
        self.at = self.cron.next(self.at?, self.zone);
        self.at
    }
}

impl Iterator for Before<'_> {
    type Item = UnixTime;

    fn next(&mut self) -> Option<UnixTime> {
        self.at = self.cron.previous(self.at?, self.zone);
        self.at
    }
}

impl FusedIterator for After<'_> {}
impl FusedIterator for Before<'_> {}

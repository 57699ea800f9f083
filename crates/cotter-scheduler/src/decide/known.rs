//! The slots of the definition in effect that can be told afterwards: they do not depend on runs.

use super::next_on_grid;
use super::planner::TICK;
use super::rate::last_on_grid;
use crate::notes::State;
use crate::trigger::Kind;
use crate::{Trigger, UnixTime};
use std::time::Duration;

/// How far back a slot is searched for: across the longest time between two days of a calendar, 29 February and the next one.
const MAX_SEARCH: Duration = Duration::from_secs(8 * 366 * 86_400);

/// The slots of a job, without jitter, also those before the job was first started if its trigger has such.
pub(crate) struct KnownSlots {
    trigger: Trigger,
    /// Where the slots of a fixed rate begin.
    anchor: UnixTime,
}

impl KnownSlots {
    /// `None` for a trigger whose slots depend on runs, or that has none.
    pub(crate) fn of(state: &State) -> Option<Self> {
        let trigger = Trigger::parse(&state.trigger)?;
        let is_known = !matches!(trigger.0, Kind::Delay(_) | Kind::Demand);
        is_known.then(|| Self { trigger, anchor: state.anchor + state.initial_delay })
    }

    pub(crate) fn has(&self, at: UnixTime) -> bool {
        self.at_or_after(at) == Some(at)
    }

    pub(crate) fn at_or_after(&self, at: UnixTime) -> Option<UnixTime> {
        self.after(at - TICK)
    }

    /// The first slot after an instant.
    fn after(&self, at: UnixTime) -> Option<UnixTime> {
        let calendar = &self.trigger.1;
        match self.trigger.0 {
            Kind::Rate(period) => {
                let at = calendar.from.map_or(at, |from| at.max(from - TICK));
                Some(next_on_grid(self.anchor, period, at)).filter(|slot| calendar.covers(*slot))
            }
            _ => self.trigger.next_after(at),
        }
    }

    /// The last slot before an instant.
    pub(crate) fn before(&self, at: UnixTime) -> Option<UnixTime> {
        let calendar = &self.trigger.1;
        let at = calendar.until.map_or(at, |until| at.min(until + TICK));
        let slot = match &self.trigger.0 {
            Kind::Cron(cron, zone) => calendar.previous(cron, zone, at, at - MAX_SEARCH),
            Kind::Rate(period) => last_on_grid(self.anchor, *period, at),
            Kind::Once(slot) => Some(*slot).filter(|slot| *slot < at),
            Kind::Delay(_) | Kind::Demand => None,
        };
        slot.filter(|slot| calendar.covers(*slot))
    }

    /// The slots from one instant on and before another.
    pub(crate) fn between(&self, from: UnixTime, to: UnixTime) -> impl Iterator<Item = UnixTime> {
        std::iter::successors(self.at_or_after(from), |slot| self.after(*slot))
            .take_while(move |slot| *slot < to)
    }
}

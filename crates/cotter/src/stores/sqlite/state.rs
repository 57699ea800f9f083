//! The waiters of this host.

use crate::Moment;
use crate::stores::shared::lock_state::{self, Waiter};
use crate::stores::shared::sql::{AskText, Asks, keeps_place};
use crate::sys::process;

pub(super) type Lock = lock_state::Lock<Asking>;

/// A waiter that asks again and again, often from another process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Asking {
    /// It keeps its place until then.
    until: Moment,
    /// It loses it earlier if its process has ended, or does not run.
    process: process::Id,
}

impl Asking {
    pub(super) fn at(now: Moment) -> Self {
        Self { until: keeps_place(now), process: process::Id::own() }
    }
}

impl Waiter for Asking {
    const IS_SERVED: bool = false;

    fn wake(&self) {}

    fn settle(&mut self, now: Moment) {
        self.until = self.until.min(keeps_place(now));
    }

    fn is_listening(&self, now: Moment) -> bool {
        self.until > now && !self.process.is_gone() && !self.process.is_stopped()
    }
}

impl Asks for Asking {
    fn write(&self) -> AskText {
        let process::Id { pid, namespace } = self.process;
        AskText { asks_until: self.until.as_nanos(), pid: Some(pid), pid_namespace: Some(namespace) }
    }

    fn read(text: AskText) -> Self {
        // A namespace of 0 is not known: such a process counts as running.
        let process = process::Id { pid: text.pid.unwrap_or(0), namespace: text.pid_namespace.unwrap_or(0) };
        Self { until: Moment::from_nanos(text.asks_until), process }
    }
}

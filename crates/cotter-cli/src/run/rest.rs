//! `--at-least`: others are kept out for longer than the command runs.

use super::args::Run;
use super::{give_back, part};
use crate::command::End;
use crate::command::signals::Signals;
use crate::duration::words;
use crate::output::Console;
use cotter::{Client, Guard, Lost};
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// What is left of the time.
pub(super) struct Rest {
    left: Duration,
    /// The store keeps the lease without us.
    is_kept: bool,
}

impl Rest {
    /// Only after a command that ended by itself.
    pub(super) fn of(args: &Run, since: Instant, client: &Client, end: &End) -> Self {
        let wanted = args.at_least.filter(|_| matches!(end, End::Exited { .. }));
        let left = wanted.unwrap_or_default().saturating_sub(since.elapsed());
        Self { left, is_kept: client.info().capabilities.keep_for }
    }

    /// Gives the lock back when the time is over, or leaves it to the store until then. A signal ends it sooner.
    pub(super) async fn give_back(
        self,
        guard: Guard,
        signals: &mut Signals,
        console: &Console,
    ) -> Option<Lost> {
        if self.left.is_zero() {
            return give_back(guard, console).await;
        }
        if !self.is_kept {
            let name = guard.name();
            console.remark(&format!("{name:?} stays held for {} more (--at-least)", words(self.left)));
            tokio::select! {
                () = sleep(self.left) => {}
                _ = signals.stop() => {}
                _ = guard.lost() => {}
            }
            return give_back(guard, console).await;
        }
        part(guard, |guard| guard.leave_for(self.left), "left behind", console).await
    }
}

//! `--at-least`: keeps the lock for longer than the command runs.

use super::args::Run;
use super::{release, release_with};
use crate::command::Outcome;
use crate::command::signals::Signals;
use cotter::{Client, Guard, Lost};
use cotter_console::Console;
use cotter_console::duration::words;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// The remaining time for which the lock has to be kept.
pub(super) struct KeepFor {
    left: Duration,
    /// Whether the store keeps the lease without this process.
    is_kept: bool,
}

impl KeepFor {
    /// Applies only after a command that ended by itself.
    pub(super) fn of(args: &Run, since: Instant, client: &Client, end: &Outcome) -> Self {
        let wanted = args.at_least.filter(|_| matches!(end, Outcome::Exited { .. }));
        let left = wanted.unwrap_or_default().saturating_sub(since.elapsed());
        Self { left, is_kept: client.info().capabilities.keep_for }
    }

    /// Releases the lock when the time has passed, or leaves it to the store until then. A signal releases it sooner.
    pub(super) async fn release(
        self,
        guard: Guard,
        signals: &mut Signals,
        console: &Console,
    ) -> Option<Lost> {
        if self.left.is_zero() {
            return release(guard, console).await;
        }
        if !self.is_kept {
            let name = guard.name();
            console.remark(&format!("{name:?} stays held for another {} (--at-least)", words(self.left)));
            tokio::select! {
                () = sleep(self.left) => {}
                _ = signals.stop() => {}
                _ = guard.lost() => {}
            }
            return release(guard, console).await;
        }
        release_with(guard, |guard| guard.keep_for(self.left), "left to its lease", console).await
    }
}

//! Until the command has ended, or has to.

use super::boot;
use super::child::Child;
use super::end::End;
use super::grace::Grace;
use super::wire::News;
use crate::exit::Exit;
use crate::output::Failure;
use cotter::{ExpirySignal, Guard};
use std::future::pending;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;
use tokio::time::{Instant, sleep_until};

/// How often the shim hears of a new deadline, as a part of what is left of the lease.
const PART: u32 = 8;
/// The shim lets cotter go first: it knows why the command has to stop.
const AFTER_COTTER: Duration = Duration::from_millis(20);

/// A lease that a store gave for a start only is made whole before the command starts, which would have to stop at once
/// otherwise.
pub(crate) async fn make_whole(guard: &Guard, ttl: Duration) -> Result<(), cotter::Error> {
    match guard.remaining() {
        Some(left) if left < ttl / 2 => guard.extend(ttl).await,
        _ => Ok(()),
    }
}

/// What has to be watched while a command runs.
pub(crate) struct Watch<'a> {
    guard: &'a Guard,
    grace: Grace,
    /// Since when, and for how long at most.
    max_hold: Option<(Instant, Duration)>,
    /// The same on the boot clock.
    longest: Option<u64>,
    expiring: ExpirySignal,
    /// When to tell the shim of a new deadline.
    tell: Option<Instant>,
}

/// What has happened.
pub(crate) enum Step {
    /// The command has ended or has to be stopped.
    End(End),
    /// It was stopped by this signal, as Ctrl-Z does.
    Stopped(i32),
}

impl<'a> Watch<'a> {
    /// From now on the lock is held.
    pub(crate) fn new(guard: &'a Guard, grace: Grace, max_hold: Option<Duration>) -> Self {
        let expiring = guard.expiring(grace.margin());
        let longest = max_hold.map(boot::after);
        let max_hold = max_hold.map(|longest| (Instant::now(), longest));
        Self { guard, grace, max_hold, longest, expiring, tell: Some(Instant::now()) }
    }

    pub(super) fn guard(&self) -> &'a Guard {
        self.guard
    }

    pub(super) fn grace(&self) -> Grace {
        self.grace
    }

    /// The next that matters. Cancel safe.
    pub(crate) async fn next(&mut self, child: &mut Child) -> Result<Step, Failure> {
        let longest = self.max_hold.map(|(since, longest)| since + longest);
        loop {
            let end = tokio::select! {
                biased;
                news = child.news() => match news? {
                    News::Ended { status, left } => End::Exited { status: ExitStatus::from_raw(status), left },
                    News::Stopped(signal) => return Ok(Step::Stopped(signal)),
                    News::Overdue => self.overdue(),
                    News::Gone => End::NoShim(None),
                    News::Over | News::Started { .. } | News::Failed(_) => {
                        return Err(Failure::new(Exit::Protocol, "the shim says what makes no sense"));
                    }
                },
                told = &mut self.expiring => told.map_or_else(End::Lost, End::Expiring),
                () = at(longest) => self.overdue(),
                () = at(self.tell) => {
                    self.tell(child);
                    continue;
                }
            };
            return Ok(Step::End(end));
        }
    }

    /// Tells the shim when to stop by itself, and notes when to tell it again.
    fn tell(&mut self, child: &Child) {
        if let Some((term, kill)) = self.limit() {
            child.tell_end(term, kill);
        }
        let left = self.guard.remaining();
        self.tell = left.map(|left| Instant::now() + (left / PART).max(Duration::from_millis(5)));
    }

    /// When the shim is to stop the command by itself, and when to KILL it then.
    pub(super) fn limit(&self) -> Option<(u64, u64)> {
        let nanos = |d: Duration| u64::try_from(d.as_nanos()).unwrap_or(u64::MAX);
        let (grace, margin) = (nanos(self.grace.whole()), nanos(self.grace.margin()));
        let deadline = self.guard.remaining().map(boot::after);
        // KILL has to be carried out before the deadline too.
        let by_lease = deadline.map(|end| (end.saturating_sub(margin), end.saturating_sub(margin - grace)));
        let by_choice = self.longest.map(|end| (end, end.saturating_add(grace)));
        let (term, kill) = by_lease.into_iter().chain(by_choice).min()?;
        Some((term.saturating_add(nanos(AFTER_COTTER).min(grace / 10)), kill))
    }

    fn overdue(&self) -> End {
        match self.max_hold {
            Some((since, longest)) if since.elapsed() >= longest => End::MaxHold(longest),
            _ => End::Overdue,
        }
    }
}

async fn at(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => pending().await,
    }
}

//! Waiting until the command has ended or has to be stopped.

use super::child::Child;
use super::grace::Grace;
use super::outcome::Outcome;
use super::wire::ShimEvent;
use cotter::{ExpirySignal, Guard};
use cotter_console::{Exit, Failure, boot_clock};
use std::future::pending;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;
use tokio::time::{Instant, sleep_until};

/// How often the shim is sent a new limit in the time that is left until the one it has: more and more often, so that it does not
/// act on one that a renewal has moved just before.
const UPDATES: u32 = 8;
const MIN_UPDATE: Duration = Duration::from_millis(5);
/// The shim acts later than cotter, which knows why the command has to stop.
const SHIM_DELAY: Duration = Duration::from_millis(20);

/// Extends a short initial lease before the command is started, which would have to stop at once otherwise.
pub(crate) async fn restore_lease(guard: &Guard, ttl: Duration) -> Result<(), cotter::Error> {
    match guard.remaining() {
        Some(left) if left < ttl / 2 => guard.extend(ttl).await,
        _ => Ok(()),
    }
}

/// The conditions to watch while a command runs.
pub(crate) struct Watch<'a> {
    guard: &'a Guard,
    grace: Grace,
    /// The start, and the maximum duration.
    max_hold: Option<(Instant, Duration)>,
    /// The end of `max_hold` on the boot clock.
    longest: Option<u64>,
    expiring: ExpirySignal,
    /// When to send the shim a new deadline.
    next_update: Option<Instant>,
}

/// An event of a watched command.
pub(crate) enum Step {
    /// The command has ended or has to be stopped.
    Ended(Outcome),
    /// It was stopped by this signal, as Ctrl-Z does.
    Stopped(i32),
}

impl<'a> Watch<'a> {
    /// Starts watching; the lock is held from now on.
    pub(crate) fn new(guard: &'a Guard, grace: Grace, max_hold: Option<Duration>) -> Self {
        let expiring = guard.expiring(grace.margin());
        let longest = max_hold.map(boot_clock::after);
        let max_hold = max_hold.map(|longest| (Instant::now(), longest));
        Self { guard, grace, max_hold, longest, expiring, next_update: Some(Instant::now()) }
    }

    pub(super) fn guard(&self) -> &'a Guard {
        self.guard
    }

    pub(super) fn grace(&self) -> Grace {
        self.grace
    }

    /// The next event. Cancel safe.
    pub(crate) async fn next(&mut self, child: &mut Child) -> Result<Step, Failure> {
        let longest = self.max_hold.map(|(since, longest)| since + longest);
        loop {
            let end = tokio::select! {
                biased;
                news = child.news() => match news? {
                    ShimEvent::Ended { status, left } => Outcome::Exited { status: ExitStatus::from_raw(status), left },
                    ShimEvent::Stopped(signal) => return Ok(Step::Stopped(signal)),
                    ShimEvent::Overdue => self.overdue().await,
                    ShimEvent::Gone => Outcome::NoShim(None),
                    ShimEvent::Over | ShimEvent::Started { .. } | ShimEvent::Failed(_) => {
                        return Err(Failure::new(Exit::Protocol, "the shim sent an invalid message"));
                    }
                },
                expiry = &mut self.expiring => expiry.map_or_else(Outcome::Lost, Outcome::Expiring),
                () = at(longest) => self.overdue().await,
                () = at(self.next_update) => {
                    self.update_shim(child);
                    continue;
                }
            };
            return Ok(Step::Ended(end));
        }
    }

    /// Sends the shim the current limit, and schedules the next update.
    fn update_shim(&mut self, child: &Child) {
        let limit = self.limit();
        if let Some((term, kill)) = limit {
            child.set_limit(term, kill);
        }
        self.next_update = limit.map(|(term, _)| Instant::now() + until_update(boot_clock::left(term)));
    }

    /// When the shim has to stop the command by itself, and when it has to send KILL.
    pub(super) fn limit(&self) -> Option<(u64, u64)> {
        let nanos = |d: Duration| u64::try_from(d.as_nanos()).unwrap_or(u64::MAX);
        let (grace, margin) = (nanos(self.grace.whole()), nanos(self.grace.margin()));
        let deadline = self.guard.remaining().map(boot_clock::after);
        // KILL has to take effect before the deadline too.
        let by_lease = deadline.map(|end| (end.saturating_sub(margin), end.saturating_sub(margin - grace)));
        let by_choice = self.longest.map(|end| (end, end.saturating_add(grace)));
        let (term, kill) = by_lease.into_iter().chain(by_choice).min()?;
        Some((term.saturating_add(nanos(SHIM_DELAY).min(grace / 10)), kill))
    }

    async fn overdue(&mut self) -> Outcome {
        if let Some((since, longest)) = self.max_hold
            && since.elapsed() >= longest
        {
            return Outcome::MaxHold(longest);
        }
        let expiry = tokio::select! {
            biased;
            expiry = &mut self.expiring => Some(expiry),
            () = std::future::ready(()) => None,
        };
        match expiry {
            // The shim was faster, on a busy host. A cotter that was paused would have found less time left.
            Some(Ok(expiring)) if is_prompt(expiring.left, self.grace) => Outcome::Expiring(expiring),
            _ => Outcome::Overdue,
        }
    }
}

/// The time until the next limit is sent, when this much is left until the last one.
fn until_update(left: Duration) -> Duration {
    (left / UPDATES).max(MIN_UPDATE)
}

/// Whether this is the time left of a lock just when its command has to be stopped.
fn is_prompt(left: Duration, grace: Grace) -> bool {
    left > grace.margin() / 2
}

async fn at(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cotter_testkit::history::{Kind, demand};

    /// The lock of a store that was away until just before.
    #[test]
    fn a_renewal_shortly_before_the_limit_reaches_the_shim() {
        let (mut left, mut updates) = (Duration::from_secs(20), 0);
        while left > MIN_UPDATE {
            let next = until_update(left);
            assert!(
                next <= left / 8 || next == MIN_UPDATE,
                "violation[needless-loss]: {left:?} left, next in {next:?}"
            );
            left -= next;
            updates += 1;
        }
        assert!(updates < 100, "{updates} updates in 20 s");
    }

    /// Of a ttl of 8 s: it has to be stopped 2.4 s before the end.
    #[test]
    fn a_shim_that_was_faster_is_no_pause() {
        let grace = Grace::of(Duration::from_secs(8), None).unwrap();
        for (left, prompt) in [(2_400, true), (2_380, true), (1_000, false), (0, false)] {
            let says = is_prompt(Duration::from_millis(left), grace);
            demand(
                says == prompt,
                Kind::Untrue,
                format!("a pause is to blame with {left} ms left: {}", !says),
            );
        }
    }
}

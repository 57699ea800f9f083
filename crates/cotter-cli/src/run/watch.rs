//! Until the command has ended, or has to.

use super::boot;
use super::child::Child;
use super::job::Job;
use super::loss::Grace;
use super::signals::Signals;
use super::wire::News;
use crate::exit::Exit;
use crate::output::{Console, Failure};
use cotter::{Guard, LossSignal, Lost};
use std::future::pending;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;
use tokio::time::{Instant, sleep, sleep_until};

/// How often the shim hears of a new deadline, as a part of what is left of the lease.
const PART: u32 = 8;
/// The shim lets cotter go first: it knows why the command has to stop.
const AFTER_COTTER: Duration = Duration::from_millis(20);

/// How the command came to its end.
pub(super) enum End {
    Exited {
        status: ExitStatus,
        left: usize,
    },
    Lost(Lost),
    MaxHold(Duration),
    /// The shim stopped it, because cotter had not run for too long.
    Overdue,
    /// The shim was killed. The command's own status, when it is known.
    NoShim(Option<ExitStatus>),
}

/// What has to be watched while the command runs.
pub(super) struct Watch<'a> {
    pub(super) guard: &'a Guard,
    pub(super) grace: Grace,
    console: &'a Console,
    /// Since when, and for how long at most.
    max_hold: Option<(Instant, Duration)>,
    /// The same on the boot clock.
    longest: Option<u64>,
    expiring: LossSignal,
}

impl<'a> Watch<'a> {
    /// From now on the lock is held.
    pub(super) fn new(
        guard: &'a Guard,
        grace: Grace,
        max_hold: Option<Duration>,
        console: &'a Console,
    ) -> Self {
        let expiring = guard.expiring(grace.margin());
        let longest = max_hold.map(boot::after);
        Self { guard, grace, console, max_hold: max_hold.map(|d| (Instant::now(), d)), longest, expiring }
    }

    /// Until the command has ended or has to be stopped.
    pub(super) async fn until_the_end(
        &mut self,
        child: &mut Child,
        signals: &mut Signals,
    ) -> Result<End, Failure> {
        let mut job = Job::of(child)?;
        let mut tell = self.tell(child);
        let max_hold = self.max_hold;
        let longest = async move {
            let Some((since, longest)) = max_hold else { return pending().await };
            sleep(longest.saturating_sub(since.elapsed())).await;
            longest
        };
        tokio::pin!(longest);
        loop {
            tokio::select! {
                biased;
                news = child.news() => match news? {
                    News::Ended { status, left } => {
                        return Ok(End::Exited { status: ExitStatus::from_raw(status), left });
                    }
                    News::Stopped(signal) => job.stopped(signal, child, self.guard, self.console).await,
                    News::Overdue => return Ok(self.overdue()),
                    News::Gone => return Ok(End::NoShim(None)),
                    News::Over | News::Started { .. } | News::Failed(_) => {
                        return Err(Failure::new(Exit::Protocol, "the shim says what makes no sense"));
                    }
                },
                lost = &mut self.expiring => return Ok(End::Lost(lost)),
                longest = &mut longest => return Ok(End::MaxHold(longest)),
                signal = signals.next() => child.pass_on(signal),
                () = job.asked_to_stop() => child.pass_on(rustix::process::Signal::TSTP),
                () = at(tell) => tell = self.tell(child),
            }
        }
    }

    /// Tells the shim when to stop by itself; answers when to tell it again.
    fn tell(&self, child: &Child) -> Option<Instant> {
        if let Some((term, kill)) = self.limit() {
            child.tell_end(term, kill);
        }
        self.guard.remaining().map(|left| Instant::now() + (left / PART).max(Duration::from_millis(5)))
    }

    /// When the shim is to stop the command by itself, and when to KILL it then.
    pub(super) fn limit(&self) -> Option<(u64, u64)> {
        let nanos = |d: Duration| u64::try_from(d.as_nanos()).unwrap_or(u64::MAX);
        let (grace, margin) = (nanos(self.grace.whole()), nanos(self.grace.margin()));
        let deadline = self.guard.remaining().map(boot::after);
        let by_lease = deadline.map(|kill| (kill.saturating_sub(margin), kill));
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

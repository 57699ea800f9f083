//! What the service manager is told, where there is one that wants to know.

use sd_notify::NotifyState;
use std::time::Duration;
use tokio::time::{Interval, MissedTickBehavior, interval};

/// How it finds us; commands have no business with it.
pub(super) const VARIABLES: &[&str] = &["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"];

pub(super) fn ready() {
    tell(&[NotifyState::Ready]);
}

/// To be followed by [`ready`].
pub(super) fn reloading() {
    match NotifyState::monotonic_usec_now() {
        Ok(now) => tell(&[NotifyState::Reloading, now]),
        Err(_) => tell(&[NotifyState::Reloading]),
    }
}

pub(super) fn stopping() {
    tell(&[NotifyState::Stopping]);
}

/// Says that we live, twice as often as is asked for. Told from the loop that everything depends on.
pub(super) struct Watchdog(Option<Interval>);

impl Watchdog {
    pub(super) fn start() -> Self {
        let every = sd_notify::watchdog_enabled().map(|within| (within / 2).max(Duration::from_millis(1)));
        Self(every.map(|every| {
            let mut ticks = interval(every);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            ticks
        }))
    }

    /// When it is time; never, when nobody asks. Cancel safe.
    pub(super) async fn due(&mut self) {
        match &mut self.0 {
            Some(ticks) => drop(ticks.tick().await),
            None => std::future::pending().await,
        }
    }

    pub(super) fn alive(&self) {
        tell(&[NotifyState::Watchdog]);
    }
}

/// A manager that does not listen is no reason to stop.
fn tell(state: &[NotifyState<'_>]) {
    let _ = sd_notify::notify(state);
}

//! Notifications to the service manager.

use sd_notify::NotifyState;
use std::time::Duration;
use tokio::time::{Interval, MissedTickBehavior, interval};

/// The environment variables of the service manager, which are not passed on to commands.
pub(super) const VARIABLES: &[&str] = &["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"];

pub(super) fn ready() {
    notify(&[NotifyState::Ready]);
}

/// Has to be followed by [`ready`].
pub(super) fn reloading() {
    match NotifyState::monotonic_usec_now() {
        Ok(now) => notify(&[NotifyState::Reloading, now]),
        Err(_) => notify(&[NotifyState::Reloading]),
    }
}

pub(super) fn stopping() {
    notify(&[NotifyState::Stopping]);
}

/// Watchdog notifications, at twice the requested rate, from the main loop.
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

    /// Completes when a notification is due; never, if the watchdog is off. Cancel safe.
    pub(super) async fn due(&mut self) {
        match &mut self.0 {
            Some(ticks) => drop(ticks.tick().await),
            None => std::future::pending().await,
        }
    }

    pub(super) fn alive(&self) {
        notify(&[NotifyState::Watchdog]);
    }
}

/// Sends a notification, ignoring errors.
fn notify(state: &[NotifyState<'_>]) {
    let _ = sd_notify::notify(state);
}

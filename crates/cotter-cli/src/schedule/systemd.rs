//! Notifications to the service manager.

use sd_notify::NotifyState;
use std::time::Duration;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};

/// The environment variables of the service manager, which are not passed on to commands.
pub(super) const VARIABLES: &[&str] = &["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"];

pub(super) fn ready() {
    notify(&[NotifyState::Ready, NotifyState::Status("scheduling")]);
}

/// Ready, because signals are handled, but without a store so far: it may take longer than the service manager waits for a
/// start.
pub(super) fn waiting() {
    notify(&[NotifyState::Ready, NotifyState::Status("waiting for the store")]);
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
            let mut ticks = interval_at(Instant::now() + every, every);
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

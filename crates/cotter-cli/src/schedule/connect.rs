//! Connecting to a store that may be started later than the scheduler.

use super::event_log::EventLog;
use super::systemd::{self, Watchdog};
use crate::command::signals::Signals;
use crate::exit::Exit;
use crate::output::{Console, Failure};
use crate::store::Chosen;
use cotter::Client;
use rustix::process::Signal;
use std::time::Duration;
use tokio::time::sleep;

/// Bounds of the pause between two attempts.
const MIN_PAUSE: Duration = Duration::from_millis(100);
const MAX_PAUSE: Duration = Duration::from_secs(5);

/// The result of connecting.
pub(super) enum Connected {
    /// A client, and whether the file has to be read again.
    Client(Client, bool),
    /// A signal requested to stop.
    Stopped,
}

/// Connects, for as long as it takes the store to answer.
pub(super) async fn connect(
    chosen: &Chosen,
    label: &str,
    signals: &mut Signals,
    log: &EventLog,
    console: &Console,
) -> Result<Connected, Failure> {
    let (mut watchdog, mut reload) = (Watchdog::start(), false);
    let mut connecting = Box::pin(attempts(chosen, label, log, console));
    loop {
        tokio::select! {
            biased;
            signal = signals.next() => match signal {
                Signal::HUP => reload = true,
                _ => return Ok(Connected::Stopped),
            },
            client = &mut connecting => return Ok(Connected::Client(client?, reload)),
            () = watchdog.due() => watchdog.alive(),
        }
    }
}

async fn attempts(
    chosen: &Chosen,
    label: &str,
    log: &EventLog,
    console: &Console,
) -> Result<Client, Failure> {
    let (mut pause, mut is_down) = (MIN_PAUSE, false);
    loop {
        let failure = match chosen.connect(Client::builder().label(label), console).await {
            Ok(client) => {
                if is_down {
                    log.store_back();
                }
                return Ok(client);
            }
            Err(failure) if failure.exit == Exit::Unreachable => failure,
            Err(failure) => return Err(failure),
        };
        if !std::mem::replace(&mut is_down, true) {
            log.store_down(&failure.message);
            systemd::waiting();
        }
        sleep(pause).await;
        pause = (pause * 2).min(MAX_PAUSE);
    }
}

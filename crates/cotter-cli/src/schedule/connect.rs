//! Connecting to a store that may be started later than the scheduler.

use super::event_log::EventLog;
use super::systemd::{self, Watchdog};
use crate::command::signals::Signals;
use crate::store::Chosen;
use cotter::{Builder, Client};
use cotter_console::{Console, Failure};
use rustix::process::Signal;

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
    builder: impl Fn() -> Builder,
    signals: &mut Signals,
    log: &EventLog,
    console: &Console,
) -> Result<Connected, Failure> {
    let (mut watchdog, mut reload) = (Watchdog::start(), false);
    let mut connecting = Box::pin(attempts(chosen, builder, log, console));
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
    builder: impl Fn() -> Builder,
    log: &EventLog,
    console: &Console,
) -> Result<Client, Failure> {
    let mut is_down = false;
    let down = |failure: &Failure| {
        is_down = true;
        log.store_down(&failure.message);
        systemd::waiting();
    };
    let client = chosen.reach(builder, None, down, console).await?;
    if is_down {
        log.store_back();
    }
    Ok(client)
}

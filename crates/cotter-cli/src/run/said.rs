//! What is said while one waits: for whom, and that the store does not answer.

use super::args::Run;
use super::held::{inside, is_held_above};
use crate::duration::{since, words};
use crate::live::Live;
use crate::output::{Console, Failure, clean};
use cotter::{Client, ErrorKind, Name, Record};
use std::future::pending;
use std::io::Write;
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout};

/// A shorter wait is not worth a line.
const SILENT: Duration = Duration::from_millis(300);
/// How often the line is brought up to date.
const UPDATE: Duration = Duration::from_secs(1);
/// How often the store is asked where nobody reads the line, to hear that it does not answer.
const LOOK: Duration = Duration::from_secs(5);
/// A store that has said nothing for so long does not answer.
const DEAF: Duration = Duration::from_secs(5);

/// Looks at a lock while this process waits for it.
///
/// On a terminal it says for whom in one line that is kept up to date, with `--verbose` once, and otherwise nothing:
/// what merely waits is no news for the one who gets the mails of cron.
pub(super) struct Watcher<'a> {
    client: &'a Client,
    name: &'a Name,
    console: &'a Console,
    live: Live,
    /// The line was said, where it is said once.
    is_said: bool,
    /// Since when the store says nothing.
    silent: Option<Instant>,
    is_silence_told: bool,
}

impl<'a> Watcher<'a> {
    pub(super) fn new(client: &'a Client, name: &'a Name, console: &'a Console) -> Self {
        let live = Live::new(!console.quiet);
        let is_said = !console.verbose;
        Self { client, name, console, live, is_said, silent: None, is_silence_told: false }
    }

    /// Ends only when there is no use in waiting.
    pub(super) async fn watch(mut self) -> Failure {
        sleep(SILENT).await;
        loop {
            let begin = Instant::now();
            match timeout(UPDATE, self.client.holder(self.name)).await {
                Ok(Ok(record)) => {
                    (self.silent, self.is_silence_told) = (None, false);
                    if record.as_ref().is_some_and(is_held_above) {
                        return inside(self.client, self.name);
                    }
                    self.say(record.as_ref());
                }
                Ok(Err(error)) if error.kind() == ErrorKind::Unavailable => self.tell_silence(Some(&error)),
                Ok(Err(_)) => self.say(None),
                Err(_) => self.tell_silence(None),
            }
            if !self.live.is_on() && self.client.info().capabilities.immediate {
                return pending().await;
            }
            let pause = if self.live.is_on() { UPDATE } else { LOOK };
            sleep(pause.saturating_sub(begin.elapsed())).await;
        }
    }

    fn say(&mut self, record: Option<&Record>) {
        let text = of_waiting(self.name, record);
        if self.live.is_on() {
            self.live.say(&text);
        } else if !self.is_said {
            let _ = writeln!(self.console.err(), "{text}");
            self.is_said = true;
        }
    }

    /// Once, until it answers again. What it has said at last is not true any more.
    fn tell_silence(&mut self, error: Option<&cotter::Error>) {
        let since = *self.silent.get_or_insert_with(Instant::now);
        let is_long = error.is_some() || since.elapsed() >= DEAF;
        if is_long && !self.is_silence_told {
            let why = error.map_or_else(|| "it is silent".to_owned(), ToString::to_string);
            self.live.clear();
            self.console.warning(&format!("waiting for {}: the store does not answer: {why}", self.name));
            self.is_silence_told = true;
        }
        self.say(None);
    }
}

fn of_waiting(name: &Name, record: Option<&Record>) -> String {
    let held = record.and_then(held_by).map(|by| format!(", held by {by}")).unwrap_or_default();
    let waiters = record.and_then(|r| r.waiters).filter(|n| *n > 0);
    let waiting = waiters.map(|n| format!(", {n} waiting")).unwrap_or_default();
    format!("waiting for {}{held}{waiting}", clean(name))
}

/// Why it was not waited for any longer.
pub(super) fn of_busy(args: &Run, name: &Name, record: Option<&Record>) -> String {
    let held = record.and_then(held_by).map_or_else(|| "is busy".to_owned(), |by| format!("is held by {by}"));
    match args.wait {
        Some(wait) => format!("{name} {held}; gave up after {}", words(wait)),
        None => format!("{name} {held}; gave up"),
    }
}

fn held_by(record: &Record) -> Option<String> {
    let holder = record.holders.first()?;
    let label = clean(&holder.label);
    let held = match holder.since {
        Some(then) => format!("{label} for {}", words(since(then))),
        None => label,
    };
    Some(match record.holders.len() - 1 {
        0 => held,
        1 => format!("{held} and one other"),
        others => format!("{held} and {others} others"),
    })
}

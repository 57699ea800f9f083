//! The waiting line: who holds the lock, and whether the store answers.

use super::held::{inside, is_held_above};
use cotter::{Client, ErrorKind, Name, Record};
use cotter_console::duration::{since, words};
use cotter_console::lock::{self, Permits};
use cotter_console::{Console, Failure, StatusLine, clean};
use std::future::pending;
use std::io::Write;
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout};

/// The delay before the first line; shorter waits are silent.
const FIRST_LINE_AFTER: Duration = Duration::from_millis(300);
/// The interval between updates of the line.
const UPDATE_INTERVAL: Duration = Duration::from_secs(1);
/// The interval between checks of the store if there is no line to update.
const PROBE_INTERVAL: Duration = Duration::from_secs(5);
/// The time without an answer after which the store is reported.
const SILENCE_TIMEOUT: Duration = Duration::from_secs(5);

/// Watches a lock while this process waits for it.
///
/// On a terminal it shows the holder in a status line, with `--verbose` it prints the line once, and otherwise nothing: a
/// wait is not worth a mail from cron.
pub(super) struct WaitMonitor<'a> {
    client: &'a Client,
    name: &'a Name,
    console: &'a Console,
    live: StatusLine,
    /// Whether the line was printed, if it is printed once.
    is_printed: bool,
    /// Since when the store does not answer.
    silent: Option<Instant>,
    /// Whether the store refused at the last look, too: a place in its queue that was lost is taken again at once, and is not
    /// worth a line. Begins as true, so that a refusal at the first look is reported.
    is_in_trouble: bool,
    /// Whether it was reported why the store does not serve.
    is_reported: bool,
    queue: Queue,
}

/// The own position in the store's queue.
///
/// Stores report only the number of waiters. With this process among them, it is an upper bound of the position, and so is
/// every earlier number, because nobody is overtaken.
#[derive(Default)]
struct Queue {
    position: Option<u32>,
    checked: Option<Instant>,
}

impl Queue {
    fn update(&mut self, waiters: Option<u32>, now: Instant) {
        // A process that was stopped may have lost its place.
        let is_recent = self.checked.is_some_and(|checked| now - checked < 2 * UPDATE_INTERVAL);
        let before = self.position.filter(|_| is_recent);
        self.position = waiters.filter(|n| *n > 0).map(|n| before.map_or(n, |position| position.min(n)));
        self.checked = Some(now);
    }

    fn text(&self) -> String {
        match self.position {
            None => String::new(),
            Some(1) => ", next in queue".to_owned(),
            Some(n) => format!(", at most {} in queue", ordinal(n)),
        }
    }
}

fn ordinal(n: u32) -> String {
    let ending = match (n % 10, n % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{n}{ending}")
}

impl<'a> WaitMonitor<'a> {
    pub(super) fn new(client: &'a Client, name: &'a Name, console: &'a Console) -> Self {
        let live = StatusLine::new(!console.quiet);
        let is_printed = !console.verbose;
        Self {
            client,
            name,
            console,
            live,
            is_printed,
            silent: None,
            is_in_trouble: true,
            is_reported: false,
            queue: Queue::default(),
        }
    }

    /// Returns only if waiting is of no use.
    pub(super) async fn watch(mut self) -> Failure {
        sleep(FIRST_LINE_AFTER).await;
        loop {
            let begin = Instant::now();
            match timeout(UPDATE_INTERVAL, self.client.holder(self.name)).await {
                Ok(Ok(record)) => {
                    self.silent = None;
                    if record.as_ref().is_some_and(is_held_above) {
                        return inside(self.client, self.name);
                    }
                    self.answered(record.as_ref());
                }
                Ok(Err(error)) if matches!(error.kind(), ErrorKind::Unavailable | ErrorKind::NoQuorum) => {
                    self.report_silence(Some(&error))
                }
                Ok(Err(_)) => self.answered(None),
                Err(_) => self.report_silence(None),
            }
            if !self.live.is_on() && self.client.info().capabilities.immediate {
                return pending().await;
            }
            let pause = if self.live.is_on() { UPDATE_INTERVAL } else { PROBE_INTERVAL };
            sleep(pause.saturating_sub(begin.elapsed())).await;
        }
    }

    /// The store answers whoever reads. It may refuse those who wait all the same: its disk is full, say.
    fn answered(&mut self, record: Option<&Record>) {
        let trouble = self.client.wait_error(self.name);
        let was_in_trouble = std::mem::replace(&mut self.is_in_trouble, trouble.is_some());
        match trouble {
            Some(error) if was_in_trouble => self.report(&error.to_string()),
            Some(_) => {}
            None => self.is_reported = false,
        }
        self.show(record);
    }

    fn show(&mut self, record: Option<&Record>) {
        self.queue.update(record.and_then(|record| record.waiters), Instant::now());
        let taken = record.and_then(permits).map(|taken| format!(", {taken}")).unwrap_or_default();
        let held = record.and_then(held_by).map(|by| format!(", held by {by}")).unwrap_or_default();
        let text = format!("waiting for {}{taken}{held}{}", clean(self.name), self.queue.text());
        if self.live.is_on() {
            self.live.say(&text);
        } else if !self.is_printed {
            let _ = writeln!(self.console.err(), "{text}");
            self.is_printed = true;
        }
    }

    /// Reports that the store does not answer. The last known holder is no longer shown.
    fn report_silence(&mut self, error: Option<&cotter::Error>) {
        let since = *self.silent.get_or_insert_with(Instant::now);
        let is_long = error.is_some() || since.elapsed() >= SILENCE_TIMEOUT;
        if is_long {
            let why = error.map_or_else(|| "no reply".to_owned(), ToString::to_string);
            self.report(&format!("the store does not answer: {why}"));
        }
        self.show(None);
    }

    /// Reports once, until the store serves again, why it does not.
    fn report(&mut self, why: &str) {
        if !std::mem::replace(&mut self.is_reported, true) {
            self.live.clear();
            self.console.warning(&format!("waiting for {}: {why}", self.name));
        }
    }
}

/// The message about giving up.
pub(super) fn busy_message(wait: Option<Duration>, name: &Name, record: Option<&Record>) -> String {
    let held = record.and_then(held_by).map_or_else(|| "is busy".to_owned(), |by| format!("is held by {by}"));
    let held = record.and_then(permits).map(|taken| format!("{held} ({taken})")).unwrap_or(held);
    match wait {
        Some(wait) => format!("{name} {held}; gave up after {}", words(wait)),
        None => format!("{name} {held}; gave up"),
    }
}

/// How many permits are taken; `None` for a lock.
fn permits(record: &Record) -> Option<String> {
    lock::permits(record).map(|Permits { taken, limit }| format!("{taken} of {limit} permits taken"))
}

fn held_by(record: &Record) -> Option<String> {
    let holder = record.holders.first()?;
    let label = clean(&holder.label);
    let held = match holder.since {
        Some(then) => format!("{label} for {}", words(since(then))),
        None => label,
    };
    Some(match record.holders.len() as u64 + record.unlisted - 1 {
        0 => held,
        1 => format!("{held} and one other"),
        others => format!("{held} and {others} others"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_never_grows_unless_this_process_was_stopped() {
        let (mut queue, mut now) = (Queue::default(), Instant::now());
        assert_eq!(queue.text(), "");
        for (waiters, text) in [
            (Some(3), ", at most 3rd in queue"),
            (Some(5), ", at most 3rd in queue"),
            (Some(1), ", next in queue"),
            (Some(12), ", next in queue"),
        ] {
            queue.update(waiters, now);
            assert_eq!(queue.text(), text);
            now += UPDATE_INTERVAL;
        }
        queue.update(Some(12), now + 2 * UPDATE_INTERVAL);
        assert_eq!(queue.text(), ", at most 12th in queue");
        queue.update(None, now);
        assert_eq!(queue.text(), "");
    }
}

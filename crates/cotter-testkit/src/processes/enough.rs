//! Whether the history has enough in it for the run to be over.

use super::report::after_kill;
use crate::history::{Happened, History, Kind, Tail, Violation, check_void, violation};
use std::io;
use std::path::Path;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Follows the history, a little at a time: to read all of it when the run may be over would take a processor away from those
/// whose times are measured.
#[derive(Debug)]
pub(super) struct Judge {
    /// Away while it is judged, in a thread of its own: who is stopped has to go on meanwhile.
    log: Option<Tail>,
    judging: Option<JoinHandle<(Tail, bool)>>,
    began: Instant,
    next: Instant,
    next_read: Instant,
}

/// Between two looks at the files.
const READ_EVERY: Duration = Duration::from_millis(50);
/// Between two judgments; more where one takes long.
const PAUSE: Duration = Duration::from_millis(250);

impl Judge {
    pub(super) fn new(log: &Path) -> Self {
        let now = Instant::now();
        Self { log: Some(Tail::of(log)), judging: None, began: now, next: now, next_read: now }
    }

    /// Reads what has been added to the history.
    pub(super) fn step(&mut self) -> io::Result<()> {
        match &mut self.log {
            Some(log) if Instant::now() >= self.next_read => {
                log.read_on()?;
                self.next_read = Instant::now() + READ_EVERY;
            }
            _ => {}
        }
        Ok(())
    }

    /// Whether it was enough at the last judgment, asked again and again.
    pub(super) fn is_enough(&mut self, happened: Happened, after_kills: usize) -> bool {
        if let Some(judging) = self.judging.take_if(|judging| judging.is_finished()) {
            let (log, enough) = judging.join().expect("a history can be judged");
            self.log = Some(log);
            self.next = Instant::now() + PAUSE + self.began.elapsed() * 3;
            return enough;
        }
        if let Some(log) = self.log.take_if(|_| Instant::now() >= self.next) {
            self.began = Instant::now();
            self.judging = Some(thread::spawn(move || {
                let history = History::of(log.events().to_vec());
                (log, lacks(&history, happened, after_kills).is_empty())
            }));
        }
        false
    }
}

/// What a run lacks that is over.
pub(super) fn lacks(history: &History, happened: Happened, after_kills: usize) -> Vec<Violation> {
    let mut found = check_void(history, happened);
    let timed = after_kill(history).len();
    if timed < after_kills {
        let text = format!("{timed} holds after a kill could be timed, {after_kills} are needed");
        found.push(violation(Kind::Void, text));
    }
    found
}

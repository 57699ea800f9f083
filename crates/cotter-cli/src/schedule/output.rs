//! The output of a command, line by line.
//!
//! A run ends when its output has been read, so that no line of it follows the end of the run in the log.

use super::event_log::{EventLog, Origin};
use crate::command::Streams;
use cotter_scheduler::Run;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::unix::pipe::Receiver;
use tokio::task::JoinSet;
use tokio::time::timeout;

/// Longer lines are divided.
const MAX_LINE: usize = 16 * 1024;
/// How long the end of a run waits for the rest of the output: a process elsewhere may have been given the pipe, or whoever
/// reads the log does not.
const MAX_WAIT: Duration = Duration::from_secs(1);

/// Reads what a command prints.
pub(super) struct Reading {
    origin: Arc<Origin>,
    log: Arc<EventLog>,
    tasks: JoinSet<()>,
    tail: Arc<Mutex<Tail>>,
}

/// The end of the output, of both streams.
#[derive(Default)]
struct Tail(Vec<u8>);

impl Tail {
    fn push(&mut self, line: &[u8]) {
        self.0.extend_from_slice(line);
        self.0.push(b'\n');
        self.0.drain(..self.0.len().saturating_sub(Run::MAX_OUTPUT));
    }
}

impl Reading {
    /// Makes the streams for a command, and reads them.
    pub(super) fn start(origin: &Arc<Origin>, log: &Arc<EventLog>) -> io::Result<(Self, Streams)> {
        let (out, stdout) = pipe()?;
        let (err, stderr) = pipe()?;
        Ok((Self::of(out, err, origin, log), Streams::new(stdout, stderr)))
    }

    fn of(out: Receiver, err: Receiver, origin: &Arc<Origin>, log: &Arc<EventLog>) -> Self {
        let (mut tasks, tail) = (JoinSet::new(), Arc::<Mutex<Tail>>::default());
        for (stream, is_error) in [(out, false), (err, true)] {
            tasks.spawn(read(stream, is_error, origin.clone(), tail.clone(), log.clone()));
        }
        Self { origin: origin.clone(), log: log.clone(), tasks, tail }
    }

    /// Waits until all is read, but not for long; what is left is read later, unless that applies to too many runs already.
    /// Returns the end of the output.
    pub(super) async fn finish(mut self) -> String {
        let all = async { while self.tasks.join_next().await.is_some() {} };
        if timeout(MAX_WAIT, all).await.is_err() {
            self.finish_later().await;
        }
        String::from_utf8_lossy(&lock(&self.tail).0).into_owned()
    }

    async fn finish_later(&mut self) {
        let Some(place) = self.log.late_reader() else {
            let why = "the rest of the output is dropped: that of many earlier runs has not been written yet";
            self.log.warning(Some(&self.origin.job), why);
            return self.tasks.shutdown().await;
        };
        let mut tasks = std::mem::take(&mut self.tasks);
        tokio::spawn(async move {
            while tasks.join_next().await.is_some() {}
            drop(place);
        });
    }
}

fn pipe() -> io::Result<(Receiver, OwnedFd)> {
    let (ours, theirs) = io::pipe()?;
    Ok((Receiver::from_owned_fd(ours.into())?, theirs.into()))
}

fn lock(tail: &Mutex<Tail>) -> MutexGuard<'_, Tail> {
    tail.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn read(
    stream: Receiver,
    is_error: bool,
    origin: Arc<Origin>,
    tail: Arc<Mutex<Tail>>,
    log: Arc<EventLog>,
) {
    let mut stream = BufReader::new(stream);
    let mut line = Vec::new();
    loop {
        let Ok(bytes) = stream.fill_buf().await else { return };
        let end = bytes.iter().position(|byte| *byte == b'\n');
        let is_over = bytes.is_empty();
        let taken = end.map_or(bytes.len(), |at| at + 1).min(MAX_LINE - line.len());
        line.extend_from_slice(&bytes[..taken]);
        stream.consume(taken);
        let is_whole = line.last() == Some(&b'\n');
        if is_whole {
            line.pop();
        }
        if is_whole || line.len() == MAX_LINE || is_over && !line.is_empty() {
            lock(&tail).push(&line);
            log.output(&origin, is_error, std::mem::take(&mut line)).await;
        }
        if is_over {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cotter_console::Console;
    use cotter_scheduler::UnixTime;
    use std::io::Write;

    /// Another process has been given the output of each run. Of many runs, the last ones are not waited for.
    #[tokio::test]
    async fn runs_that_have_ended_do_not_use_up_all_descriptors() {
        let console = Console::new(clap::ColorChoice::Never, true, false, false);
        let log = Arc::new(EventLog::start(&console).unwrap());
        let origin = Arc::new(Origin { job: "a".to_owned(), slot: UnixTime::EPOCH, key: None });
        let start = || {
            let ((out, stdout), (err, stderr)) = (pipe().unwrap(), pipe().unwrap());
            (Reading::of(out, err, &origin, &log), [stdout, stderr].map(std::fs::File::from))
        };
        let is_read = |mut theirs: &std::fs::File| theirs.write_all(b"x").is_ok();
        let (runs, mut outputs): (Vec<_>, Vec<_>) = (0..64).map(|_| start()).unzip();
        let mut ends: JoinSet<String> = runs.into_iter().map(Reading::finish).collect();
        while ends.join_next().await.is_some() {}
        assert!(outputs.iter().flatten().all(is_read), "the output of a run was dropped");

        let (one_more, theirs) = start();
        one_more.finish().await;
        assert!(!theirs.iter().any(is_read), "somebody still reads");

        // A place becomes free when the output of a run has ended.
        outputs.pop();
        while log.late_reader().is_none() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let (one_more, theirs) = start();
        one_more.finish().await;
        assert!(theirs.iter().all(is_read));
    }
}

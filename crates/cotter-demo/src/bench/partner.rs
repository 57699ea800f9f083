//! The other processes: they acquire the lock on request and report when they held it.

use super::race;
use super::scratch::Scratch;
use crate::sibling;
use crate::store::Store;
use cotter::{Client, Mutex};
use cotter_console::{Console, Exit, Failure, boot_clock};
use std::io::Write;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout};

pub(super) struct Partner {
    child: Child,
    requests: ChildStdin,
    answers: Lines<BufReader<ChildStdout>>,
}

impl Partner {
    pub(super) async fn start(scratch: &Scratch) -> Result<Self, Failure> {
        let mut command = sibling::command(&["bench", "--partner", &scratch.name(0)], &scratch.url)?;
        let mut child = sibling::spawn(&mut command)?;
        let (Some(requests), Some(answers)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(Failure::new(Exit::CannotExecute, "cannot communicate with the other process"));
        };
        let mut partner = Self { child, requests, answers: BufReader::new(answers).lines() };
        partner.answer().await?;
        Ok(partner)
    }

    /// Returns when the process is about to request the lock.
    pub(super) async fn ask(&mut self) -> Result<(), Failure> {
        self.requests.write_all(b"\n").await?;
        self.answer().await.map(drop)
    }

    /// The time at which it acquired the lock.
    pub(super) async fn holds_since(&mut self) -> Result<u64, Failure> {
        let answer = self.answer().await?;
        answer.parse().map_err(|_| Failure::new(Exit::Protocol, "the other process sent an invalid message"))
    }

    /// Makes it contend for the lock for this time.
    pub(super) async fn race(&mut self, time: Duration) -> Result<(), Failure> {
        Ok(self.requests.write_all(format!("{}\n", time.as_nanos()).as_bytes()).await?)
    }

    /// The lines of its report.
    pub(super) async fn lines(&mut self) -> Result<Vec<String>, Failure> {
        let mut lines = Vec::new();
        loop {
            match self.answer().await? {
                end if end.is_empty() => return Ok(lines),
                line => lines.push(line),
            }
        }
    }

    async fn answer(&mut self) -> Result<String, Failure> {
        match self.answers.next_line().await? {
            Some(line) => Ok(line),
            // It has printed the reason.
            None => Err(Failure::new(Exit::of_child(self.child.wait().await?), "")),
        }
    }

    pub(super) async fn stop(mut self) {
        drop(self.requests);
        let _ = self.child.wait().await;
    }
}

/// The main function of the other process.
pub(super) async fn play(name: &str, store: &dyn Store, console: &Console) -> Result<Exit, Failure> {
    let client = store.connect(Client::builder(), console).await?;
    let mutex = client.mutex(name);
    let say = |text: &str| -> Result<(), Failure> {
        let mut out = console.out();
        writeln!(out, "{text}")?;
        Ok(out.flush()?)
    };
    say("ready")?;
    let mut requests = BufReader::new(tokio::io::stdin()).lines();
    while let Some(request) = requests.next_line().await? {
        match request.parse() {
            Ok(nanos) => {
                let log = race::run(mutex.clone(), race::TASKS, Duration::from_nanos(nanos)).await?;
                say(&(log.lines().join("\n") + "\n"))?;
            }
            Err(_) => take(&mutex, &say).await?,
        }
    }
    // Release the last lock: otherwise others would wait for the end of its lease.
    client.close(Duration::from_secs(5)).await?;
    Ok(Exit::Done)
}

async fn take(mutex: &Mutex, say: &impl Fn(&str) -> Result<(), Failure>) -> Result<(), Failure> {
    say("asking")?;
    let guard = mutex.lock().await?;
    let since = boot_clock::now();
    guard.finish().await?;
    say(&since.to_string())
}

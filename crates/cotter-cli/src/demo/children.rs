//! The processes of a demonstration, from the start to the last of them. Each says when it is ready, starts at a word,
//! and stops when its standard input ends: so they stop too when the one that started them is killed.

use crate::exit::Exit;
use crate::output::{Console, Failure};
use crate::sibling;
use crate::stops::Stops;
use crate::store::Chosen;
use std::io::{self, Read, Write};
use std::ops::ControlFlow;
use std::thread;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, Command};
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};

/// How long they may take to give back what they hold, before they are killed.
const STOP: Duration = Duration::from_secs(3);

pub(super) struct Children {
    processes: Vec<Child>,
    reins: Vec<ChildStdin>,
}

/// A process that plays `part` on the same store.
pub(super) fn player(part: &str, store: &Chosen) -> Result<Command, Failure> {
    sibling::command(&["demo", part], store.secret_url())
}

/// Refuses `count` of them, as `option` asks for, on a store that each would have for itself.
pub(super) fn check_shared(store: &Chosen, option: &str, count: u32) -> Result<(), Failure> {
    if count > 1 && store.public_url().starts_with("memory:") {
        let why = format!("memory: is not shared between processes: give {option} 1 or another store");
        return Err(Failure::usage(why));
    }
    Ok(())
}

impl Children {
    /// Starts them, and waits until all are ready.
    pub(super) async fn start(commands: Vec<Command>) -> Result<Self, Failure> {
        let mut children = Self { processes: Vec::new(), reins: Vec::new() };
        for mut command in commands {
            let mut child = sibling::spawn(&mut command)?;
            children.reins.extend(child.stdin.take());
            children.processes.push(child);
        }
        for child in &mut children.processes {
            ready(child).await?;
        }
        Ok(children)
    }

    /// Says the word.
    pub(super) async fn begin(&mut self) -> Result<(), Failure> {
        for rein in &mut self.reins {
            rein.write_all(b"\n").await?;
        }
        Ok(())
    }

    /// Looks at what they have done `every` so often, until `look` has seen enough or all have ended; then stops those
    /// that are left. Answers the signal that ended it before.
    pub(super) async fn attend(
        mut self,
        stops: &mut Stops,
        every: Duration,
        mut look: impl FnMut() -> Result<ControlFlow<()>, Failure>,
    ) -> Result<Option<u8>, Failure> {
        let signal = loop {
            tokio::select! {
                biased;
                signal = stops.next() => break Some(signal),
                () = self.ended() => break None,
                () = sleep(every) => if look()?.is_break() {
                    break None;
                },
            }
        };
        self.stop().await;
        Ok(signal)
    }

    /// When all have ended. Can be asked again.
    async fn ended(&mut self) {
        for child in &mut self.processes {
            // What one that failed left undone is for the audit to find.
            let _ = child.wait().await;
        }
    }

    /// Ends all of them, whatever they do; what they have begun they may finish first.
    async fn stop(mut self) {
        self.reins.clear();
        let _ = timeout(STOP, self.ended()).await;
        for child in &mut self.processes {
            let _ = child.kill().await;
        }
    }
}

/// Waits for its word. One that fails first has said why.
async fn ready(child: &mut Child) -> Result<(), Failure> {
    let mut line = String::new();
    if let Some(stdout) = child.stdout.take() {
        BufReader::new(stdout).read_line(&mut line).await?;
    }
    if line.is_empty() {
        return Err(Failure::new(Exit::of_child(child.wait().await?), ""));
    }
    Ok(())
}

/// In such a process: says that it is ready and waits for the word. What is answered comes when it has to stop; `None`
/// when it has to at once.
pub(super) fn wait_for_the_word(console: &Console) -> Result<Option<oneshot::Receiver<()>>, Failure> {
    writeln!(console.out(), "ready")?;
    // Nothing else runs here yet that this could keep waiting.
    if io::stdin().read(&mut [0])? == 0 {
        return Ok(None);
    }
    let (send, receive) = oneshot::channel();
    thread::spawn(move || {
        while let Ok(1..) = io::stdin().read(&mut [0]) {}
        let _ = send.send(());
    });
    Ok(Some(receive))
}

//! The processes of a demonstration. Each reports when it is ready, starts on a signal on its standard input, and stops when
//! that is closed, so that all of them stop when the process that started them is killed.

use crate::server_url::ServerUrl;
use crate::sibling;
use crate::store::Store;
use cotter_console::{Console, Exit, Failure, StopSignals};
use std::io::{self, Read, Write};
use std::ops::ControlFlow;
use std::thread;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, Command};
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};

/// The time to release locks before they are killed.
const STOP_TIMEOUT: Duration = Duration::from_secs(3);

pub(super) struct Children {
    processes: Vec<Child>,
    inputs: Vec<ChildStdin>,
}

/// A process with the role `part` on the same store.
pub(super) fn demo_process(part: &str, store: &dyn Store) -> Result<Command, Failure> {
    sibling::command(&["demo", part], store.secret_url())
}

/// Refuses more than one process, as requested by `option`, on a store that is not shared between processes.
pub(super) fn check_shared(store: &dyn Store, option: &str, count: u32) -> Result<(), Failure> {
    if count > 1 && ServerUrl::of(store.secret_url()).scheme == "memory" {
        let why = format!("memory: is not shared between processes: use {option} 1 or another store");
        return Err(Failure::usage(why));
    }
    Ok(())
}

impl Children {
    /// Starts the processes, and waits until all are ready.
    pub(super) async fn start(commands: Vec<Command>) -> Result<Self, Failure> {
        let mut children = Self { processes: Vec::new(), inputs: Vec::new() };
        for mut command in commands {
            let mut child = sibling::spawn(&mut command)?;
            children.inputs.extend(child.stdin.take());
            children.processes.push(child);
        }
        for child in &mut children.processes {
            ready(child).await?;
        }
        Ok(children)
    }

    /// Signals the start.
    pub(super) async fn begin(&mut self) -> Result<(), Failure> {
        for input in &mut self.inputs {
            input.write_all(b"\n").await?;
        }
        Ok(())
    }

    /// Calls `look` at an interval until it returns `Break` or all processes have ended, then stops those that are left. Returns
    /// the signal that interrupted it, if any.
    pub(super) async fn watch(
        mut self,
        stops: &mut StopSignals,
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

    /// Completes when all have ended. Can be called again.
    async fn ended(&mut self) {
        for child in &mut self.processes {
            // The audit finds what a failed process left undone.
            let _ = child.wait().await;
        }
    }

    /// Ends all processes; they may finish their current work first.
    async fn stop(mut self) {
        self.inputs.clear();
        let _ = timeout(STOP_TIMEOUT, self.ended()).await;
        for child in &mut self.processes {
            let _ = child.kill().await;
        }
    }
}

/// Waits until a process is ready. A process that failed has printed the reason.
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

/// In such a process: reports that it is ready and waits for the start. The returned channel completes when the process has to
/// stop; `None` if it has to stop at once.
pub(super) fn wait_for_start(console: &Console) -> Result<Option<oneshot::Receiver<()>>, Failure> {
    writeln!(console.out(), "ready")?;
    // Blocking is fine: nothing else is running yet.
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

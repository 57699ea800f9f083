//! The processes of a demonstration, from the start to the last of them. Each says when it is ready, starts at a word,
//! and stops when its standard input ends: so they stop too when the one that started them is killed.

use crate::exit::Exit;
use crate::output::{Console, Failure};
use crate::store::Chosen;
use std::env;
use std::io::{self, Read, Write};
use std::process::Stdio;
use std::thread;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, Command};
use tokio::sync::oneshot;
use tokio::time::timeout;

/// How long they may take to give back what they hold, before they are killed.
const STOP: Duration = Duration::from_secs(3);

pub(super) struct Children {
    processes: Vec<Child>,
    reins: Vec<ChildStdin>,
}

/// A process of this program that plays `part` on the same store.
///
/// Everybody can read the arguments, so the URL, which may have a password, goes by the environment.
pub(super) fn player(part: &str, store: &Chosen) -> Result<Command, Failure> {
    let program = env::current_exe()
        .map_err(|e| Failure::new(Exit::CannotExecute, format!("cannot find cotter: {e}")))?;
    let mut command = Command::new(program);
    command.args(["--quiet", "demo", part]);
    command.env("COTTER_URL", store.secret_url()).env_remove("COTTER_STORE");
    // Out of reach of the terminal's Ctrl-C: they are stopped from here, and give back what they hold.
    command.process_group(0).kill_on_drop(true);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    Ok(command)
}

impl Children {
    /// Starts them, and waits until all are ready.
    pub(super) async fn start(commands: Vec<Command>) -> Result<Self, Failure> {
        let mut children = Self { processes: Vec::new(), reins: Vec::new() };
        for mut command in commands {
            let child = command.spawn();
            let mut child = child
                .map_err(|e| Failure::new(Exit::CannotExecute, format!("cannot start a process: {e}")))?;
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

    /// When all have ended. Can be asked again.
    pub(super) async fn ended(&mut self) {
        for child in &mut self.processes {
            // What one that failed left undone is for the audit to find.
            let _ = child.wait().await;
        }
    }

    /// Ends all of them, whatever they do.
    pub(super) async fn stop(mut self) {
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

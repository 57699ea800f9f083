//! The processes of the buyers.

use super::Seckill;
use crate::exit::Exit;
use crate::output::Failure;
use crate::store::Chosen;
use std::env;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, Command};
use tokio::time::timeout;

/// How long they may take to give back what they hold, before they are killed.
const STOP: Duration = Duration::from_secs(3);

pub(super) struct Children {
    processes: Vec<Child>,
    /// Each of them stops when its own ends; so they stop too when this process is killed.
    reins: Vec<ChildStdin>,
}

impl Children {
    /// Starts them, and waits until all have connected.
    pub(super) async fn start(args: &Seckill, store: &Chosen, dir: &Path) -> Result<Self, Failure> {
        let mut children = Self { processes: Vec::new(), reins: Vec::new() };
        let count = args.processes.min(args.buyers);
        for process in 0..count {
            let first = share(args.buyers, count, process) + 1;
            let end = share(args.buyers, count, process + 1) + 1;
            let mut child = command(args, store, dir, (process + 1, first, end - first))?
                .spawn()
                .map_err(|e| Failure::new(Exit::CannotExecute, format!("cannot start a process: {e}")))?;
            children.reins.extend(child.stdin.take());
            children.processes.push(child);
        }
        for child in &mut children.processes {
            ready(child).await?;
        }
        Ok(children)
    }

    /// Lets the sale begin.
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

/// Where the share of this process begins.
fn share(buyers: u32, processes: u32, process: u32) -> u32 {
    let before = u64::from(buyers) * u64::from(process) / u64::from(processes);
    u32::try_from(before).unwrap_or(buyers)
}

/// Everybody can read the arguments, so the URL, which may have a password, goes by the environment.
fn command(
    args: &Seckill,
    store: &Chosen,
    dir: &Path,
    (process, first, count): (u32, u32, u32),
) -> Result<Command, Failure> {
    let program = env::current_exe()
        .map_err(|e| Failure::new(Exit::CannotExecute, format!("cannot find cotter: {e}")))?;
    let sale = &args.sale;
    let mut command = Command::new(program);
    command.args(["--quiet", "demo", "buyers", "--dir"]).arg(dir);
    for (option, number) in [("--process", process), ("--first", first), ("--count", count)] {
        command.args([option, &number.to_string()]);
    }
    let kind = clap::ValueEnum::to_possible_value(&sale.lock);
    command.args(kind.map(|kind| format!("--lock={}", kind.get_name())));
    command.arg(format!("--item={}", sale.item));
    command.args(sale.ttl.map(|ttl| format!("--ttl={}us", ttl.as_micros())));
    command.args(sale.work.map(|work| format!("--work={}us", work.as_micros())));
    command.env("COTTER_URL", store.secret_url()).env_remove("COTTER_STORE");
    // Out of reach of the terminal's Ctrl-C: they are stopped from here, and give back what they hold.
    command.process_group(0).kill_on_drop(true);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    Ok(command)
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

//! The keeper: a process in the background that holds a lock until another process ends.

use super::acquire::{Acquire, Acquired, print};
use super::binding::Binding;
use super::kept::{Answer, Kept, Request};
use super::text::TicketText;
use super::wait::wait;
use crate::command::signals::Signals;
use crate::run::held::Held;
use crate::run::wait::reach;
use crate::store::Chosen;
use cotter::{Client, FencingToken, Guard, Lease, Lost, Name, Released};
use cotter_console::duration::exact;
use cotter_console::{Console, Exit, Failure};
use rustix::process::getuid;
use rustix::stdio::{dup2_stderr, dup2_stdin, dup2_stdout};
use std::fs::OpenOptions;
use std::io::{self, Write, stdin};
use std::os::fd::AsFd;
use std::process::Stdio;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::unix::pipe;
use tokio::net::{UnixListener, UnixStream};
use tokio::process::Command;
use tokio::time::{Instant, timeout};

/// The timeout for the release, and for a request.
const TIMEOUT: Duration = Duration::from_secs(5);
/// A request is one line.
const MAX_REQUEST: u64 = 64;

/// Starts a keeper and passes its ticket on.
pub(super) async fn start(args: &Acquire, store: &Chosen, console: &Console) -> Result<Exit, Failure> {
    let cannot = |e: &io::Error| Failure::new(Exit::CannotExecute, format!("cannot start a keeper: {e}"));
    let mut command = Command::new(std::env::current_exe().map_err(|e| cannot(&e))?);
    command.args(words(args, console)).env("COTTER_URL", store.secret_url());
    command.env_remove("COTTER_STORE").env_remove("COTTER_PASSWORD_FILE");
    // Ctrl-C reaches only this process. Its end closes the keeper's standard input, which ends the wait.
    command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut keeper = command.spawn().map_err(|e| cannot(&e))?;
    let mut signals = Signals::listen()?;
    let mut answer = String::new();
    let mut output = BufReader::new(keeper.stdout.take().expect("a pipe"));
    tokio::select! {
        biased;
        signal = signals.stop() => {
            drop(keeper.stdin.take());
            let _ = timeout(TIMEOUT, keeper.wait()).await;
            return Ok(Exit::Interrupted(signal));
        }
        read = output.read_line(&mut answer) => {
            read.map_err(|e| cannot(&e))?;
        }
    }
    // Otherwise it has said why.
    let Some((kept, token)) = parse(&answer) else {
        return Ok(Exit::of_child(keeper.wait().await.map_err(|e| cannot(&e))?));
    };
    let acquired = Acquired { ticket: TicketText::Kept(kept), token };
    if let Err(failure) = print(&Name::new(&args.name)?, &acquired, console) {
        // Nobody has the ticket.
        let _ = kept.ask(Request::Release).await;
        return Err(failure.into());
    }
    Ok(Exit::Done)
}

fn words(args: &Acquire, console: &Console) -> Vec<String> {
    let mut words = vec!["acquire".to_owned(), "--keeper".to_owned()];
    let mut option = |name: &str, value: Option<String>| words.extend(value.map(|v| format!("--{name}={v}")));
    option("pid", args.pid.map(|pid| pid.to_string()));
    option("ttl", Some(exact(args.ttl())));
    option("wait", args.wait_options.wait.map(exact));
    option("busy-code", Some(args.wait_options.busy_code.to_string()));
    option("label", args.label.clone());
    let flags = [
        (args.shared, "--shared"),
        (args.wait_options.no_wait, "--no-wait"),
        (console.quiet, "--quiet"),
        (console.verbose, "--verbose"),
    ];
    words.extend(flags.into_iter().filter(|(is_set, _)| *is_set).map(|(_, flag)| flag.to_owned()));
    words.extend(["--".to_owned(), args.name.clone()]);
    words
}

/// `ticket token`
fn parse(line: &str) -> Option<(Kept, FencingToken)> {
    let (ticket, token) = line.trim().split_once(' ')?;
    Some((Kept::parse(ticket)?, token.parse().ok()?))
}

/// Waits for the lock, passes the ticket to the process that has started this one, and keeps the lock.
pub(super) async fn run(args: &Acquire, store: &Chosen, console: &Console) -> Result<Exit, Failure> {
    let name = Name::new(&args.name)?;
    let pid = args.pid.unwrap_or_default();
    let binding = Binding::to(pid)?;
    let label = args.label.clone().unwrap_or_else(|| format!("kept for process {pid}"));
    let builder = || Client::builder().lease(Lease::renewed(args.ttl())).label(label.clone());
    let began = Instant::now();
    let client = tokio::select! {
        biased;
        () = binding.ended() => return Ok(Exit::Done),
        () = caller_gone() => return Ok(Exit::Done),
        client = reach(store, builder, &args.wait_options, true, console) => client?,
    };
    Held::above(|key| std::env::var_os(key))?.refuse(&client, &name)?;
    let kept = Kept::new();
    let listener = kept.listen()?;
    listener.set_nonblocking(true)?;
    let listener = UnixListener::from_std(listener)?;
    let guard = tokio::select! {
        biased;
        () = binding.ended() => return leave(&client).await,
        () = caller_gone() => return leave(&client).await,
        waited = wait(args, began, &client, &name, console) => match waited? {
            Ok(guard) => guard,
            Err(exit) => return Ok(exit),
        },
    };
    // Before the ticket is out: whoever has it may ask at once.
    let mut signals = Signals::listen()?;
    let told = tell(kept, guard.token());
    let quiet = be_silent();
    if told.and(quiet).is_err() {
        let _ = timeout(TIMEOUT, guard.release()).await;
        return Ok(Exit::Done);
    }
    let keeper = Keeper { guard: Some(guard), end: None };
    tokio::select! {
        biased;
        () = binding.ended() => {}
        _ = signals.stop() => {}
        () = keeper.serve(listener) => return Ok(Exit::Done),
    }
    leave(&client).await
}

/// The caller holds the other end of standard input until it has the ticket.
async fn caller_gone() {
    let Ok(input) = stdin().as_fd().try_clone_to_owned() else { return };
    let Ok(mut input) = pipe::Receiver::from_owned_fd(input) else { return };
    let _ = input.read_u8().await;
}

fn tell(kept: Kept, token: FencingToken) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{kept} {token}")?;
    out.flush()
}

/// Readers of the caller's output must not wait for this process.
fn be_silent() -> io::Result<()> {
    let null = OpenOptions::new().read(true).write(true).open("/dev/null")?;
    dup2_stdin(&null)?;
    dup2_stdout(&null)?;
    dup2_stderr(&null)?;
    Ok(())
}

/// Releases the lock, or leaves its queue.
async fn leave(client: &Client) -> Result<Exit, Failure> {
    let _ = timeout(2 * TIMEOUT, client.close(TIMEOUT)).await;
    Ok(Exit::Done)
}

struct Keeper {
    /// `None` after the release.
    guard: Option<Guard>,
    /// The answer of the release.
    end: Option<Answer>,
}

impl Keeper {
    /// Answers requests until the lock is released.
    async fn serve(mut self, listener: UnixListener) {
        while self.end.is_none() {
            let Ok((stream, _)) = listener.accept().await else { continue };
            // Others may connect, but are not answered.
            let me = getuid().as_raw();
            if stream.peer_cred().is_ok_and(|peer| peer.uid() == me || peer.uid() == 0) {
                let _ = timeout(2 * TIMEOUT, self.answer(stream)).await;
            }
        }
    }

    async fn answer(&mut self, stream: UnixStream) -> io::Result<()> {
        let mut stream = BufReader::new(stream);
        let mut line = String::new();
        let mut request = (&mut stream).take(MAX_REQUEST);
        timeout(TIMEOUT, request.read_line(&mut line)).await??;
        let answer = match serde_json::from_str(&line)? {
            Request::Check => self.check(),
            Request::Release => self.release().await,
        };
        let text = format!("{}\n", serde_json::to_string(&answer)?);
        stream.write_all(text.as_bytes()).await
    }

    fn check(&self) -> Answer {
        match self.guard.as_ref().map(Guard::check) {
            Some(Ok(())) => Answer::Held,
            Some(Err(lost)) => Answer::Lost(lost.to_string()),
            None => Answer::Released,
        }
    }

    async fn release(&mut self) -> Answer {
        let Some(guard) = self.guard.take() else { return Answer::Released };
        let signal = guard.lost();
        let answer = match timeout(TIMEOUT, guard.release()).await {
            Ok(Ok(Released::AlreadyLost)) => Answer::Lost(Lost::to_string(&signal.await)),
            Ok(Ok(_)) => Answer::Released,
            Ok(Err(error)) => Answer::Failed(error.to_string()),
            Err(_) => Answer::Failed("no reply within 5 s".to_owned()),
        };
        self.end = Some(answer.clone());
        answer
    }
}

//! `cotter run`: waits for the lock, runs the command, stops it in time, and releases the lock.
//!
//! | file | concept |
//! |---|---|
//! | `args`, `wait_options` | the arguments; those about waiting, which other commands have too |
//! | `leading` | the run of a leader |
//! | `wait`, `monitor` | waiting for the lock; the waiting line |
//! | `job_control` | Ctrl-Z and `fg` |
//! | `held`, `ancestors` | locks held by ancestors of a nested run; the ancestors |
//! | `once`, `keep_for`, `report`, `figures` | `--slot`, `--at-least`, `--report` and `--metrics` |
//! | `sink` | writing them to a file or pipe |

mod ancestors;
mod args;
mod figures;
pub(crate) mod held;
mod job_control;
mod keep_for;
mod leading;
mod monitor;
mod once;
mod report;
mod sink;
pub(crate) mod wait;
mod wait_options;

pub(crate) use args::Run;
pub(crate) use leading::Leading;
pub(crate) use wait_options::WaitOptions;

use crate::command::signals::Signals;
use crate::command::{
    Child, Grace, Launch, OVERDUE, Outcome, Step, Watch, reap_as_init, restore_lease, stop,
};
use crate::store::Chosen;
use cotter::{Client, Guard, Lease, Lost, Name, Op, Released};
use cotter_console::{Console, Exit, Failure, clean};
use held::Held;
use job_control::JobControl;
use keep_for::KeepFor;
use once::OnceKey;
use report::Report;
use rustix::process::Signal;
use std::ffi::OsStr;
use std::time::Duration;
use tokio::time::{Instant, timeout};
use wait::Acquired;

/// The timeout of the release; after that the lease has to expire by itself.
const RELEASE_TIMEOUT: Duration = Duration::from_secs(5);

/// Runs a command under a lock, in the store if one could be chosen. The signals are listened for before anything else, so that
/// none can end cotter and leave the command running.
pub(crate) async fn run(
    args: &Run,
    store: Result<&Chosen, Failure>,
    signals: &mut Signals,
    console: &Console,
) -> Result<Exit, Failure> {
    let mut report = Report::begin(&args.name);
    let result = match store {
        Ok(store) => attempt(args, store, signals, console, &mut report).await,
        Err(failure) => Err(failure),
    };
    if let Some(file) = &args.report {
        report.write(file, &result, console);
    }
    if let Some(file) = &args.metrics {
        figures::write(file, &report, &result, console);
    }
    result
}

async fn attempt(
    args: &Run,
    store: &Chosen,
    signals: &mut Signals,
    console: &Console,
    report: &mut Report,
) -> Result<Exit, Failure> {
    let (name, grace) = (check(args, console)?, Grace::of(args.ttl, args.grace)?);
    once::check_store(args, store)?;
    reap_as_init()?;
    let builder = || {
        let builder = Client::builder().lease(Lease::renewed(args.ttl));
        args.label.iter().fold(builder, |builder, label| builder.label(label))
    };
    let began = Instant::now();
    let client = tokio::select! {
        biased;
        signal = signals.stop() => return Ok(Exit::Interrupted(signal)),
        client = wait::reach(store, builder, &args.wait_options, !args.is_asked_again, console) => client?,
    };
    let left = args.wait_options.since(began);
    let above = Held::above(|key| std::env::var_os(key))?;
    above.refuse(&client, &name)?;
    once::check_support(args, &client, &name).await?;
    let guard = match wait::acquire(
        wait::ask(args, &left, &client, &name),
        &args.wait_options,
        &client,
        &name,
        signals,
        console,
    )
    .await?
    {
        Acquired::Held(guard) => guard,
        Acquired::Busy => return Ok(Exit::Busy(args.wait_options.busy_code)),
        Acquired::Interrupted(signal) => return Ok(Exit::Interrupted(signal)),
    };
    report.held(guard.token());
    let mut key = match prepare(args, &client, &guard).await {
        Ok(key) => key,
        Err(failure) => {
            release(guard, console).await;
            return Err(failure);
        }
    };
    if let Some(key) = key.as_ref().filter(|key| key.is_done()) {
        console.confirm(&format!("{name:?}: slot {:?} is already done; not running the command", key.key()));
        release(guard, console).await;
        return Ok(Exit::Done);
    }
    let held = above.with(&client, &name);
    let grace = grace.fitting(&guard);
    let mut watch = Watch::new(&guard, grace, args.max_hold);
    let mut child = match Child::spawn(&launch(args, store, &held), &watch).await {
        Ok(child) => child,
        Err(failure) => {
            release(guard, console).await;
            return Err(failure);
        }
    };
    let end = until_the_end(&mut watch, &mut child, &guard, signals, console).await?;
    let end = stop(&mut child, &guard, end, grace, |text| console.warning(text)).await;
    if let (Some(key), Outcome::Exited { status, .. }) = (&mut key, &end)
        && status.success()
    {
        key.done(&guard, console).await;
    }
    let kept = KeepFor::of(args, report.since(), &client, &end);
    let lost = kept.release(guard, signals, console).await;
    let exit = conclude(end, lost, &name).map(|exit| exit.shared(|signal| child.shares(signal)));
    child.kill_and_wait();
    exit
}

/// What is done under the lock before the command is started.
async fn prepare(args: &Run, client: &Client, guard: &Guard) -> Result<Option<OnceKey>, Failure> {
    // A lock that was handed over by message has a short lease until its first renewal: too short to stop a command.
    restore_lease(guard, args.ttl).await?;
    let mut key = OnceKey::load(args, client, guard.name()).await?;
    if let Some(key) = &mut key {
        key.confirm(guard).await?;
    }
    restore_lease(guard, args.ttl).await?;
    Ok(key)
}

fn check(args: &Run, console: &Console) -> Result<Name, Failure> {
    if console.json {
        let why = format!("--json has no effect on `{}`: leave it out", command(args));
        return Err(Failure::usage(why));
    }
    if is_after_the_dashes(args) {
        let name = clean(&args.name);
        return Err(Failure::usage(format!(
            "the name of the lock comes before the --, but {name:?} comes after it: {} NAME -- CMD",
            command(args)
        )));
    }
    Ok(Name::new(&args.name)?)
}

fn command(args: &Run) -> &'static str {
    if args.leading.is_some() { "cotter elect" } else { "cotter run" }
}

/// Whether the name comes after the `--`. Then it was most likely forgotten, and this is the command. A name that begins with
/// a dash has to be written there.
fn is_after_the_dashes(args: &Run) -> bool {
    let after = std::env::args_os().skip_while(|word| word != "--").skip(1).count();
    after == 1 + args.command.len() && !args.name.starts_with('-')
}

fn launch(args: &Run, store: &Chosen, held: &Held) -> Launch {
    let words = match args.shell {
        true => Launch::script(args.command.join(OsStr::new(" "))),
        false => args.command.clone(),
    };
    let mut env = store.environment();
    env.push((held::KEY.to_owned(), held.text()));
    Launch {
        argv: words,
        env,
        token: None,
        without: &[],
        cwd: None,
        output: None,
        has_input: true,
        has_terminal: true,
    }
}

/// Waits until the command has ended or has to be stopped, with job control.
async fn until_the_end(
    watch: &mut Watch<'_>,
    child: &mut Child,
    guard: &Guard,
    signals: &mut Signals,
    console: &Console,
) -> Result<Outcome, Failure> {
    let mut job = JobControl::of(child)?;
    loop {
        tokio::select! {
            biased;
            step = watch.next(child) => match step? {
                Step::Ended(end) => return Ok(end),
                Step::Stopped(signal) => job.stopped(signal, child, guard, console).await,
            },
            signal = signals.next() => child.pass_on(signal),
            () = job.asked_to_stop() => child.pass_on(Signal::TSTP),
        }
    }
}

/// The exit of this process.
fn conclude(end: Outcome, lost: Option<Lost>, name: &Name) -> Result<Exit, Failure> {
    let lost_failure = |text: String| Err(Failure::new(Exit::Lost, text));
    match (end, lost) {
        (Outcome::Lost(lost), _) | (Outcome::Overdue | Outcome::Expiring(_), Some(lost)) => {
            lost_failure(format!("{lost}; the command was stopped"))
        }
        (Outcome::Expiring(expiring), None) => {
            lost_failure(format!("{expiring}; the command was stopped in time"))
        }
        (Outcome::Overdue, None) => lost_failure(format!("{name:?}: {OVERDUE}; the command was stopped")),
        (Outcome::MaxHold(longest), _) => {
            let longest = cotter_console::duration::words(longest);
            let why = format!("{name:?}: --max-hold of {longest} was reached; the command was stopped");
            Err(Failure::new(Exit::MaxHold, why))
        }
        (Outcome::Exited { .. } | Outcome::NoShim(_), Some(lost)) => lost_failure(format!(
            "{lost}; the command had ended by then, but another holder may have run at the same time"
        )),
        (Outcome::Exited { status, .. } | Outcome::NoShim(Some(status)), None) => Ok(Exit::of_child(status)),
        (Outcome::NoShim(None), None) => Ok(Exit::KILLED),
    }
}

/// Releases the lock and returns its loss, if it was lost, even if only the store knew. A store that does not answer causes
/// only a warning: the command is done, and the lease expires by itself.
async fn release(guard: Guard, console: &Console) -> Option<Lost> {
    release_with(guard, Guard::release, "released", console).await
}

async fn release_with(
    guard: Guard,
    how: impl FnOnce(Guard) -> Op<Released>,
    done: &str,
    console: &Console,
) -> Option<Lost> {
    let (lost, name, signal) = (guard.check().err(), guard.name().clone(), guard.lost());
    match timeout(RELEASE_TIMEOUT, how(guard)).await {
        Ok(Ok(Released::AlreadyLost)) if lost.is_none() => return Some(signal.await),
        Ok(Ok(_)) => {}
        Ok(Err(error)) => {
            console.warning(&format!("the lock was not {done}; its lease will expire: {error}"))
        }
        Err(_) => console.warning(&format!("{name:?} was not {done} within 5 s; its lease will expire")),
    }
    lost
}

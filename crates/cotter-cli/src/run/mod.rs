//! `cotter run`: wait for the lock, run the command, stop it in time, give the lock back.
//!
//! | file | concept |
//! |---|---|
//! | `args` | its arguments |
//! | `wait`, `said` | waiting for the lock; what is said meanwhile |
//! | `job` | what Ctrl-Z does |
//! | `held`, `above` | what is held above a nested run, and by whom |
//! | `slot`, `rest`, `report` | what `--slot`, `--at-least` and `--report` do |
//! | `sink` | where a report is written to |

mod above;
mod args;
pub(crate) mod held;
mod job;
mod report;
mod rest;
mod said;
mod sink;
mod slot;
mod wait;

pub(crate) use args::Run;

use crate::command::signals::Signals;
use crate::command::{Child, End, Grace, Launch, Step, Watch, make_whole, reap_as_init, stop};
use crate::exit::Exit;
use crate::output::{Console, Failure, clean};
use crate::store::Chosen;
use cotter::{Client, Guard, Lease, Lost, Name, Op, Released};
use held::Held;
use job::Job;
use report::Report;
use rest::Rest;
use rustix::process::Signal;
use slot::Slot;
use std::ffi::OsStr;
use std::time::Duration;
use tokio::time::timeout;
use wait::Acquired;

/// How long giving the lock back may take; after that the lease has to run out by itself.
const RELEASE: Duration = Duration::from_secs(5);

/// Runs a command under a lock.
pub(crate) async fn run(args: &Run, store: &Chosen, console: &Console) -> Result<Exit, Failure> {
    let mut report = Report::begin(&args.name);
    let result = attempt(args, store, console, &mut report).await;
    if let Some(file) = &args.report {
        report.write(file, &result, console);
    }
    result
}

async fn attempt(
    args: &Run,
    store: &Chosen,
    console: &Console,
    report: &mut Report,
) -> Result<Exit, Failure> {
    let (name, grace) = (check(args, console)?, Grace::of(args.ttl, args.grace)?);
    // Before anything else, so that no signal comes at a moment when it would end cotter and leave the command alone.
    let mut signals = Signals::listen()?;
    reap_as_init()?;
    let mut builder = Client::builder().lease(Lease::renewed(args.ttl));
    if let Some(label) = &args.label {
        builder = builder.label(label);
    }
    let client = tokio::select! {
        biased;
        signal = signals.stop() => return Ok(Exit::Interrupted(signal)),
        client = store.connect(builder, console) => client?,
    };
    let above = Held::above(|key| std::env::var_os(key))?;
    above.refuse(&client, &name)?;
    let guard = match wait::acquire(args, &client, &name, &mut signals, console).await? {
        Acquired::Held(guard) => guard,
        Acquired::Busy => return Ok(Exit::Busy(args.busy_code)),
        Acquired::Interrupted(signal) => return Ok(Exit::Interrupted(signal)),
    };
    report.held(guard.token());
    // What came by message lasts for a moment only until its first renewal: too short to stop a command in.
    if guard.remaining().is_some_and(|left| left < args.ttl / 2) {
        guard.extend(args.ttl).await?;
    }
    let mut slot = Slot::load(args, &client, &name).await?;
    if let Some(slot) = slot.as_ref().filter(|slot| slot.is_done()) {
        console.answer(&format!("{name:?}: slot {:?} is done, the command is not run", slot.key()));
        give_back(guard, console).await;
        return Ok(Exit::Done);
    }
    make_whole(&guard, args.ttl).await?;
    let held = above.with(&client, &name);
    let mut watch = Watch::new(&guard, grace, args.max_hold);
    let mut child = match Child::spawn(&launch(args, store, &held), &watch).await {
        Ok(child) => child,
        Err(failure) => {
            give_back(guard, console).await;
            return Err(failure);
        }
    };
    let end = until_the_end(&mut watch, &mut child, &guard, &mut signals, console).await?;
    let end = stop(&mut child, &guard, end, grace, |text| console.warning(text)).await;
    if let (Some(slot), End::Exited { status, .. }) = (&mut slot, &end)
        && status.success()
    {
        slot.done(&guard, console).await;
    }
    let kept = Rest::of(args, report.since(), &client, &end);
    let lost = kept.give_back(guard, &mut signals, console).await;
    let exit = conclude(end, lost, &name).map(|exit| exit.shared(|signal| child.shares(signal)));
    child.bury();
    exit
}

fn check(args: &Run, console: &Console) -> Result<Name, Failure> {
    if console.json {
        return Err(Failure::usage("--json has no meaning for `cotter run`: leave it out"));
    }
    if is_behind_the_dashes(args) {
        let name = clean(&args.name);
        return Err(Failure::usage(format!(
            "the name of the lock comes before the --, and {name:?} stands behind it: cotter run NAME -- CMD"
        )));
    }
    Ok(Name::new(&args.name)?)
}

/// Nearly always the name was forgotten, and the command is taken for it. One that begins with a dash has to stand there.
fn is_behind_the_dashes(args: &Run) -> bool {
    let behind = std::env::args_os().skip_while(|word| word != "--").skip(1).count();
    behind == 1 + args.command.len() && !args.name.starts_with('-')
}

fn launch(args: &Run, store: &Chosen, held: &Held) -> Launch {
    let words = match args.shell {
        true => Launch::script(args.command.join(OsStr::new(" "))),
        false => args.command.clone(),
    };
    let mut env = store.environment();
    env.push((held::KEY.to_owned(), held.text()));
    Launch { words, env, without: &[], cwd: None, has_input: true, has_terminal: true }
}

/// Until the command has ended or has to be stopped. Meanwhile it is a job like others.
async fn until_the_end(
    watch: &mut Watch<'_>,
    child: &mut Child,
    guard: &Guard,
    signals: &mut Signals,
    console: &Console,
) -> Result<End, Failure> {
    let mut job = Job::of(child)?;
    loop {
        tokio::select! {
            biased;
            step = watch.next(child) => match step? {
                Step::End(end) => return Ok(end),
                Step::Stopped(signal) => job.stopped(signal, child, guard, console).await,
            },
            signal = signals.next() => child.pass_on(signal),
            () = job.asked_to_stop() => child.pass_on(Signal::TSTP),
        }
    }
}

/// What the end means for the one who started this.
fn conclude(end: End, lost: Option<Lost>, name: &Name) -> Result<Exit, Failure> {
    let lost_so = |text: String| Err(Failure::new(Exit::Lost, text));
    match (end, lost) {
        (End::Lost(lost), _) | (End::Overdue | End::Expiring(_), Some(lost)) => {
            lost_so(format!("{lost}; the command was stopped"))
        }
        (End::Expiring(expiring), None) => lost_so(format!("{expiring}; the command was stopped in time")),
        (End::Overdue, None) => lost_so(format!(
            "{name:?}: cotter was paused for too long, the lock was about to be lost; the command was stopped"
        )),
        (End::MaxHold(longest), _) => {
            let longest = crate::duration::words(longest);
            let why = format!("{name:?}: --max-hold of {longest} was reached; the command was stopped");
            Err(Failure::new(Exit::MaxHold, why))
        }
        (End::Exited { .. } | End::NoShim(_), Some(lost)) => {
            lost_so(format!("{lost}; the command had ended by then, another holder may have run beside it"))
        }
        (End::Exited { status, .. } | End::NoShim(Some(status)), None) => Ok(Exit::of_child(status)),
        (End::NoShim(None), None) => Ok(Exit::KILLED),
    }
}

/// Releases; how the lock was lost, if it was, also when only the store knew. A store that does not answer is only a
/// warning: the command is done, the lease runs out by itself.
async fn give_back(guard: Guard, console: &Console) -> Option<Lost> {
    part(guard, Guard::release, "given back", console).await
}

async fn part(
    guard: Guard,
    how: impl FnOnce(Guard) -> Op<Released>,
    done: &str,
    console: &Console,
) -> Option<Lost> {
    let (lost, name, signal) = (guard.check().err(), guard.name().clone(), guard.lost());
    match timeout(RELEASE, how(guard)).await {
        Ok(Ok(Released::AlreadyLost)) if lost.is_none() => return Some(signal.await),
        Ok(Ok(_)) => {}
        Ok(Err(error)) => console.warning(&format!("the lock was not {done}, its lease runs out: {error}")),
        Err(_) => console.warning(&format!("{name:?} was not {done} within 5 s, its lease runs out")),
    }
    lost
}

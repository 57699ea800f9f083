//! `cotter run`: wait for the lock, run the command, stop it in time, give the lock back.

mod child;
mod group;
mod loss;
mod signals;
mod wait;

use crate::args::Run;
use crate::exit::Exit;
use crate::output::{Console, Failure};
use crate::store::Chosen;
use child::Child;
use cotter::{Client, Guard, Lease, Lost, Name};
use loss::Grace;
use signals::Signals;
use std::process::ExitStatus;
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout};
use wait::Acquired;

/// How long giving the lock back may take; after that the lease has to run out by itself.
const RELEASE: Duration = Duration::from_secs(5);

/// How the command came to its end.
enum End {
    Exited(ExitStatus),
    Lost(Lost),
    MaxHold(Duration),
}

/// Runs a command under a lock.
pub(crate) async fn run(args: &Run, store: &Chosen, console: &Console) -> Result<Exit, Failure> {
    let (name, grace) = (check(args, console)?, Grace::of(args.ttl)?);
    // Before anything else, so that no signal comes at a moment when it would end cotter and leave the command alone.
    let mut signals = Signals::listen()?;
    let mut builder = Client::builder().lease(Lease::renewed(args.ttl));
    if let Some(label) = &args.label {
        builder = builder.label(label);
    }
    let client = tokio::select! {
        biased;
        signal = signals.stop() => return Ok(Exit::Interrupted(signal)),
        client = store.connect(builder, console) => client?,
    };
    let guard = match wait::acquire(args, &client, &name, &mut signals, console).await? {
        Acquired::Held(guard) => guard,
        Acquired::Busy => return Ok(Exit::Busy(args.busy_code)),
        Acquired::Interrupted(signal) => return Ok(Exit::Interrupted(signal)),
    };
    let held = Instant::now();
    let mut child = match child::spawn(args, &guard, store) {
        Ok(child) => child,
        Err(failure) => {
            give_back(guard, console).await;
            return Err(failure);
        }
    };
    let end = watch(&mut child, &guard, &mut signals, grace, args.max_hold.map(|d| (held, d))).await?;
    finish(child, guard, end, grace, console).await
}

fn check(args: &Run, console: &Console) -> Result<Name, Failure> {
    if console.json {
        return Err(Failure::usage("--json has no meaning for `cotter run`: leave it out"));
    }
    Ok(Name::new(&args.name)?)
}

/// Until the command has ended or has to be stopped.
async fn watch(
    child: &mut Child,
    guard: &Guard,
    signals: &mut Signals,
    grace: Grace,
    max_hold: Option<(Instant, Duration)>,
) -> Result<End, Failure> {
    let mut expiring = guard.expiring(grace.margin());
    let longest = async move {
        match max_hold {
            Some((held, longest)) => {
                sleep(longest.saturating_sub(held.elapsed())).await;
                longest
            }
            None => std::future::pending().await,
        }
    };
    tokio::pin!(longest);
    loop {
        tokio::select! {
            biased;
            status = child.exited() => return Ok(End::Exited(status?)),
            lost = &mut expiring => return Ok(End::Lost(lost)),
            longest = &mut longest => return Ok(End::MaxHold(longest)),
            signal = signals.next() => child.group.pass_on(signal),
        }
    }
}

/// Nothing of the command is left when the lock is given back.
async fn finish(
    mut child: Child,
    guard: Guard,
    end: End,
    grace: Grace,
    console: &Console,
) -> Result<Exit, Failure> {
    let time = match &end {
        End::Lost(lost) => grace.on_loss(lost, &guard),
        End::Exited(_) | End::MaxHold(_) => grace.in_time(&guard),
    };
    if let End::Exited(_) = end {
        say_what_is_left(&child, console);
    }
    child.stop(time).await?;
    let name = guard.name().clone();
    let lost = give_back(guard, console).await;
    match (end, lost) {
        (End::Lost(lost), _) => Err(Failure::new(Exit::Lost, format!("{lost}; the command was stopped"))),
        (End::MaxHold(longest), _) => {
            let longest = crate::duration::words(longest);
            let why = format!("{name:?}: --max-hold of {longest} was reached; the command was stopped");
            Err(Failure::new(Exit::MaxHold, why))
        }
        (End::Exited(_), Some(lost)) => {
            Err(Failure::new(Exit::Lost, format!("{lost}; the command had just ended or was stopped")))
        }
        (End::Exited(status), None) => Ok(Exit::of_child(status)),
    }
}

fn say_what_is_left(child: &Child, console: &Console) {
    match child.group.members() {
        0 => {}
        1 => console.warning("the command ended and left a process in its group: stopping it"),
        n => {
            console.warning(&format!("the command ended and left {n} processes in its group: stopping them"))
        }
    }
}

/// Releases. A store that does not answer is only a warning: the command is done, the lease runs out by itself.
async fn give_back(guard: Guard, console: &Console) -> Option<Lost> {
    let lost = guard.check().err();
    let name = guard.name().clone();
    match timeout(RELEASE, guard.release()).await {
        Ok(Ok(_)) => {}
        Ok(Err(error)) => {
            console.warning(&format!("the lock was not given back, its lease runs out: {error}"))
        }
        Err(_) => console.warning(&format!("{name:?} was not given back within 5 s, its lease runs out")),
    }
    lost
}

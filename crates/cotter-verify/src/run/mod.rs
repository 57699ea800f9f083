//! A run: processes that contend, and what is done to them.
//!
//! | file | concept |
//! |---|---|
//! | `program` | which program the processes are |
//! | `process` | one process, and the lines between it and this one |
//! | `slot` | what is known of a process by those who do something to it |
//! | `driver` | what a process is asked to do |
//! | `faults` | pauses and kills |
//! | `during` | what the operator does meanwhile |
//! | `left` | what the store still has at the end |

mod driver;
mod during;
mod faults;
mod left;
mod process;
mod program;
mod slot;

use crate::args::{Store, Verify};
use crate::client::acquire;
use crate::clock::now;
use crate::history::{Believed, Bounds, Recorder, What};
use crate::judge::Outcome;
use crate::report;
use cotter::Lease;
use cotter_console::{Console, Exit, Failure, StatusLine, StopSignals, created};
use program::Program;
use slot::Slot;
use std::rc::Rc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::{JoinSet, LocalSet};
use tokio::time::{sleep, timeout};

/// What all parts of a run share.
#[derive(Debug)]
struct Shared {
    program: Program,
    names: Vec<String>,
    bounds: Bounds,
    work: Duration,
    log: Recorder,
    slots: Vec<Rc<Slot>>,
    /// Becomes true when nobody is to ask for anything more.
    over: watch::Receiver<bool>,
}

/// Runs it, judges it and reports it.
pub(crate) async fn run(args: &Verify, store: &Store, console: &Console) -> Result<Exit, Failure> {
    let mut stops = StopSignals::listen()?;
    let program = Program::of(args, store)?;
    if args.plan.permits >= args.plan.holders {
        let why = "nobody would ever wait: --holders has to be more than --permits";
        return Err(Failure::usage(why));
    }
    let prefix = format!("verify:{:016x}", rand::random::<u64>());
    if let Some(client) = &store.client {
        // What this store refuses, such as a short ttl, is known before anything is started.
        let lease = Lease::renewed(args.plan.ttl);
        acquire(client, &format!("{prefix}:0"), args.plan.permits, lease).await?.finish().await?;
    }
    let plot = args.report.judgement.plot.as_deref().map(created).transpose()?;
    let history = args.report.history.as_deref().map(created).transpose()?;
    let ttl = args.plan.ttl;
    let patience = args.plan.patience.unwrap_or(Bounds::patience(ttl));
    let bounds = Bounds { ttl, patience, permits: args.plan.permits as usize };
    let (end, over) = watch::channel(false);
    let shared = Rc::new(Shared {
        program,
        names: (1..=args.plan.names).map(|n| format!("{prefix}:{n}")).collect(),
        bounds,
        work: args.plan.work,
        log: Recorder::new(history),
        slots: (1..=args.plan.holders).map(|number| Rc::new(Slot::new(number))).collect(),
        over,
    });
    shared.log.record(0, What::Run(bounds));
    let contend = contend(args, &shared, &end, &mut stops, console);
    let stopped = LocalSet::new().run_until(contend).await?;
    let looked = match (stopped, &store.client) {
        (None, Some(client)) => left::look(client, &shared).await,
        _ => Ok(()),
    };
    if let Some(client) = &store.client {
        left::clean_up(client, &prefix).await;
    }
    let events = shared.log.events().map_err(|e| Failure::new(Exit::System, format!("--history: {e}")))?;
    let run = Believed::of(&events)
        .map_err(|m| Failure::new(Exit::Protocol, format!("a process broke the protocol: {}", m.text)))?;
    let needed = args.report.judgement.needed(if args.plan.no_faults { 0 } else { 2 });
    let permits = match args.plan.permits {
        1 => String::new(),
        permits => format!(", with {permits} permits"),
    };
    let title = format!("{} on {}{permits}", shared.program, store.public_url);
    let outcome = report::conclude(&title, &run, needed, plot, console)?;
    if outcome != Outcome::Failed {
        // A store that is away at the end was judged all the same.
        looked?;
    }
    Ok(match stopped {
        Some(signal) if outcome != Outcome::Failed => Exit::Interrupted(signal),
        _ => report::exit(outcome),
    })
}

/// Until all is over and everybody has ended. Returns the signal that ended it early, if one did.
async fn contend(
    args: &Verify,
    shared: &Rc<Shared>,
    end: &watch::Sender<bool>,
    stops: &mut StopSignals,
    console: &Console,
) -> Result<Option<u8>, Failure> {
    let mut drivers = JoinSet::new();
    for slot in &shared.slots {
        drivers.spawn_local(driver::drive(shared.clone(), slot.clone()));
    }
    let faults = (!args.plan.no_faults).then(|| faults::inject(shared.clone()));
    let mut faults = tokio::task::spawn_local(async move {
        match faults {
            Some(faults) => faults.await,
            None => 0,
        }
    });
    let status = StatusLine::new(!console.quiet && !console.json);
    let stopped = tokio::select! {
        biased;
        signal = stops.next() => Some(signal),
        failure = first_failure(&mut drivers) => return Err(failure),
        done = during::act(args, shared, &status) => { done?; None }
    };
    let _ = end.send(true);
    status.say("waiting for the last ones");
    let planned = tokio::select! {
        planned = &mut faults => planned.unwrap_or_default(),
        () = sleep(shared.bounds.ttl) => { faults.abort(); 0 }
    };
    let rest = async {
        while let Some(ended) = drivers.join_next().await {
            ended.map_err(|e| Failure::new(Exit::System, e.to_string()))??;
        }
        Ok::<(), Failure>(())
    };
    let patience = if stopped.is_some() { shared.bounds.ttl } else { shared.bounds.patience * 2 };
    tokio::select! {
        _ = stops.next(), if stopped.is_none() => {}
        ended = timeout(patience, rest) => ended.unwrap_or(Ok(()))?,
    }
    drivers.shutdown().await;
    if stopped.is_none() {
        driver::probe(shared).await?;
    }
    shared.log.record_at(now(), 0, What::Done { planned });
    Ok(stopped)
}

/// Of a driver that could not go on; none of them ends otherwise before the run is over.
async fn first_failure(drivers: &mut JoinSet<Result<(), Failure>>) -> Failure {
    loop {
        match drivers.join_next().await {
            Some(Ok(Err(failure))) => return failure,
            Some(Err(error)) => return Failure::new(Exit::System, error.to_string()),
            Some(Ok(Ok(()))) => {}
            None => std::future::pending().await,
        }
    }
}

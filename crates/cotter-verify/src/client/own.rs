//! A process that holds cotter's locks, in the words of the protocol.

use super::Answer;
use crate::clock::{nanos, now};
use clap::Args;
use cotter::{Client, Guard, Lease};
use cotter_console::duration::parse_positive;
use cotter_console::{Exit, Failure};
use std::io::{Write, stdout};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, BufReader, Lines, Stdin};
use tokio::time::sleep;

/// Hold locks in the words of the protocol.
#[derive(Debug, Args)]
pub(crate) struct Holder {
    /// The ttl of the locks.
    #[arg(long, value_parser = parse_positive)]
    ttl: Duration,
    /// So many may hold a name at once.
    #[arg(long)]
    permits: u32,
}

/// How long the last release may take.
const FAREWELL: Duration = Duration::from_secs(5);

/// Answers requests until there are no more.
pub(crate) async fn hold(args: &Holder, client: &Client) -> Result<Exit, Failure> {
    let mut requests = BufReader::new(tokio::io::stdin()).lines();
    while let Some(request) = requests.next_line().await? {
        match request.strip_prefix("acquire ") {
            Some(name) => attend(name, args, client, &mut requests).await?,
            None => return Err(Failure::usage(format!("not a request: {request:?}"))),
        }
    }
    client.close(FAREWELL).await?;
    Ok(Exit::Done)
}

/// A lock, or one permit of a semaphore.
pub(crate) async fn acquire(
    client: &Client,
    name: &str,
    permits: u32,
    lease: Lease,
) -> cotter::Result<Guard> {
    match permits {
        1 => client.mutex(name).lease(lease).lock().await,
        _ => Ok(client.semaphore(name, permits).lease(lease).acquire().await?.into()),
    }
}

async fn attend(
    name: &str,
    args: &Holder,
    client: &Client,
    requests: &mut Lines<BufReader<Stdin>>,
) -> Result<(), Failure> {
    let guard = tokio::select! {
        guard = acquire(client, name, args.permits, Lease::renewed(args.ttl)) => guard,
        // Whoever asks for nothing more while this one waits wants nothing any more.
        _ = requests.next_line() => return Ok(()),
    };
    match guard {
        Ok(guard) => keep(guard, args, requests).await,
        Err(error) => say(&Answer::Failed { text: error.to_string() }),
    }
}

/// Until when a guard is valid. The clock is read first: a process that is paused in between is then too early, not too late.
fn until(guard: &Guard) -> Option<u64> {
    let now = now();
    guard.remaining().map(|left| now.saturating_add(nanos(left)))
}

/// Says how the belief goes on, until it is asked to release, or there are no more requests.
async fn keep(guard: Guard, args: &Holder, requests: &mut Lines<BufReader<Stdin>>) -> Result<(), Failure> {
    let (ttl, mut known) = (args.ttl, until(&guard));
    // A permit's token tells nothing: others are as valid.
    let token = (args.permits == 1).then(|| guard.token().get());
    say(&Answer::Acquired { token, until: known })?;
    let (signal, mut lost) = (guard.lost(), false);
    tokio::pin!(signal);
    let request = loop {
        tokio::select! {
            biased;
            // It ended by itself when it was known to end, and earlier if the store said so.
            _ = &mut signal, if !lost => {
                lost = true;
                say(&Answer::Lost { until: known.map(|until| until.min(now())) })?;
            }
            request = requests.next_line() => break request?,
            () = sleep(ttl / 20), if known.is_some() && !lost => {
                let next = until(&guard).filter(|_| guard.is_valid());
                if let Some(later) = next.filter(|next| known.is_some_and(|known| next.saturating_sub(known) > nanos(ttl / 50))) {
                    known = Some(later);
                    say(&Answer::Renewed { until: later })?;
                }
            }
        }
    };
    let released = guard.release().await;
    if request.is_none() {
        return Ok(());
    }
    say(&match released {
        Ok(_) => Answer::Released,
        Err(error) => Answer::Failed { text: error.to_string() },
    })
}

fn say(answer: &Answer) -> Result<(), Failure> {
    let mut out = stdout().lock();
    writeln!(out, "{}", answer.line())?;
    Ok(out.flush()?)
}

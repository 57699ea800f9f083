//! The sale as a whole.

use super::children::Children;
use super::lock::Lock;
use super::log::{self, Log};
use super::show::Show;
use super::stock::Stock;
use super::{Kind, Seckill, audit};
use crate::exit::Exit;
use crate::output::{Console, Failure};
use crate::store::Chosen;
use std::fs;
use std::future::poll_fn;
use std::task::Poll;
use std::time::Duration;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::sleep;

/// How often what is shown is brought up to date.
const UPDATE: Duration = Duration::from_millis(20);

pub(super) async fn run(args: &Seckill, store: &Chosen, console: &Console) -> Result<Exit, Failure> {
    let mut stops = Stops::listen()?;
    check(args, store)?;
    // Whatever keeps the store from being used is said once, not by every process.
    Lock::open(&args.sale, store, console).await?.close().await;
    let dir = tempfile::Builder::new().prefix("cotter-seckill-").tempdir()?;
    Stock::new(dir.path()).write(args.stock)?;
    Log::open(dir.path())?;
    let mut show = Show::new(args, console, dir.path())?;
    let mut children = tokio::select! {
        children = Children::start(args, store, dir.path()) => children?,
        signal = stops.next() => return Ok(Exit::Interrupted(signal)),
    };
    children.begin().await?;
    loop {
        tokio::select! {
            biased;
            signal = stops.next() => {
                children.stop().await;
                return Ok(Exit::Interrupted(signal));
            }
            () = children.ended() => break,
            () = sleep(UPDATE) => show.update()?,
        }
    }
    show.update()?;
    drop(show);
    let report = audit::read(&fs::read(log::path(dir.path()))?, args.buyers, args.stock);
    report.print(console)?;
    Ok(if report.is_clean() { Exit::Done } else { Exit::Unclean })
}

fn check(args: &Seckill, store: &Chosen) -> Result<(), Failure> {
    let shared = !store.public_url().starts_with("memory:");
    if args.sale.lock == Kind::On && args.processes > 1 && !shared {
        return Err(Failure::usage(
            "memory: is not shared between processes: give --processes 1 or another store",
        ));
    }
    Ok(())
}

/// The signals that end it.
struct Stops(Vec<(u8, Signal)>);

impl Stops {
    fn listen() -> Result<Self, Failure> {
        let kinds =
            [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup(), SignalKind::quit()];
        let number = |kind: SignalKind| u8::try_from(kind.as_raw_value()).unwrap_or_default();
        let listen = |kind| Ok((number(kind), signal(kind)?));
        Ok(Self(kinds.into_iter().map(listen).collect::<Result<_, Failure>>()?))
    }

    async fn next(&mut self) -> u8 {
        poll_fn(|cx| {
            let mut streams = self.0.iter_mut();
            let came =
                streams.find_map(|(number, stream)| stream.poll_recv(cx).is_ready().then_some(*number));
            came.map_or(Poll::Pending, Poll::Ready)
        })
        .await
    }
}

//! A task that panics, or never runs, leaves nobody waiting for it.

mod database;

use super::*;
use crate::backend::{Host, Mode, Spawn};
use crate::stores::shared::net::Pool;
use crate::stores::shared::sql::sessions::Parts;
use crate::{Clock, ManualClock, Name};
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::timing::{FAR, happens};
use database::{Database, SESSION, Sockets, Step};
use std::pin::Pin;
use std::sync::Mutex;

const SILENCE: Duration = Duration::from_secs(8);

async fn database(breaks: Step, host: &Host) -> Sessions<Database> {
    let pool = Pool::open(&Sockets { breaks }, host.clock()).await.unwrap();
    let store = Database { parts: Parts::new(pool, SILENCE, host), breaks, ended: Mutex::default() };
    Sessions { store: Arc::new(store), info: info("test", "test", "test", false) }
}

fn claim() -> Claim {
    Claim::new(Name::new("a").unwrap(), Mode::Exclusive, SILENCE)
}

/// Asks for the lock, and releases the claim whatever came of it. Returns the error, and the sessions that were ended.
async fn fails(database: &Sessions<Database>) -> (Error, Vec<u32>) {
    let claim = claim();
    let acquired = tokio::time::timeout(FAR, database.acquire(&claim, Until::Forever)).await;
    demand(acquired.is_ok(), Kind::StuckWaiter, "the task has ended, and its caller waits");
    let released = happens("the release is answered", database.release(&claim, Leave::used(1))).await;
    assert_eq!(released.unwrap(), Release::NotHeld);
    (acquired.unwrap().unwrap_err(), database.store.ended.lock().unwrap().clone())
}

#[tokio::test]
async fn a_task_that_panics_leaves_nobody_waiting() {
    for breaks in [Step::Opening, Step::Asking, Step::Reserving] {
        let host = Host::without_engine(Arc::new(ManualClock::new()));
        let (error, ended) = fails(&database(breaks, &host).await).await;
        assert!(error.is_retryable(), "{breaks:?}: {error}");
        // What it had asked for may be in the server, with its session.
        let has_asked = breaks != Step::Opening;
        assert_eq!(error.outcome_unknown(), has_asked, "{breaks:?}: {error}");
        assert_eq!(ended, if has_asked { vec![SESSION] } else { Vec::new() }, "{breaks:?}");
    }
}

#[tokio::test]
async fn a_grant_whose_task_panics_is_lost() {
    let clock = ManualClock::new();
    let host = Host::without_engine(Arc::new(clock.clone()));
    let (database, claim) = (database(Step::Beating, &host).await, claim());
    let Ok(Acquired::Granted(grant)) = database.acquire(&claim, Until::Now).await else {
        panic!("it is free")
    };
    let session = grant.session.as_ref().unwrap();
    // Long before its end, so that it is the task that tells.
    let told = async {
        while session.lost().is_none() {
            clock.advance(Duration::from_millis(1));
            tokio::task::yield_now().await;
        }
    };
    happens("the loss is told", told).await;
    assert_eq!(session.lost(), Some(LossCause::SessionLost));
    assert!(matches!(database.extend(&[&grant], SILENCE).await[..], [Ok(Extension::Lost(LossCause::Gone))]));
    let released = happens("the release is answered", database.release(&claim, Leave::used(1))).await;
    assert_eq!(released.unwrap(), Release::NotHeld);
    assert_eq!(*database.store.ended.lock().unwrap(), [SESSION]);
}

/// A client that is closed runs no tasks any more.
#[tokio::test]
async fn a_task_that_never_runs_leaves_nobody_waiting() {
    struct Closed;
    impl Spawn for Closed {
        fn spawn(&self, _: Pin<Box<dyn Future<Output = ()> + Send>>) {}
    }
    let clock: Arc<dyn Clock> = Arc::new(ManualClock::new());
    let host = Host::engine(clock, Arc::new(Closed));
    let (error, ended) = fails(&database(Step::Beating, &host).await).await;
    assert!(!error.outcome_unknown() && ended.is_empty(), "{error}");
}

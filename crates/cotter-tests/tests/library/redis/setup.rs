//! What these tests share.

use cotter::backend::{Backend, Claim, Leave, Until};
use cotter::{Guard, Mutex};
pub(crate) use cotter_testkit::bare::{backend, claim, client, clock, crowd, queued, take};
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::servers::{Redis, acl_rule};
pub(crate) use cotter_testkit::timing::eventually;
use cotter_testkit::timing::{Stopwatch, happens};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;

/// The lock was used, and nobody waits for a token to be kept.
pub(crate) const USED: Leave = Leave::used(1);

/// Lets the users read what the doctor reads, as docs/stores/redis.md tells an operator to.
pub(crate) fn show_doctor(server: &Redis) {
    for mode in ["native", "plain", "getset", "redisson"] {
        let words = ["ACL", "SETUSER", acl_rule(mode)[2], "+info", "+config|get"];
        assert_eq!(server.command(&words), "OK");
    }
}

/// Waits in a task that gives it back at once; answers with the token.
pub(crate) fn pass_through(backend: &Arc<dyn Backend>, name: &str, ttl: Duration) -> JoinHandle<u64> {
    let (backend, claim) = (backend.clone(), claim(name, ttl));
    tokio::spawn(async move {
        let grant = backend.acquire(&claim, Until::Forever).await.unwrap().granted().unwrap();
        backend.release(&claim, USED).await.unwrap();
        grant.number
    })
}

/// Waits in a task; answers whether it holds.
pub(crate) fn holds_at_last(backend: &Arc<dyn Backend>, claim: &Claim) -> JoinHandle<bool> {
    let (backend, claim) = (backend.clone(), claim.clone());
    tokio::spawn(async move { backend.acquire(&claim, Until::Forever).await.unwrap().granted().is_some() })
}

/// Until there is a master again, an attempt may end with an error.
pub(crate) async fn locked_again(mutex: &Mutex) -> Guard {
    happens("it is locked again", async {
        loop {
            if let Ok(guard) = mutex.lock().await {
                break guard;
            }
        }
    })
    .await
}

/// Gives a lock back to one who waits, and is told within this time, with a larger token.
pub(crate) async fn hand_over(
    held: Guard,
    waiting: JoinHandle<cotter::Result<Guard>>,
    within: Duration,
) -> Guard {
    let token = held.token();
    held.finish().await.unwrap();
    let start = Stopwatch::of(Kind::SlowHandOver);
    let next = happens("it is served", waiting).await.unwrap().unwrap();
    start.at_most(within, "it is told by a message");
    demand(next.token() > token, Kind::TokenOrder, "tokens rise");
    next
}

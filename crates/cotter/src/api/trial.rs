//! A lock that is taken and given back, for `doctor`: whether locks work cannot be told from settings and rights.

use crate::backend::{Acquired, Backend, Claim, Finding, Leave, Mode, PruneOrder, RESERVED, Release, Until};
use crate::engine::Core;
use crate::{ErrorKind, Lease, Mutex, Name, Released, Result};
use std::sync::Arc;
use std::time::Duration;

const SUBJECT: &str = "locks";
/// If this process dies meanwhile, another doctor finds the name free after this time.
const TTL: Duration = Duration::from_secs(5);
/// For the lock of another doctor.
const WAIT: Duration = Duration::from_secs(3);
/// How often a claim that is not settled yet is released.
const RELEASES: usize = 5;

/// Takes the lock of the reserved name and gives it back. Nothing of it stays in the store but what every name leaves that was
/// used once.
///
/// `None` where there is only one lock, which is somebody else's business.
pub(crate) async fn trial(core: &Arc<Core>) -> Option<Finding> {
    let info = core.backend.info();
    if !info.capabilities.names {
        return None;
    }
    Some(match attempt(core).await {
        Ok(finding) => finding,
        Err(e) if info.names_are_given && matches!(e.kind(), ErrorKind::Denied | ErrorKind::NotFound) => {
            let why = format!(
                "no lock was tried, because names are those of others here, and the name {RESERVED} is not among them: {e}"
            );
            Finding::limits(SUBJECT, why)
        }
        Err(e) => Finding::breaks(SUBJECT, format!("a lock could not be taken and given back: {e}")),
    })
}

async fn attempt(core: &Arc<Core>) -> Result<Finding> {
    let ttl = TTL.max(core.backend.info().capabilities.min_ttl);
    let lock = Mutex::new(core.clone(), RESERVED).lease(Lease::fixed(ttl));
    let Some(guard) = lock.try_lock_for(WAIT).await? else {
        let message = format!("the lock {RESERVED} is taken, by another doctor perhaps; try again");
        return Ok(Finding::limits(SUBJECT, message));
    };
    let backend = core.backend.clone();
    let is_granted_twice = match core.backend.info().capabilities.distinct {
        true => core.on_engine(async move { second(&*backend, ttl).await }).await?,
        // The release of the second claim would free the first.
        false => false,
    };
    let released = guard.release().await?;
    leave_no_file(core).await;
    if is_granted_twice {
        let message = "a lock that was held was granted a second time: this server only pretends to lock";
        return Ok(Finding::voids(SUBJECT, message));
    }
    Ok(match released {
        Released::Yes | Released::StillHeld(_) => {
            Finding::ok(SUBJECT, "a lock was taken, kept from a second holder, and given back")
        }
        Released::AlreadyLost => {
            let message = "a lock that was granted was unknown when it was given back: something deletes locks, or answers for another server";
            Finding::voids(SUBJECT, message)
        }
    })
}

/// Whether the lock is granted to a second claim, which the client itself does not know.
async fn second(backend: &dyn Backend, ttl: Duration) -> Result<bool> {
    let claim = Claim::new(Name::new(RESERVED)?, Mode::Exclusive, ttl);
    let asked = backend.acquire(&claim, Until::Now).await;
    if matches!(asked, Ok(Acquired::Busy)) {
        return Ok(false);
    }
    for _ in 0..RELEASES {
        let released = backend.release(&claim, Leave::used(1)).await;
        if !matches!(released, Err(_) | Ok(Release::Unsettled { .. })) {
            break;
        }
    }
    asked.map(|asked| matches!(asked, Acquired::Granted(_)))
}

/// Where the files of names stay, that of this name does not.
async fn leave_no_file(core: &Arc<Core>) {
    let order = PruneOrder::unused_for(Duration::ZERO).prefix(RESERVED);
    let asked = core.clone();
    let _ = core.on_engine(async move { asked.admin()?.prune(&order, None).await }).await;
}

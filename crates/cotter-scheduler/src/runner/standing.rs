//! Jobs for which this process stands by: it says so once, with the reason, and lists itself for as long as it does.

use super::agenda::Entry;
use super::context::Context;
use super::snapshot::Observation;
use crate::notes::standby;
use crate::{EventKind, UnixTime};
use std::sync::Arc;

/// Reports that this process has begun to stand by for a job, goes on to, or no longer does.
pub(super) fn observed(context: &Arc<Context>, entry: &mut Entry, seen: &Observation, now: UnixTime) {
    let job = entry.snapshot.name().clone();
    let stands_by = seen.stands_by.is_some();
    let has_changed = std::mem::replace(&mut entry.stands_by, stands_by) != stands_by;
    let is_old = entry.told.is_none_or(|told| now.since(told) >= standby::REPEATED);
    if has_changed || stands_by && is_old {
        entry.told = stands_by.then_some(now);
        tell(context, &job, stands_by, now);
    }
    if has_changed {
        let kind = seen.stands_by.clone().map_or(EventKind::Active, |why| EventKind::Standby { why });
        context.emit(&job, kind);
    }
}

/// Writes whether this process stands by for a job. It is only shown: what cannot be written now is written again later.
fn tell(context: &Arc<Context>, job: &Arc<str>, stands_by: bool, now: UnixTime) {
    let (context, job) = (context.clone(), job.clone());
    tokio::spawn(async move {
        let _place = context.reads.acquire().await.expect("never closed");
        let settings = &context.settings;
        let _ = standby::tell(&settings.client, &settings.group, &job, &settings.host, stands_by, now).await;
    });
}

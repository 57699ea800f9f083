//! Watches the requests of operators, in one task for the whole group.

use super::context::{Context, Halt, Stop};
use crate::notes::{GROUP, Loaded, load_changed, load_control};
use crate::{EventKind, UnixTime};
use std::sync::Arc;
use std::time::Duration;

/// A wait for a change is repeated after this, so that an outage of the store is noticed, and the loss of its data.
const MAX_CHANGE_WAIT: Duration = Duration::from_secs(60);

/// All requests are loaded again after this: whoever has made one may have died before it told the runners.
const RELOAD_INTERVAL: Duration = Duration::from_secs(300);

/// What was loaded last.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seen {
    /// The revision of the note of the group.
    revision: u64,
    /// When all requests were loaded.
    at: UnixTime,
}

/// Loads and publishes all current requests.
pub(super) async fn load(context: &Context) -> Result<Seen, Halt> {
    let (client, group, at) = (&context.settings.client, &context.settings.group, context.clock.now());
    let loaded = context.ask(Stop::Starts, || load_control(client, group)).await?;
    Ok(Seen { revision: publish(context, loaded)?, at })
}

/// Adds what was loaded to what is known. Returns the revision of the note of the group.
fn publish(context: &Context, loaded: Loaded) -> Result<u64, Halt> {
    let (revision, known) = (loaded.revision(), context.control.borrow().clone());
    let mut control = loaded.parse(&known)?;
    control.expire(context.clock.now());
    context.control.send_replace(Arc::new(control));
    Ok(revision)
}

/// Publishes changes for as long as the runner starts runs.
pub(super) async fn listen(context: Arc<Context>, mut seen: Seen) {
    let mut is_told = false;
    loop {
        match next(&context, seen).await {
            Ok(now) => (seen, is_told) = (now, false),
            Err(Halt::Stopped) => return,
            Err(Halt::Failed(error)) if !std::mem::replace(&mut is_told, true) => {
                context.emit_group(EventKind::RequestsUnreadable { error: error.to_string() });
                context.clock.sleep(MAX_CHANGE_WAIT).await;
            }
            Err(_) => context.clock.sleep(MAX_CHANGE_WAIT).await,
        }
    }
}

/// Waits for a change and publishes it. Returns what was seen.
async fn next(context: &Context, seen: Seen) -> Result<Seen, Halt> {
    let (client, group) = (&context.settings.client, &context.settings.group);
    let wait = (seen.at + RELOAD_INTERVAL).since(context.clock.now()).min(MAX_CHANGE_WAIT);
    let changed = || client.note_changed(group, GROUP, seen.revision, wait);
    let Some(note) = context.ask(Stop::Starts, changed).await? else { return unchanged(context, seen).await };
    let known = context.control.borrow().clone();
    let loaded = context.ask(Stop::Starts, || load_changed(client, group, note.clone(), &known)).await?;
    Ok(Seen { revision: publish(context, loaded)?, ..seen })
}

/// The revision is the same, or there is no note. If the store has lost its data since, the note is another one all the same.
async fn unchanged(context: &Context, seen: Seen) -> Result<Seen, Halt> {
    let (client, group) = (&context.settings.client, &context.settings.group);
    let note = context.ask(Stop::Starts, || client.note_at(group, GROUP)).await?;
    let is_due = context.clock.now() >= seen.at + RELOAD_INTERVAL;
    let is_known = context.control.borrow().is_of(note.as_ref(), context.clock.now())?;
    if is_due || !is_known { load(context).await } else { Ok(seen) }
}

//! Watches the requests of operators, in one task for the whole group.

use super::context::{Context, Halt, Stop};
use crate::EventKind;
use crate::notes::{GROUP, load_changed, load_control};
use std::sync::Arc;
use std::time::Duration;

/// A wait for a change is repeated after this, so that an outage of the store is noticed.
const MAX_CHANGE_WAIT: Duration = Duration::from_secs(60);

/// Loads the current requests and returns the revision of the note to watch.
pub(super) async fn load(context: &Context) -> Result<u64, Halt> {
    let (client, group) = (&context.settings.client, &context.settings.group);
    let loaded = context.ask(Stop::Starts, || load_control(client, group)).await?;
    let revision = loaded.revision();
    let known = context.control.borrow().clone();
    context.control.send_replace(Arc::new(loaded.parse(&known)?));
    Ok(revision)
}

/// Publishes changes for as long as the runner starts runs.
pub(super) async fn listen(context: Arc<Context>, mut seen: u64) {
    let mut is_told = false;
    loop {
        match next(&context, seen).await {
            Ok(revision) => (seen, is_told) = (revision, false),
            Err(Halt::Stopped) => return,
            Err(Halt::Failed(error)) if !std::mem::replace(&mut is_told, true) => {
                context.emit_group(EventKind::RequestsUnread { error: error.to_string() });
                context.clock.sleep(MAX_CHANGE_WAIT).await;
            }
            Err(_) => context.clock.sleep(MAX_CHANGE_WAIT).await,
        }
    }
}

/// Waits for a change and publishes it. Returns the revision that was seen.
async fn next(context: &Context, seen: u64) -> Result<u64, Halt> {
    let (client, group) = (&context.settings.client, &context.settings.group);
    let changed = || client.note_changed(group, GROUP, seen, MAX_CHANGE_WAIT);
    let Some(note) = context.ask(Stop::Starts, changed).await? else { return Ok(seen) };
    let (revision, known) = (note.revision, context.control.borrow().clone());
    let loaded = context.ask(Stop::Starts, || load_changed(client, group, note.clone(), &known)).await?;
    context.control.send_replace(Arc::new(loaded.parse(&known)?));
    Ok(revision)
}

//! Watches the requests of operators, in one task for the whole group.

use super::context::{Context, Halt, Stop};
use crate::notes::{CONTROL, Control};
use cotter::Note;
use std::sync::Arc;
use std::time::Duration;

/// A wait for a change is repeated after this, so that an outage of the store is noticed.
const MAX_CHANGE_WAIT: Duration = Duration::from_secs(60);

/// Loads the current requests and returns their revision.
pub(super) async fn load(context: &Context) -> Result<u64, Halt> {
    let (client, group) = (&context.settings.client, &context.settings.group);
    match context.ask(Stop::Starts, || client.note_at(group, CONTROL)).await? {
        Some(note) => publish(context, &note),
        None => Ok(0),
    }
}

/// Publishes changes for as long as the runner starts runs.
pub(super) async fn listen(context: Arc<Context>, mut seen: u64) {
    let (client, group) = (&context.settings.client, &context.settings.group);
    loop {
        let asked =
            context.ask(Stop::Starts, || client.note_changed(group, CONTROL, seen, MAX_CHANGE_WAIT)).await;
        let revision = match asked {
            Ok(Some(note)) => publish(&context, &note),
            Ok(None) => continue,
            Err(halt) => Err(halt),
        };
        match revision {
            Ok(revision) => seen = revision,
            Err(Halt::Stopped) => return,
            Err(_) => context.clock.sleep(MAX_CHANGE_WAIT).await,
        }
    }
}

fn publish(context: &Context, note: &Note) -> Result<u64, Halt> {
    let control = Control::parse(&note.bytes)?;
    context.control.send_replace(Arc::new(control));
    Ok(note.revision)
}

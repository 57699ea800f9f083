//! Hears what operators ask, in one task for the whole group.

use super::context::{Context, Halt, Stop};
use crate::notes::{CONTROL, Control};
use cotter::Note;
use std::sync::Arc;
use std::time::Duration;

/// A wait for a change ends so often, so that a store that is down is noticed.
const WAIT: Duration = Duration::from_secs(60);

/// The requests as they stand now, and their revision.
pub(super) async fn load(context: &Context) -> Result<u64, Halt> {
    let (client, group) = (&context.settings.client, &context.settings.group);
    match context.ask(Stop::Starts, || client.note_at(group, CONTROL)).await? {
        Some(note) => heard(context, &note),
        None => Ok(0),
    }
}

/// Goes on for as long as the runner starts anything.
pub(super) async fn listen(context: Arc<Context>, mut seen: u64) {
    let (client, group) = (&context.settings.client, &context.settings.group);
    loop {
        let asked = context.ask(Stop::Starts, || client.note_changed(group, CONTROL, seen, WAIT)).await;
        let heard = match asked {
            Ok(Some(note)) => heard(&context, &note),
            Ok(None) => continue,
            Err(halt) => Err(halt),
        };
        match heard {
            Ok(revision) => seen = revision,
            Err(Halt::Stopped) => return,
            Err(_) => context.clock.sleep(WAIT).await,
        }
    }
}

fn heard(context: &Context, note: &Note) -> Result<u64, Halt> {
    let control = Control::parse(&note.bytes)?;
    context.control.send_replace(Arc::new(control));
    Ok(note.revision)
}

//! One-shot runs: taken before they start, and removed when they are over.

use super::context::{Context, Halt, Stop};
use crate::Result;
use crate::notes::OneShotKey;
use crate::notes::one_shots::{self, Edit};
use cotter::Note;
use std::sync::Arc;

/// Takes a run, under a lock with this token. Returns false if it was cancelled or is over.
pub(super) async fn take(context: &Context, key: &OneShotKey, token: u64) -> Result<bool, Halt> {
    let is_there = edit(context, Stop::Starts, key, |note| one_shots::take(note, key, token)).await?;
    if !is_there {
        drop_known(context, key);
    }
    Ok(is_there)
}

/// Removes a run that is over.
pub(super) async fn remove(context: &Context, key: &OneShotKey) -> Result<(), Halt> {
    edit(context, Stop::Runs, key, |note| one_shots::remove(note, key)).await?;
    drop_known(context, key);
    Ok(())
}

/// The same, if this process knows of it. If it does not, it comes to know of it, or the next run removes it.
pub(super) async fn remove_if_known(context: &Context, key: &OneShotKey) -> Result<(), Halt> {
    let is_known = context.control.borrow().has_one_shot(key);
    if is_known { remove(context, key).await } else { Ok(()) }
}

/// Forgets a run that is no longer in the store. Others find out for themselves.
fn drop_known(context: &Context, key: &OneShotKey) {
    context.control.send_if_modified(|control| {
        Arc::make_mut(control).drop_one_shot(key);
        false
    });
}

/// Changes the note with this run by compare-and-set. A lost reply is no problem: the change is found to be made.
async fn edit<T>(
    context: &Context,
    until: Stop,
    key: &OneShotKey,
    change: impl Fn(Option<&Note>) -> Result<Edit<T>>,
) -> Result<T, Halt> {
    let (client, group) = (&context.settings.client, &context.settings.group);
    let place = one_shots::note_key(&key.id);
    loop {
        let note = context.ask(until, || client.note_at(group, &place)).await?;
        let Edit { write, result } = change(note.as_ref())?;
        let Some((seen, bytes)) = write else { return Ok(result) };
        let swapped = context.ask(until, || client.swap_note(group, &place, seen, bytes.clone())).await?;
        if swapped.is_some() {
            return Ok(result);
        }
    }
}

//! Reading and changing the note of a latch.

use super::LatchEnd;
use super::parties::{KEY, Parties};
use crate::backend::Until;
use crate::engine::timing::LATCH_POLL;
use crate::engine::{Core, Patience};
use crate::{Error, ErrorKind, Moment, Name, Note, Result};

/// The change of a latch.
pub(super) enum Change<T> {
    /// It stays as it is.
    Keep(T),
    Write(Option<Parties>, T),
}

/// The note of a latch, as it was read.
struct Read {
    revision: u64,
    latch: Option<Parties>,
}

impl Read {
    fn of(name: &Name, note: Option<&Note>) -> Result<Self> {
        Ok(Self { revision: note.map_or(0, |n| n.revision), latch: Parties::read(name, note)? })
    }
}

async fn load(core: &Core, name: &Name) -> Result<Read> {
    Read::of(name, core.notes()?.load(name, KEY).await?.as_ref())
}

pub(super) async fn read(core: &Core, name: &Name) -> Result<Option<Parties>> {
    Ok(load(core, name).await?.latch)
}

/// Changes a latch by compare-and-set, until nobody else was in between. `change` is repeated also after a lost answer:
/// it has to recognize what it has done already.
pub(super) async fn update<T>(
    core: &Core,
    name: &Name,
    mut change: impl FnMut(Option<Parties>) -> Result<Change<T>> + Send,
) -> Result<T> {
    let mut patience = Patience::new();
    loop {
        match attempt(core, name, &mut change).await {
            Ok(Some(done)) => return Ok(done),
            Ok(None) => patience.overtaken(core).await,
            Err(e) => patience.failed(core, e, None).await?,
        }
    }
}

/// `None` if somebody else has changed it in between.
async fn attempt<T>(
    core: &Core,
    name: &Name,
    change: &mut (impl FnMut(Option<Parties>) -> Result<Change<T>> + Send),
) -> Result<Option<T>> {
    let Read { revision, latch } = load(core, name).await?;
    match change(latch)? {
        Change::Keep(done) => Ok(Some(done)),
        Change::Write(latch, done) => {
            let text = Parties::text(latch.as_ref());
            Ok(core.swap()?.swap(name, KEY, revision, text.as_bytes()).await?.map(|_| done))
        }
    }
}

/// Waits until the latch opens or is gone; `None` at the end of the wait.
pub(super) async fn wait(core: &Core, name: &Name, end: Option<Moment>) -> Result<Option<LatchEnd>> {
    let mut patience = Patience::new();
    let (mut first, mut changed) = (None, None);
    loop {
        let read = match changed.take() {
            Some(note) => Read::of(name, Some(&note)),
            None => load(core, name).await,
        };
        let seen = match read {
            Ok(Read { revision, latch }) => match ended(latch.as_ref(), &mut first) {
                Some(end) => return Ok(Some(end)),
                None => revision,
            },
            Err(e) => {
                patience.failed(core, e, end).await?;
                continue;
            }
        };
        patience.answered();
        if end.is_some_and(|end| core.now() >= end) {
            return Ok(None);
        }
        // A latch whose note was deleted in the store changes no more.
        let look = core.now() + LATCH_POLL;
        let until = Until::Moment(end.map_or(look, |end| end.min(look)));
        match core.notes()?.changed(name, KEY, seen, until).await {
            Ok(note) => changed = note,
            Err(e) => patience.failed(core, e, end).await?,
        }
    }
}

/// Whether the latch that was seen first has come to its end.
fn ended(latch: Option<&Parties>, first: &mut Option<u128>) -> Option<LatchEnd> {
    let Some(latch) = latch else { return Some(LatchEnd::Gone) };
    if *first.get_or_insert(latch.id) != latch.id {
        return Some(LatchEnd::Gone);
    }
    (latch.left() == 0).then_some(LatchEnd::Open)
}

pub(super) fn gone(name: &Name) -> Error {
    Error::new(ErrorKind::NotFound, "there is no latch of this name; create it first").with_name(name)
}

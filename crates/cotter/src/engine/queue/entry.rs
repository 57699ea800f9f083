//! The first look of a request at its line.

use crate::backend::Until;
use crate::engine::grant::hold::Hold;
use crate::engine::line::request::Request;
use crate::engine::line::state::{Holding, Place, State};
use crate::engine::line::todo::Todo;
use crate::{Error, ErrorKind, Guard, LossCause, Lost, Mode};
use std::sync::Arc;

/// What a request finds.
pub(super) enum Found {
    Place(Place<Hold>),
    /// The same owner holds the lock.
    Again(Guard),
    /// The same owner held the lock, whose time was over meanwhile. Whoever notes that needs the line.
    Overdue(Arc<Hold>, LossCause),
    Barred(Error),
}

/// Whether the owner of a request holds the lock already, and otherwise its place in the line.
pub(super) fn enter(
    state: &mut State<Hold>,
    request: &Request,
    until: Until,
    is_patient: bool,
) -> (Found, Todo) {
    if let Some(held) = state.mixed_with(request.mode) {
        return (Found::Barred(mixed(held).with_name(&request.name)), Todo::NOTHING);
    }
    if let Some(found) = found_by_owner(state, request) {
        return (found, Todo::NOTHING);
    }
    let (place, todo) = state.enter(request, until, is_patient);
    (Found::Place(place), todo)
}

/// This process uses the name as a lock and not as a semaphore, or vice versa.
fn mixed(held: Mode) -> Error {
    let (is, wanted) = if held.is_permits() { ("a semaphore", "a lock") } else { ("a lock", "a semaphore") };
    Error::new(ErrorKind::LimitMismatch, format!("this process uses the name as {is}, not as {wanted}"))
}

fn found_by_owner(state: &State<Hold>, request: &Request) -> Option<Found> {
    let owner = request.owner.as_ref()?;
    let hold = state.hold_of(owner).filter(|_| !request.mode.is_permits());
    hold.map(|hold| re_enter(hold, request)).or_else(|| {
        let lost = state.lost_by(owner)?;
        Some(Found::Barred(loss(lost, lost.loss().unwrap_or(LossCause::Gone)).into()))
    })
}

/// Under the lock of the line: its last guard must not be given back, nor the lock pass on, between the look and the re-entry.
fn re_enter(hold: &Arc<Hold>, request: &Request) -> Found {
    if request.mode.is_exclusive() && !hold.mode().is_exclusive() {
        let why = "its owner holds it for reading; release that before writing";
        return Found::Barred(Error::new(ErrorKind::Upgrade, why).with_name(&request.name));
    }
    match hold.loss() {
        Some(cause) => Found::Overdue(hold.clone(), cause),
        None => {
            let (serial, token) = hold.re_enter();
            Found::Again(Guard::new(hold.clone(), serial, token))
        }
    }
}

pub(super) fn loss(hold: &Hold, cause: LossCause) -> Lost {
    Lost { name: hold.name().clone(), token: hold.grant.number.into(), cause }
}

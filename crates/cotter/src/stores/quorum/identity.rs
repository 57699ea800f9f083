//! Which server each member is: one that has two addresses has one vote.

use super::seats::member;
use super::shortage::the_same;
use crate::Result;
use crate::backend::Backend;
use crate::sync::lock;
use std::sync::Mutex;

/// The servers behind the members, as far as they are known; shared by all connections.
#[derive(Debug)]
pub(super) struct Identities(Mutex<Vec<Option<String>>>);

impl Identities {
    pub(super) fn of(members: usize) -> Self {
        Self(Mutex::new(vec![None; members]))
    }

    /// Returns an error if the server behind this connection is one that another member has. An address can lead to another
    /// server after a reconnect, so this is asked after every answer; members keep it with their connection.
    pub(super) async fn verify(&self, seat: usize, backend: &dyn Backend) -> Result<()> {
        let Some(identity) = member(backend).identity().await? else { return Ok(()) };
        self.enter(seat, identity).map_err(|other| the_same(&backend.info().instance, other + 1))
    }

    /// Enters the server of a member, unless another one has it, which is returned.
    fn enter(&self, seat: usize, identity: String) -> Result<(), usize> {
        let mut all = lock(&self.0);
        if all[seat].as_ref() == Some(&identity) {
            return Ok(());
        }
        let other = all.iter().position(|known| known.as_ref() == Some(&identity));
        // It is not the server any more that it was: another member may have that one now.
        all[seat] = other.is_none().then_some(identity);
        other.map_or(Ok(()), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::Identities;

    #[test]
    fn servers_can_change_places() {
        let identities = Identities::of(2);
        let enter = |seat, server: &str| identities.enter(seat, server.into());
        assert_eq!((enter(0, "a"), enter(1, "b")), (Ok(()), Ok(())));
        assert_eq!(enter(0, "b"), Err(1), "the second member still has it, as far as is known");
        assert_eq!((enter(1, "a"), enter(0, "b")), (Ok(()), Ok(())));
        assert_eq!((enter(0, "a"), enter(0, "c"), enter(1, "a")), (Err(1), Ok(()), Ok(())));
    }
}

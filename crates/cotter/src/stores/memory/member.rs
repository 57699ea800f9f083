//! Being a member of a quorum.

use super::backend::Memory;
use crate::backend::{Acceptor, Claim, Grant, Member, Vote};
use crate::error::config;
use crate::{Name, Note, Result};
use async_trait::async_trait;
use std::future::Future;
use std::pin::Pin;

#[async_trait]
impl Member for Memory {
    fn join(&self, members: usize) -> Result<()> {
        match *self.shared.quorum.get_or_init(|| members) == members {
            true => Ok(()),
            false => Err(config("one store cannot be a member of two quorums")),
        }
    }

    async fn take(&self, claim: &Claim, at_least: u64) -> Result<Vote> {
        self.request(claim, |lock, now| lock.take_at_least(at_least, claim, now)).map(Vote::from)
    }

    async fn raise(&self, grant: &Grant, at_least: u64) -> Result<Option<Grant>> {
        self.request(&grant.claim, |lock, now| {
            Ok(lock.raise(grant.claim.id, at_least).filter(|h| h.ends > now.at))
        })
    }

    /// Hints are not told apart by name.
    fn freed(&self, _: &Name) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(self.shared.freed.clone().notified_owned())
    }

    async fn dated(&self, name: &Name, key: &str) -> Result<Option<(Note, u64)>> {
        Ok(self.shared.notes.dated(&(name.clone(), key.into())))
    }

    async fn mend(&self, name: &Name, key: &str, note: &Note, sequence: u64) -> Result<()> {
        self.shared.notes.write_newer((name.clone(), key.into()), &note.bytes, (note.token.get(), sequence));
        Ok(())
    }

    fn acceptor(&self) -> Option<&dyn Acceptor> {
        Some(self)
    }

    async fn identity(&self) -> Result<Option<String>> {
        Ok(Some(self.shared.number.to_string()))
    }
}

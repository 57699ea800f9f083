//! A member whose notes are swapped, with faults.

use super::backend::{FaultyBackend, unknown};
use super::faults::{Call, Fate};
use async_trait::async_trait;
use cotter::backend::{Acceptor, Member, Promise, Proposal};
use cotter::{Name, Result};
use std::time::Duration;

/// Half of the time after which the latest proposal arrives.
const LATE: Duration = Duration::from_secs(1);

impl FaultyBackend {
    fn inner_acceptor(&self) -> &dyn Acceptor {
        self.inner_member().acceptor().expect("asked for only where there is one")
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl Acceptor for FaultyBackend {
    async fn prepare(&self, name: &Name, key: &str, number: u64) -> Result<Promise> {
        self.pass(Call::Note, self.inner_acceptor().prepare(name, key, number)).await
    }

    async fn accept(&self, name: &Name, key: &str, proposal: &Proposal) -> Result<bool> {
        let fate = self.begin(Call::Accept).await?;
        if let Fate::Late(by) = fate {
            let (name, key, proposal) = (name.clone(), key.to_owned(), proposal.clone());
            self.later(self.faults.lateness(by, LATE), async move |inner| {
                if let Some(acceptor) = inner.member().and_then(Member::acceptor) {
                    drop(acceptor.accept(&name, &key, &proposal).await);
                }
            });
            return Err(unknown());
        }
        let answer = self.inner_acceptor().accept(name, key, proposal).await;
        self.faults.end(Call::Accept, &*self.clock).await;
        if fate == Fate::Through { answer } else { Err(unknown()) }
    }
}

//! `GET_LOCK`: the server keeps a name for a session, until the session gives it back or ends.
//!
//! The name that the server is given is a digest: those of users may be longer than what it takes, and some servers do not tell
//! capital letters from small ones.

use super::backend::{Held, Inner, Steps, seconds};
use super::connection::Connection;
use super::limits;
use super::statements::Statements;
use super::tokens::Seen;
use crate::Result;
use crate::backend::Claim;
use crate::stores::mysql::connector::Link;
use crate::stores::mysql::options::Options;
use crate::stores::mysql::rows::value;
use crate::stores::shared::sql::sessions::{Asked, Wait};

#[derive(Debug)]
pub(super) struct Advisory;

impl Steps for Advisory {
    const VARIANT: &'static str = "mysql in mode=advisory";
    const ORDERED: bool = true;

    fn new(_: &Options) -> Self {
        Self
    }

    fn lock_set(_: &Options) -> String {
        "advisory".into()
    }

    async fn check(&self, _: &Link) -> Result<()> {
        Ok(())
    }

    async fn lock(
        &self,
        inner: &Inner<Self>,
        session: &Connection,
        claim: &Claim,
        wait: Wait,
    ) -> Result<Asked<Held>> {
        let (name, as_of) = (&*claim.name, inner.parts.now());
        // A statement that reads a table keeps its definition locked for as long as it waits.
        let row = match wait {
            Wait::No => session.ask(&inner.statements.get_lock_and_look, (name, 0, name)).await?,
            _ => {
                let silence = inner.shared.options.session_timeout;
                session.tell(format!("SET SESSION {}", limits::waiting(silence))).await?;
                let asked = session.ask(&inner.statements.get_lock, (name, seconds(wait))).await;
                session.tell(format!("SET SESSION {}", limits::within(silence))).await?;
                asked?
            }
        };
        Ok(match value::<Option<u8>>(&row, 0)? {
            Some(1) if wait == Wait::No => Asked::Held(Held { seen: Some(Seen::new(&row, as_of)?) }),
            Some(1) => Asked::Held(Held { seen: None }),
            Some(_) => Asked::Busy { failed: false },
            None => Asked::Cancelled,
        })
    }

    async fn look(&self, inner: &Inner<Self>, session: &Connection, claim: &Claim) -> Result<Option<Seen>> {
        session.look(&inner.statements.look, &claim.name, inner.parts.now()).await
    }

    fn unlock(&self, statements: &Statements, claim: &Claim) -> String {
        format!("SELECT RELEASE_LOCK({})", statements.lock_of(&claim.name))
    }
}

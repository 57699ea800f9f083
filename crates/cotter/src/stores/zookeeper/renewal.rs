//! Extending grants: their session is kept alive anyway, so only their nodes are looked at.

use super::backend::Inner;
use super::errors::{Failure, NO_NODE};
use super::messages::Op;
use super::places::OwnNode;
use super::replies::Data;
use super::session::ServerSession;
use crate::backend::{ClaimId, Extension, Grant};
use crate::{LossCause, Result};

impl Inner {
    /// Looks at the nodes of all grants: one request each, sent together.
    pub(super) async fn extend(&self, grants: &[&Grant]) -> Vec<Result<Extension>> {
        let mut asked = Vec::with_capacity(grants.len());
        for grant in grants {
            asked.push(match self.places.get(grant.claim.id) {
                Some(OwnNode { session, node: Some(node), .. }) => match session.live().await {
                    Ok(live) => Ok((live.ask::<Data>(&Op::watch(&node.path)), session)),
                    Err(_) => Err(LossCause::SessionLost),
                },
                _ => Err(LossCause::Gone),
            });
        }
        let mut answers = Vec::with_capacity(grants.len());
        for (asked, grant) in asked.into_iter().zip(grants) {
            answers.push(match asked {
                Ok((node, session)) => judge(grant.claim.id, &session, node.await),
                Err(cause) => Ok(Extension::Lost(cause)),
            });
        }
        answers
    }
}

fn judge(id: ClaimId, session: &ServerSession, node: Result<Data, Failure>) -> Result<Extension> {
    match node {
        Ok(node) => Ok(match session.seats.read(id, &node) {
            Some(cause) => Extension::Lost(cause),
            None => Extension::extended(session.proof().0, None),
        }),
        Err(failure) if failure.is(NO_NODE) => Ok(Extension::Lost(session.seats.gone(id))),
        Err(failure) => {
            session.note(&failure);
            Err(failure.into())
        }
    }
}

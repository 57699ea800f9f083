//! Extending grants.

use super::backend::{EVICTED, Redisson};
use super::names;
use super::recipe::Recipe;
use crate::backend::{Claim, Extension, Grant, Mode};
use crate::stores::redis::errors::{Sent, explain, unexpected};
use crate::stores::redis::older::millis;
use crate::stores::redis::script;
use crate::stores::redis::state::text;
use crate::{LossCause, Moment, Result};
use std::time::Duration;

impl Redisson {
    /// Extends grants with one script.
    pub(super) async fn extend_batch(&self, grants: &[&Grant], ttl: Duration) -> Vec<Result<Extension>> {
        let answer = match self.recipe() {
            Recipe::Permits => self.extend_permits(grants, ttl).await,
            _ => self.extend_all(grants, ttl).await,
        };
        match answer {
            Ok((answer, as_of)) => {
                let mut answers = answer.split(' ');
                let next = |grant: &&Grant| {
                    let answer = answers.next().ok_or_else(|| unexpected("too few extensions"));
                    let extension = answer.and_then(|left| extension(left, as_of));
                    extension.map_err(|e| e.with_name(&grant.claim.name))
                };
                grants.iter().map(next).collect()
            }
            Err(e) => grants.iter().map(|grant| Err(e.clone().with_name(&grant.claim.name))).collect(),
        }
    }

    async fn extend_all(&self, grants: &[&Grant], ttl: Duration) -> Result<(String, Moment)> {
        let owners: Vec<String> = grants.iter().map(|grant| self.owner(&grant.claim)).collect();
        let leases: Vec<String> =
            grants.iter().zip(&owners).map(|(grant, owner)| lease(&grant.claim, owner)).collect();
        let keys = grants.iter().zip(&leases).flat_map(|(grant, lease)| [&*grant.claim.name, &**lease]);
        let keys: Vec<&str> = keys.collect();
        let wanted = millis(ttl).to_string();
        let mut args = vec![wanted.as_bytes(), EVICTED.as_bytes()];
        args.extend(owners.iter().map(String::as_bytes));
        let live = self.link.live().await?;
        let as_of = self.link.now();
        let answer = script::REDISSON_EXTEND.run(&live, &keys, &args).await;
        Ok((text(answer.map_err(|e| explain(e, Sent::Yes))?)?, as_of))
    }
}

/// The key with the lease of a claim: that of the lock, unless it is a reader.
fn lease(claim: &Claim, owner: &str) -> String {
    match claim.mode {
        Mode::Exclusive => claim.name.to_string(),
        _ => names::lease(&claim.name, owner, 1),
    }
}

fn extension(left: &str, as_of: Moment) -> Result<Extension> {
    match left {
        "-" => Ok(Extension::Lost(LossCause::Gone)),
        "e" => Ok(Extension::Lost(LossCause::Evicted)),
        _ => {
            let left = left.parse().map_err(|_| unexpected(left))?;
            Ok(Extension::Extended { as_of, ttl: Some(Duration::from_millis(left)) })
        }
    }
}

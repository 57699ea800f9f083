//! Renewing expiries: writing a later one over an earlier one that may not have arrived.

use super::getset::GetSet;
use crate::backend::{Claim, Extension, Grant};
use crate::stores::redis::errors::{Sent, explain, unexpected};
use crate::stores::redis::script;
use crate::stores::redis::state::text;
use crate::{LossCause, Moment, Result};
use std::time::Duration;

/// The extension of one grant.
struct Plan {
    expiry: u64,
    /// The expiries of this claim that the key may contain now. None for a claim that holds nothing: it is lost, whatever
    /// the key contains.
    ours: Vec<String>,
}

impl GetSet {
    /// Extends grants with one script.
    pub(super) async fn extend_all(
        &self,
        grants: &[&Grant],
        ttl: Duration,
    ) -> Result<Vec<Result<Extension>>> {
        let live = self.link.live().await?;
        let (as_of, now, expiry) = (self.link.now(), self.wall_millis(), self.expiry(ttl));
        let plans: Vec<Plan> = grants.iter().map(|grant| self.plan(&grant.claim, expiry)).collect();
        let (mut keys, mut args) = (Vec::new(), Vec::new());
        for (grant, plan) in grants.iter().zip(&plans) {
            keys.push(&*grant.claim.name);
            args.extend([plan.expiry.to_string(), plan.ours.len().to_string()]);
            args.extend_from_slice(&plan.ours);
        }
        let args: Vec<&[u8]> = args.iter().map(|argument| argument.as_bytes()).collect();
        let answer = script::GETSET_EXTEND.run(&live, &keys, &args).await;
        let answer = text(answer.map_err(|e| explain(e, Sent::Yes))?)?;
        let extension = |((grant, plan), written): ((&&Grant, Plan), char)| match written {
            'f' => {
                let left = Duration::from_millis((plan.expiry - 1).saturating_sub(now));
                self.written(&grant.claim, &plan.expiry.to_string(), as_of + left);
                Ok(Extension::Extended { as_of, ttl: Some(left) })
            }
            'n' => {
                self.not_written(&grant.claim, &plan);
                Ok(Extension::Lost(LossCause::Gone))
            }
            _ => Err(unexpected(&answer)),
        };
        Ok(grants.iter().zip(plans).zip(answer.chars()).map(extension).collect())
    }

    /// The expiry to write, never earlier than one before. It is recorded before it is sent: if no answer comes, the key
    /// may contain either.
    fn plan(&self, claim: &Claim, expiry: u64) -> Plan {
        let ours = self.shared.issued.get(claim.id).map(|holding| holding.values).unwrap_or_default();
        let expiry = ours.iter().map(|before| before.parse().unwrap_or_default()).fold(expiry, u64::max);
        let new = expiry.to_string();
        if !ours.contains(&new) {
            self.shared.issued.change(claim.id, |holding| holding.values.push(new));
        }
        Plan { expiry, ours }
    }

    /// The expiry was not written. If the key contains the same one, another client has written it in the same
    /// millisecond.
    fn not_written(&self, claim: &Claim, plan: &Plan) {
        let new = plan.expiry.to_string();
        if !plan.ours.contains(&new) {
            self.shared.issued.change(claim.id, |holding| holding.values.retain(|value| *value != new));
        }
    }

    /// The expiry was written: the key contains none of the earlier ones any more.
    fn written(&self, claim: &Claim, expiry: &str, until: Moment) {
        self.shared.issued.change(claim.id, |holding| {
            let known = holding.values.iter().position(|value| value == expiry).unwrap_or_default();
            holding.values.drain(..known);
            holding.until = holding.until.max(until);
        });
    }
}

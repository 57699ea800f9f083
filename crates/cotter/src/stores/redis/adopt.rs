//! Passing a grant from one claim to another.

use super::backend::Native;
use super::errors::{Sent, explain, unexpected};
use super::script;
use super::state::{Block, text};
use crate::backend::{Claim, Grant};
use crate::{Error, Result};

impl Native {
    /// Passes what `from` holds to `to`. Until this is answered, it is a request of `to` that may still arrive.
    pub(super) async fn pass(&self, from: &Claim, to: &Claim) -> Result<Option<Grant>> {
        let live = self.link.live().await?;
        let (holder, next, keys) = (from.id.hex(), to.id.hex(), self.keys.of(&to.name));
        let sent = self.now();
        let request = self.shared.in_flight.send(to.id, live.number, self.link.arrives_by(sent));
        let args: [&[u8]; 3] = [&holder, &next, to.label.as_bytes()];
        let answer = script::ADOPT.run(&live, &keys.all(), &args).await;
        let answer = answer.map_err(|e| explain(e, Sent::Yes).with_name(&to.name)).and_then(text);
        if !answer.as_ref().is_err_and(Error::outcome_unknown) {
            request.answered();
        }
        let answer = answer?;
        match answer.strip_prefix('g') {
            Some(digits) => {
                let block = Block::from_digits(digits).ok_or_else(|| unexpected(&answer))?;
                Ok(Some(Self::grant(to, block, sent)))
            }
            None if answer == "n" => Ok(None),
            None => Err(unexpected(&answer)),
        }
    }
}

//! Extending grants in native mode.

use super::backend::Native;
use super::errors::{Sent, explain, unexpected};
use super::names::LockKeys;
use super::script::{self, Script};
use super::state::{digits, extended, micros, text};
use crate::backend::{Extension, Grant};
use crate::{Moment, Result};
use std::time::Duration;

impl Native {
    /// Extends these grants with one script, and those of them that take more than the key of the lock with another one: shares,
    /// and what is lost.
    pub(super) async fn extend_batch(&self, grants: &[&Grant], ttl: Duration) -> Vec<Result<Extension>> {
        let keys: Vec<String> = grants.iter().map(|g| self.keys.lock(&g.claim.name)).collect();
        let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
        let mut answers = self.extend_with(&script::EXTEND, &keys, grants, ttl).await;
        let is_open = |answer: &Result<Option<Extension>>| matches!(answer, Ok(None));
        if answers.iter().any(is_open) {
            let open: Vec<&Grant> =
                grants.iter().zip(&answers).filter(|(_, answer)| is_open(answer)).map(|(g, _)| *g).collect();
            // Boxed, or the future of every renewal would have room for it.
            let mut told = Box::pin(self.extend_shares(&open, ttl)).await.into_iter();
            answers
                .iter_mut()
                .filter(|answer| is_open(answer))
                .zip(&mut told)
                .for_each(|(a, told)| *a = told);
        }
        let told = |answer: Result<Option<Extension>>| answer?.ok_or_else(|| unexpected("no extension"));
        answers.into_iter().map(told).collect()
    }

    async fn extend_shares(&self, grants: &[&Grant], ttl: Duration) -> Vec<Result<Option<Extension>>> {
        let keys: Vec<LockKeys> = grants.iter().map(|g| self.keys.of(&g.claim.name)).collect();
        let keys: Vec<&str> = keys.iter().flat_map(LockKeys::of_share).collect();
        self.extend_with(&script::EXTEND_SHARE, &keys, grants, ttl).await
    }

    /// `None` where the script cannot tell.
    async fn extend_with(
        &self,
        script: &Script,
        keys: &[&str],
        grants: &[&Grant],
        ttl: Duration,
    ) -> Vec<Result<Option<Extension>>> {
        let (wanted, px) = (micros(ttl), self.px(ttl));
        let ours: Vec<[u8; 49]> = grants.iter().map(|g| identity(g)).collect();
        let mut args: Vec<&[u8]> = vec![&wanted, px.as_bytes()];
        args.extend(ours.iter().map(<[u8; 49]>::as_slice));
        let live = match self.link.live().await {
            Ok(live) => live,
            Err(e) => return vec![Err(e); grants.len()],
        };
        let as_of = self.now();
        let answer = script.run(&live, keys, &args).await;
        match answer.map_err(|e| explain(e, Sent::Yes)).and_then(text) {
            Err(e) => vec![Err(e); grants.len()],
            Ok(fields) => grants.iter().enumerate().map(|(i, g)| extension(g, &fields, i, as_of)).collect(),
        }
    }
}

/// Claim id and first token, as the script compares them with the stored string.
fn identity(grant: &Grant) -> [u8; 49] {
    let mut text = [b' '; 49];
    text[..32].copy_from_slice(&grant.claim.id.hex());
    text[33..].copy_from_slice(&digits::<16>(grant.number));
    text
}

/// The answer for the `i`th grant: 14 characters each.
fn extension(grant: &Grant, fields: &str, i: usize, as_of: Moment) -> Result<Option<Extension>> {
    let field = fields.get(i * 14..(i + 1) * 14).ok_or_else(|| unexpected("too few extensions"))?;
    if field.starts_with('?') {
        return Ok(None);
    }
    let left = extended(field).map_err(|e| e.with_name(&grant.claim.name))?;
    Ok(Some(left.map_or_else(Extension::Lost, |ttl| Extension::Extended { as_of, ttl: Some(ttl) })))
}

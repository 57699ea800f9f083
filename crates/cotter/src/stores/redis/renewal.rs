//! Extending grants in native mode.

use super::backend::Native;
use super::errors::{Sent, explain, unexpected};
use super::script;
use super::state::{digits, extended, micros, text};
use crate::backend::{Extension, Grant};
use crate::{Moment, Result};
use std::time::Duration;

impl Native {
    /// Extends these grants with one script.
    pub(super) async fn extend_batch(&self, grants: &[&Grant], ttl: Duration) -> Vec<Result<Extension>> {
        let keys: Vec<String> = grants.iter().map(|g| self.keys.lock(&g.claim.name)).collect();
        let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
        let (wanted, px) = (micros(ttl), self.px(ttl));
        let ours: Vec<[u8; 49]> = grants.iter().map(|g| identity(g)).collect();
        let mut args: Vec<&[u8]> = vec![&wanted, px.as_bytes()];
        args.extend(ours.iter().map(<[u8; 49]>::as_slice));
        let live = match self.link.live().await {
            Ok(live) => live,
            Err(e) => return vec![Err(e); grants.len()],
        };
        let as_of = self.now();
        let answer = script::EXTEND.run(&live, &keys, &args).await;
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
fn extension(grant: &Grant, fields: &str, i: usize, as_of: Moment) -> Result<Extension> {
    let field = fields.get(i * 14..(i + 1) * 14).ok_or_else(|| unexpected("too few extensions"))?;
    let left = extended(field).map_err(|e| e.with_name(&grant.claim.name))?;
    Ok(left.map_or_else(Extension::Lost, |ttl| Extension::Extended { as_of, ttl: Some(ttl) }))
}

//! Being a member of a quorum whose notes are swapped.

use super::backend::Native;
use super::errors::unexpected;
use super::member::duration;
use super::script;
use super::state::{digits, text};
use super::voting::{vote, vote_for};
use crate::backend::{Acceptor, Promise, Proposal};
use crate::{Name, Result};
use async_trait::async_trait;
use redis::Value;

/// The answer to `note_prepare`.
fn promise(answer: Value) -> Result<Promise> {
    let Value::Array(fields) = answer else {
        let answer = text(answer)?;
        let left = answer.strip_prefix('a').ok_or_else(|| unexpected(&answer))?;
        return duration(left).map(Promise::Abstains);
    };
    let number = |bytes: &[u8]| std::str::from_utf8(bytes).ok()?.parse::<u64>().ok();
    let fields: Vec<_> = fields.into_iter().map(bytes).collect::<Result<_>>()?;
    let fields: Vec<_> = fields.iter().map(Vec::as_slice).collect();
    let promise = match *fields {
        [b"h"] => Some(Promise::WrittenByHolder),
        [b"r", promised] => number(promised).map(Promise::Refused),
        [b"p"] => Some(Promise::Given(None)),
        [b"p", by, origin, before, bytes] => {
            let before: Option<Vec<_>> =
                before.split(|b| *b == b' ').filter(|n| !n.is_empty()).map(number).collect();
            number(by).zip(number(origin)).zip(before).map(|((number, origin), before)| {
                Promise::Given(Some(Proposal::new(number, origin, before, bytes.to_vec())))
            })
        }
        _ => None,
    };
    promise.ok_or_else(|| unexpected("a promise that is none"))
}

fn bytes(field: Value) -> Result<Vec<u8>> {
    match field {
        Value::BulkString(bytes) => Ok(bytes),
        other => Err(unexpected(&format!("{other:?}"))),
    }
}

#[async_trait]
impl Acceptor for Native {
    async fn prepare(&self, name: &Name, key: &str, number: u64) -> Result<Promise> {
        let (live, key, number) = (self.link.live().await?, self.keys.note(name, key), digits::<16>(number));
        let answer = vote_for(&live, &self.shared, &script::NOTE_PREPARE, &[&key], &[&number], 0).await;
        answer.and_then(promise).map_err(|e| e.with_name(name))
    }

    async fn accept(&self, name: &Name, key: &str, proposal: &Proposal) -> Result<bool> {
        let (live, key) = (self.link.live().await?, self.keys.note(name, key));
        let (number, origin) = (digits::<16>(proposal.number), proposal.origin.to_string());
        let before: Vec<_> = proposal.before.iter().map(u64::to_string).collect();
        let before = before.join(" ");
        let args: [&[u8]; 4] = [&number, origin.as_bytes(), before.as_bytes(), &proposal.bytes];
        let answer = vote(&live, &self.shared, &script::NOTE_ACCEPT, &[&key], &args, 0).await;
        Ok(answer.map_err(|e| e.with_name(name))? == "y")
    }
}

//! Extending grants.

use super::backend::Lease;
use super::rows::{self, Changed, read_many, replace_many};
use super::schema::Tables;
use super::session::Session;
use super::state::Lock;
use crate::backend::{ClaimId, Extension, Grant};
use crate::stores::shared::sql::Boot;
use crate::{LossCause, Name, Result};
use std::collections::BTreeMap;
use std::time::Duration;

/// The number of grants that one request extends: a statement that reads their rows, and one that replaces them.
const BATCH: usize = 64;

/// The answer for a claim of the batch.
type Answer = (ClaimId, Result<Extension>);

impl Lease {
    pub(super) async fn extend_all(&self, grants: &[&Grant], ttl: Duration) -> Vec<Result<Extension>> {
        let mut all = Vec::with_capacity(grants.len());
        for batch in grants.chunks(BATCH) {
            let extended = self.extend_batch(batch, ttl).await;
            let of = |grant: &&&Grant| match &extended {
                Ok(answers) => {
                    let answer = answers.iter().find(|(id, _)| *id == grant.claim.id);
                    answer.map_or_else(|| Ok(Extension::Lost(LossCause::Gone)), |(_, answer)| answer.clone())
                }
                Err(e) => Err(e.clone()),
            };
            let answers: Vec<_> = batch.iter().map(|grant| of(&grant)).collect();
            for (grant, answer) in batch.iter().zip(&answers) {
                if let Ok(Extension::Extended { as_of, ttl: Some(ttl), .. }) = answer {
                    self.shared.kept.extended(grant.claim.id, *as_of + *ttl);
                }
            }
            all.extend(answers);
        }
        all
    }

    async fn extend_batch(&self, grants: &[&Grant], ttl: Duration) -> Result<Vec<Answer>> {
        // In order of name: batches that lock the same rows never wait for each other.
        let mut by_name = BTreeMap::<Name, Vec<ClaimId>>::new();
        for grant in grants {
            by_name.entry(grant.claim.name.clone()).or_default().push(grant.claim.id);
        }
        self.attempt(&self.link, |live| {
            let (by_name, servers) = (by_name.clone(), self.shared.servers.clone());
            async move {
                live.run(move |session| {
                    Box::pin(async move { extend(session, &servers.tables, by_name, ttl).await })
                })
                .await
            }
        })
        .await
    }
}

/// Extends claims on several names by one statement. Where others change one of the rows meanwhile, each is extended by itself:
/// nothing happens to a claim that is extended twice.
async fn extend(
    session: &mut Session,
    tables: &Tables,
    by_name: BTreeMap<Name, Vec<ClaimId>>,
    ttl: Duration,
) -> Result<Vec<Answer>> {
    if by_name.len() > 1 {
        let names: Vec<_> = by_name.keys().cloned().collect();
        let as_of = session.now();
        let (read, now) = read_many(session, tables, &names).await?;
        let (mut answers, mut next) = (Vec::new(), Vec::new());
        for ((name, ids), row) in by_name.iter().zip(read) {
            let step = row.step(name, Boot::OF_NO_MACHINE, now, |lock: &mut Lock, now| {
                Ok(ids.iter().map(|id| (*id, lock.extend(*id, ttl, now))).collect::<Vec<_>>())
            });
            match step {
                Ok(step) => {
                    let extended = |done| extension(Changed { done, now, as_of });
                    answers.extend(step.done.into_iter().map(|(id, done)| (id, Ok(extended(done)))));
                    next.extend(step.next.map(|next| (name, row, next)));
                }
                Err(e) => {
                    answers.extend(ids.iter().map(|id| (*id, Err(e.clone().with_backend(super::SCHEME)))))
                }
            }
        }
        if replace_many(session, tables, next).await? {
            return Ok(answers);
        }
    }
    let mut answers = Vec::new();
    for (name, ids) in by_name {
        for id in ids {
            let extend = |lock: &mut Lock, now| Ok(lock.extend(id, ttl, now));
            let answer = rows::change(session, tables, &name, extend).await.map(extension);
            // On another connection all of them may be asked about again.
            let broken = session.is_broken();
            answers.push((id, answer));
            if broken {
                return answers.pop().map_or(Ok(Vec::new()), |(_, last)| last.map(|_| answers));
            }
        }
    }
    Ok(answers)
}

fn extension(changed: Changed<Result<Duration, LossCause>>) -> Extension {
    let extended = |ttl| Extension::extended(changed.as_of, Some(ttl));
    changed.done.map_or_else(Extension::Lost, extended)
}

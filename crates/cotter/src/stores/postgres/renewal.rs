//! Extending grants.

use super::backend::{Lease, duration, hex, micros, one, value};
use super::errors::unexpected;
use super::live::Bound;
use crate::backend::{Extension, Grant};
use crate::{LossCause, Moment, Result};
use std::time::Duration;
use tokio_postgres::types::Type;

/// The number of grants that one statement extends. Their rows stay locked until it is done.
const BATCH: usize = 500;

impl Lease {
    pub(super) async fn extend_all(&self, grants: &[&Grant], ttl: Duration) -> Vec<Result<Extension>> {
        let mut answers = Vec::with_capacity(grants.len());
        for batch in grants.chunks(BATCH) {
            match self.extend_batch(batch, ttl).await {
                Ok((left, as_of)) => answers.extend(left.into_iter().map(|left| extension(left, as_of))),
                Err(e) => answers.extend(batch.iter().map(|_| Err(e.clone()))),
            }
        }
        answers
    }

    async fn extend_batch(&self, grants: &[&Grant], ttl: Duration) -> Result<(Vec<i64>, Moment)> {
        let names: Vec<&str> = grants.iter().map(|g| &*g.claim.name).collect();
        let ids: Vec<String> = grants.iter().map(|g| hex(g.claim.id)).collect();
        let ttl = micros(ttl);
        let bound: [Bound<'_>; 3] =
            [(&names, Type::TEXT_ARRAY), (&ids, Type::TEXT_ARRAY), (&ttl, Type::INT8)];
        let live = self.link.live().await?;
        let as_of = self.now();
        let read = |rows| value::<Vec<i64>>(&one(rows)?, 0);
        let is_any = |left: &Vec<i64>| left.iter().any(|left| *left >= 0);
        let left = live.write(&self.shared.statements.extend, &bound, read, is_any).await?;
        if left.len() != grants.len() {
            return Err(unexpected("a wrong number of extensions"));
        }
        Ok((left, as_of))
    }
}

/// The answer of the function for one grant: the time left, or why there is none.
fn extension(left: i64, as_of: Moment) -> Result<Extension> {
    match left {
        0.. => Ok(Extension::extended(as_of, Some(duration(left)))),
        -1 => Ok(Extension::Lost(LossCause::Gone)),
        -2 => Ok(Extension::Lost(LossCause::Evicted)),
        _ => Err(unexpected("a negative extension")),
    }
}

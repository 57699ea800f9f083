//! Notes: a row for each, which stays.

use super::backend::{Lease, hex, one, token, value};
use super::connector::Link;
use super::errors::{from_replica, unexpected};
use super::live::{Bound, Live};
use super::statements::Statements;
use crate::backend::poll::{self, NoteChange};
use crate::backend::{Grant, NoteAt, Notes, Until};
use crate::{Name, Note, Result};
use async_trait::async_trait;
use std::time::Duration;
use tokio_postgres::Row;
use tokio_postgres::types::Type;

/// A watched note is loaded this often.
const PERIOD: Duration = Duration::from_millis(250);

/// Loads the note beside a name.
pub(super) async fn load(
    link: &Link,
    statements: &Statements,
    name: &str,
    key: &str,
) -> Result<Option<Note>> {
    let bound: [Bound<'_>; 2] = [(&name, Type::TEXT), (&key, Type::TEXT)];
    let row = one(link.live().await?.rows(&statements.note_load, &bound).await?)?;
    if value(&row, 0)? {
        return Err(from_replica());
    }
    note(&row)
}

/// Writes the note beside a name, if its revision is still the one that was seen.
pub(super) async fn swap(
    link: &Link,
    statements: &Statements,
    name: &str,
    (key, seen): (&str, u64),
    bytes: &[u8],
) -> Result<Option<u64>> {
    let seen = number(seen);
    let bound: [Bound<'_>; 4] =
        [(&name, Type::TEXT), (&key, Type::TEXT), (&seen, Type::INT8), (&bytes, Type::BYTEA)];
    let live = link.live().await?;
    live.write(&statements.note_swap, &bound, |rows| revision(&one(rows)?), Option::is_some).await
}

/// Waits until a note has another revision.
pub(super) async fn changed<L, F>(link: &Link, seen: u64, until: Until, load: L) -> Result<Option<Note>>
where
    L: FnMut() -> F + Send,
    F: Future<Output = Result<Option<Note>>> + Send,
{
    poll::until(&**link.clock(), until, &mut NoteChange::new(seen, PERIOD, load)).await
}

#[async_trait]
impl Notes for Lease {
    async fn load(&self, name: &Name, key: &str) -> Result<Option<Note>> {
        load(&self.link, &self.shared.statements, name, key).await.map_err(|e| e.with_name(name))
    }

    async fn store(&self, grant: &Grant, at: NoteAt<'_>, bytes: &[u8]) -> Result<Option<u64>> {
        let (name, id) = (&grant.claim.name, hex(grant.claim.id));
        let (by, sequence, seen) = (number(at.token), number(at.sequence), at.seen.map(number));
        let bound: [Bound<'_>; 7] = [
            (&&**name, Type::TEXT),
            (&id, Type::TEXT),
            (&at.key, Type::TEXT),
            (&by, Type::INT8),
            (&sequence, Type::INT8),
            (&bytes, Type::BYTEA),
            (&seen, Type::INT8),
        ];
        let live = self.link.live().await?;
        store(&live, &self.shared.statements.note_store, &bound).await.map_err(|e| e.with_name(name))
    }

    async fn swap(&self, name: &Name, key: &str, seen: u64, bytes: &[u8]) -> Result<Option<u64>> {
        let swapped = swap(&self.link, &self.shared.statements, name, (key, seen), bytes).await;
        swapped.map_err(|e| e.with_name(name))
    }

    async fn changed(&self, name: &Name, key: &str, seen: u64, until: Until) -> Result<Option<Note>> {
        changed(&self.link, seen, until, || self.load(name, key)).await
    }
}

/// The database has no unsigned numbers. Tokens and revisions stay below 2^53.
pub(super) fn number(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

/// Writes the note of a holder, and returns its new revision. There is no row if it is based on another one than is there.
pub(super) async fn store(live: &Live, statement: &str, bound: &[Bound<'_>]) -> Result<Option<u64>> {
    let read = |rows: Vec<Row>| rows.first().map_or(Ok(None), revision);
    live.write(statement, bound, read, Option::is_some).await
}

/// The new revision; `None` if the write was refused.
fn revision(row: &Row) -> Result<Option<u64>> {
    let revision: Option<i64> = value(row, 0)?;
    revision.map(|r| u64::try_from(r).map_err(|_| unexpected("a negative revision"))).transpose()
}

fn note(row: &Row) -> Result<Option<Note>> {
    let Some(bytes) = value::<Option<Vec<u8>>>(row, 1)? else { return Ok(None) };
    Ok(Some(Note::new(bytes, token(row, 2)?, token(row, 3)?)))
}

//! The tables, and the functions that are the atomic steps.

use super::options::Options;
use crate::stores::shared::sql::{Mode, created};

/// The tables.
const TABLES: &str = include_str!("functions/tables.sql");

/// The functions, in the order in which they need each other. Those that clients call wait for a row for a second at most: whoever
/// keeps one locked by hand would otherwise hold up a session for each request.
const FUNCTIONS: [&str; 17] = [
    include_str!("functions/wake.sql"),
    include_str!("functions/sweep.sql"),
    include_str!("functions/acquire.sql"),
    include_str!("functions/release.sql"),
    include_str!("functions/extend.sql"),
    include_str!("functions/downgrade.sql"),
    include_str!("functions/adopt.sql"),
    include_str!("functions/set_limit.sql"),
    include_str!("functions/evict.sql"),
    include_str!("functions/note_store.sql"),
    include_str!("functions/note_swap.sql"),
    include_str!("functions/hold.sql"),
    include_str!("functions/holds.sql"),
    include_str!("functions/row.sql"),
    include_str!("functions/lock_in.sql"),
    include_str!("functions/note_hold.sql"),
    include_str!("functions/evict_hold.sql"),
];

/// A schema that is there is left alone: the statement that creates one requires a privilege even where it has nothing to do.
const SCHEMA: &str = "do $$ begin\n  if to_regnamespace('\"{schema}\"') is null then create schema \"{schema}\"; end if;\nend $$;\n\n";

/// Two sessions that create the same thing at once get an error, so each of them waits for the other. The number is any.
const ALONE: &str = "select pg_advisory_xact_lock(7164283501);\n";

/// The key of the advisory locks of sessions that listen, the first of two; the second one stands for the channel.
pub(super) const LISTENS: i32 = 716_428_351;

/// ShedLock's table, as it needs it.
const SHEDLOCK: &str = "create table if not exists {table} (\n  name varchar(64) primary key,\n  \
    lock_until timestamp(3) not null,\n  locked_at timestamp(3) not null,\n  locked_by varchar(255) not null\n);\n";

/// The statements that create everything that is missing, to be run in one transaction.
pub(super) fn statements(options: &Options) -> String {
    if options.common.mode == Mode::ShedLock {
        let schema = options.shedlock_schema().map(|schema| SCHEMA.replace("{schema}", schema));
        let table = SHEDLOCK.replace("{table}", &options.shedlock());
        return format!("{ALONE}{}{table}", schema.unwrap_or_default());
    }
    let mut all = String::from(ALONE);
    all.push_str(&SCHEMA.replace("{schema}", options.schema()));
    for part in std::iter::once(TABLES).chain(FUNCTIONS) {
        let part = part.replace("{cotter}", &options.qualified()).replace("{prefix}", &options.common.prefix);
        all.push_str(&part.replace("{listens}", &LISTENS.to_string()));
        all.push('\n');
    }
    all
}

/// The statements that drop it again. ShedLock's table belongs to its other users, too.
pub(super) fn drops(options: &Options) -> Option<String> {
    if options.common.mode == Mode::ShedLock {
        return None;
    }
    let all = statements(options);
    let list = |begin: &str| created(&all, begin).collect::<Vec<_>>().join(", ");
    let (tables, functions) = (list("create table if not exists "), list("create or replace function "));
    Some(format!("drop function if exists {functions};\ndrop table if exists {tables};\n"))
}

//! The statements of this store. Each is one call of a function, in a transaction of its own.

use super::options::Options;

/// The statements, with the names of the functions filled in.
#[derive(Debug)]
pub(super) struct Statements {
    pub(super) acquire: String,
    pub(super) release: String,
    pub(super) extend: String,
    pub(super) downgrade: String,
    pub(super) adopt: String,
    pub(super) set_limit: String,
    pub(super) evict: String,
    pub(super) note_load: String,
    pub(super) note_store: String,
    pub(super) note_swap: String,
    pub(super) list: String,
    pub(super) list_claims: String,
}

/// A condition that is always true. What sends reads to replicas leaves a statement with a volatile function to the primary.
pub(super) const ON_PRIMARY: &str = "pg_is_in_recovery() is not null";

/// The condition of a write by a holder: the note is the one whose revision it has read, or one of its own, of the same token.
/// Who holds the name sees all that holders before it have written.
pub(super) fn may_replace(qualified: &str, [name, key, token, seen]: [&str; 4]) -> String {
    format!(
        "{seen}::bigint is null or {seen} = coalesce((select case when token = {token} then {seen} else revision end \
         from {qualified}_note where name = {name} and key = {key}), 0)"
    )
}

impl Statements {
    pub(super) fn new(options: &Options) -> Self {
        let c = options.qualified();
        Self {
            acquire: format!(
                "select out_answer, out_number, out_turns, out_left, out_place from \
                 {c}_acquire_v1($1, $2::uuid, $3::\"char\", $4, $5, $6, $7, $8, $9, $10)"
            ),
            release: format!("select {c}_release_v1($1, $2::uuid, $3, $4)"),
            extend: format!("select {c}_extend_v1($1, $2::uuid[], $3)"),
            downgrade: format!("select out_number, out_left from {c}_downgrade_v1($1, $2::uuid)"),
            adopt: format!(
                "select out_number, out_turns, out_left from {c}_adopt_v1($1, $2::uuid, $3::uuid, $4)"
            ),
            set_limit: format!("select {c}_set_limit_v1($1, $2)"),
            evict: format!("select {c}_evict_v1($1, $2, $3)"),
            note_load: format!(
                "select pg_is_in_recovery(), n.bytes, n.token, n.revision from (select 1) as one \
                 left join {c}_note n on n.name = $1 and n.key = $2"
            ),
            note_store: format!(
                "select {c}_note_store_v1($1, $2::uuid, $3, $4, $5, $6) where {}",
                may_replace(&c, ["$1", "$3", "$4", "$7"])
            ),
            note_swap: format!("select {c}_note_swap_v1($1, $2, $3, $4)"),
            list: format!(
                "select name, claim is not null and until > t, number, label, last, crowd, \
                   (extract(epoch from since) * 1000000)::bigint, (extract(epoch from until - t) * 1000000)::bigint, turns \
                 from {c}_lock cross join (select clock_timestamp() as t offset 0) as clock \
                 where name > $1 and starts_with(name, $2) and ($3 or crowd or claim is not null and until > t) \
                 order by name limit $4"
            ),
            list_claims: format!(
                "select name, state = 'w', mode::text, take, number, label, \
                   (extract(epoch from since) * 1000000)::bigint, (extract(epoch from ends - t) * 1000000)::bigint, \
                   (select permits from {c}_lock l where l.name = c.name) \
                 from {c}_claim c cross join (select clock_timestamp() as t offset 0) as clock \
                 where name = any($1) and ends > t and state in ('w', 'g') order by name, number"
            ),
        }
    }
}

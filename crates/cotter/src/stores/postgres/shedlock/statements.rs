//! The statements. Each is a transaction of its own.

use crate::stores::postgres::options::Options;
use crate::stores::postgres::statements::ON_PRIMARY;

/// The statements, with the name of the table filled in.
#[derive(Debug)]
pub(super) struct Statements {
    pub(super) acquire: String,
    pub(super) extend: String,
    pub(super) release: String,
    pub(super) look: String,
    pub(super) list: String,
    pub(super) evict: String,
}

/// The clock of the database, as ShedLock stores it: a reading of UTC without a zone, whatever the zone of the session. It is that of
/// the statement's beginning, so a statement that has waited for the row takes no lock that has not ended yet.
const NOW: &str = "timezone('utc', current_timestamp)";
const MICROS: &str = "(extract(epoch from current_timestamp) * 1000000)::bigint";

impl Statements {
    pub(super) fn new(options: &Options) -> Self {
        let t = options.shedlock();
        let left = |until: &str| format!("(extract(epoch from {until} - {NOW}) * 1000000)::bigint");
        let ours = |mark: &str| format!("starts_with(s.locked_by, {mark} || ' ')");
        let held = format!("{} and s.lock_until > {NOW}", ours("$4"));
        // The one before may have been given while this statement was already on its way, and the clock may have been set back.
        let last = "coalesce(substring(s.locked_by from 'cotter:.* ([0-9]{1,16})$')::bigint, 0)";
        let number = format!("greatest({MICROS}, {last} + 1)");
        // What ends now ends at the last millisecond: the column would round it up, and the name would look taken.
        let at_once = format!("date_trunc('milliseconds', {NOW})");
        Self {
            acquire: format!(
                "insert into {t} as s (name, lock_until, locked_at, locked_by) \
                 values ($1, {NOW} + $2 * interval '1 microsecond', {NOW}, $3 || ' ' || {MICROS}) \
                 on conflict (name) do update set \
                   lock_until = case when {held} then s.lock_until else excluded.lock_until end, \
                   locked_at = case when {held} then s.locked_at else excluded.locked_at end, \
                   locked_by = case when {held} then s.locked_by else $3 || ' ' || {number} end \
                 where s.lock_until <= {NOW} or {held} \
                 returning s.locked_by, {}",
                left("s.lock_until")
            ),
            extend: format!(
                "with g as (select * from unnest($1::text[], $2::text[]) with ordinality as g(name, mark, number)), \
                 l as materialized (select s.name from {t} s join g on g.name = s.name \
                   where {} and s.lock_until > {NOW} order by s.name for update of s), \
                 u as (update {t} s set lock_until = greatest(s.lock_until, {NOW} + $3 * interval '1 microsecond') \
                   from l where s.name = l.name returning s.name, {} as rest) \
                 select u.rest, coalesce(starts_with(s.locked_by, 'evicted ' || g.mark || ' '), false) \
                 from g left join u on u.name = g.name left join {t} s on s.name = g.name order by g.number",
                ours("g.mark"),
                left("s.lock_until")
            ),
            release: format!(
                "with r as (update {t} s set \
                     lock_until = case when $3::bigint is null then {at_once} else {NOW} + $3 * interval '1 microsecond' end, \
                     locked_by = left('released ' || s.locked_by, 255) \
                   where s.name = $1 and ({} or {}) and s.lock_until > {NOW} returning 1) \
                 select case when exists (select from r) then 'f' \
                   when exists (select from {t} s where s.name = $1 and {}) then 'e' else 'n' end",
                ours("$2"),
                ours("('evicted ' || $2)"),
                ours("('evicted ' || $2)")
            ),
            look: format!(
                "select s.locked_by from {t} s where s.name = $1 and s.lock_until > {NOW} and {ON_PRIMARY}"
            ),
            list: format!(
                "select s.name, s.locked_by, s.lock_until > {NOW}, \
                   (extract(epoch from s.locked_at) * 1000000)::bigint, {} from {t} s \
                 where s.name collate \"C\" > $1 and starts_with(s.name, $2) and ($3 or s.lock_until > {NOW}) and {ON_PRIMARY} \
                 order by s.name collate \"C\" limit $4",
                left("s.lock_until")
            ),
            evict: format!(
                "update {t} s set locked_by = case when starts_with(s.locked_by, 'evicted ') then s.locked_by \
                     else left('evicted ' || s.locked_by, 255) end, \
                   lock_until = case when $3 then {at_once} else s.lock_until end \
                 where s.name = $1 and s.locked_by = $2 and s.lock_until > {NOW} returning 1"
            ),
        }
    }
}

//! The statements. Each is a transaction of its own.
//!
//! Each of them sets `lock_until`, if only to what it was: a `TIMESTAMP` column that was declared without a default may set itself to
//! the time of every other change.

use crate::stores::mysql::options::Options;
use crate::stores::mysql::schema::{CLOCK, TAKES_WRITES, on_primary, page_on_primary};
use crate::stores::shared::sql::shedlock::STEP;
use std::time::Duration;

/// The statements, with the name of the table filled in.
#[derive(Debug)]
pub(super) struct Statements {
    /// Inserts or replaces one row, or none.
    pub(super) acquire: String,
    pub(super) look: String,
    table: String,
    pub(super) release: String,
    pub(super) is_evicted: String,
    /// One name, as it is listed.
    pub(super) named: String,
    pub(super) list: String,
    pub(super) evict: String,
    pub(super) diagnose: String,
    /// What the column may cut off the end of a lease, which is added to it.
    pub(super) step: Duration,
}

/// The clock of the server, as ShedLock stores it: a reading of UTC. It stands still while a statement runs, so one that has waited
/// for a row takes no lock that has not ended yet.
const NOW: &str = "UTC_TIMESTAMP(6)";
/// The token of the holder before, if it was one of cotter's.
const LAST_TOKEN: &str = "IF(locked_by LIKE '%cotter:%' AND locked_by REGEXP ' [0-9]{1,16}$', \
    CAST(SUBSTRING_INDEX(locked_by, ' ', -1) AS SIGNED), 0)";
/// Moments as numbers: microseconds since 1970.
const EPOCH: &str = "TIMESTAMP'1970-01-01 00:00:00.000000'";

/// The condition on a column that it is the one of that table with the ends of leases.
fn lock_until(t: &str) -> String {
    format!(
        "column_name = 'lock_until' AND CONCAT('`', table_name, '`') = SUBSTRING_INDEX('{t}', '.', -1) \
         AND table_schema = IF('{t}' LIKE '%.%', TRIM(BOTH '`' FROM SUBSTRING_INDEX('{t}', '.', 1)), DATABASE())"
    )
}

/// Asks how many digits of a second the column keeps.
pub(super) fn precision(options: &Options) -> String {
    let of = lock_until(&options.shedlock('`'));
    on_primary(&format!(
        "SELECT COALESCE(MAX(DATETIME_PRECISION), 0) AS digits FROM information_schema.columns WHERE {of}"
    ))
}

impl Statements {
    /// `digits`: so many digits of a second are kept by the column.
    pub(super) fn new(options: &Options, digits: u32) -> Self {
        let t = options.shedlock('`');
        // Now, without what the column does not keep: that of some servers would round up, and the name would look taken.
        let at_once = format!("UTC_TIMESTAMP({})", digits.min(3));
        let step = STEP.max(Duration::from_secs(1) / 10_u32.pow(digits.min(6)));
        let later = format!("TIMESTAMPADD(MICROSECOND, ?, {NOW})");
        let left = format!("TIMESTAMPDIFF(MICROSECOND, {NOW}, lock_until)");
        let since = format!("TIMESTAMPDIFF(MICROSECOND, {EPOCH}, locked_at)");
        let listed =
            format!("name, locked_by, lock_until > {NOW} AS is_held, {since} AS since, {left} AS remaining");
        // The assignments run from left to right, and see the new values: what says whether the name was free comes last.
        let is_free = format!("lock_until <= {NOW}");
        // The token before may have been given while this statement was already on its way, and the clock may have been set back.
        let token = format!("LAST_INSERT_ID(GREATEST({CLOCK}, {LAST_TOKEN} + 1))");
        Self {
            acquire: format!(
                "INSERT INTO {t} (name, lock_until, locked_at, locked_by) \
                 SELECT ?, {later}, {NOW}, CONCAT(?, ' ', LAST_INSERT_ID({CLOCK})) FROM DUAL WHERE {TAKES_WRITES} \
                 ON DUPLICATE KEY UPDATE \
                 locked_by = IF({is_free}, CONCAT(?, ' ', {token}), locked_by), \
                 locked_at = IF({is_free}, {NOW}, locked_at), \
                 lock_until = IF({is_free}, {later}, lock_until)"
            ),
            look: on_primary(&format!(
                "SELECT {TAKES_WRITES} AS takes_writes, locked_by, {left} AS remaining FROM (SELECT 1) AS one \
                 LEFT JOIN {t} ON name = ? AND lock_until > {NOW}"
            )),
            release: format!(
                "UPDATE {t} SET lock_until = IF(?, {at_once}, {later}), \
                 locked_by = LEFT(CONCAT('released ', locked_by), 255) \
                 WHERE name = ? AND lock_until > {NOW} AND (locked_by LIKE ? OR locked_by LIKE ?) AND {TAKES_WRITES}"
            ),
            is_evicted: on_primary(&format!("SELECT 1 FROM {t} WHERE name = ? AND locked_by LIKE ?")),
            named: on_primary(&format!("SELECT {listed} FROM {t} WHERE name = ?")),
            list: page_on_primary(&format!(
                "SELECT {listed} FROM {t} \
                 WHERE name > ? AND (? = '' OR LOCATE(?, name) = 1) AND (? OR lock_until > {NOW})"
            )),
            evict: format!(
                "UPDATE {t} SET lock_until = IF(?, {at_once}, lock_until), \
                 locked_by = IF(locked_by LIKE 'evicted %', locked_by, LEFT(CONCAT('evicted ', locked_by), 255)) \
                 WHERE name = ? AND locked_by = ? AND lock_until > {NOW} AND {TAKES_WRITES}"
            ),
            diagnose: on_primary(&format!(
                "SELECT @@session.time_zone AS ours, @@global.time_zone AS theirs, DATA_TYPE \
                 FROM information_schema.columns WHERE {}",
                lock_until(&t)
            )),
            step,
            table: t,
        }
    }

    /// Extends this many claims, and gives the clock to `LAST_INSERT_ID` if there is one to extend. It takes the time, the names, and
    /// what marks the claims; a row with one of the marks is that claim's.
    pub(super) fn extend(&self, count: usize) -> String {
        let (t, holes) = (&self.table, vec!["?"; count].join(", "));
        let later = format!("TIMESTAMPADD(MICROSECOND, LAST_INSERT_ID({CLOCK}) + ?, {EPOCH})");
        format!(
            "UPDATE {t} SET lock_until = GREATEST(lock_until, {later}) \
             WHERE name IN ({holes}) AND SUBSTRING_INDEX(locked_by, ' ', 1) IN ({holes}) AND lock_until > {NOW} AND {TAKES_WRITES}"
        )
    }

    /// The holders of this many names, the ends of their leases, and whether these are in the future.
    pub(super) fn holders(&self, count: usize) -> String {
        let (t, holes) = (&self.table, vec!["?"; count].join(", "));
        on_primary(&format!(
            "SELECT locked_by, TIMESTAMPDIFF(MICROSECOND, {EPOCH}, lock_until) AS ends, lock_until > {NOW} AS is_held \
             FROM {t} WHERE name IN ({holes})"
        ))
    }
}

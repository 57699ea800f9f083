//! The tables, and the statements on them.

use super::options::Options;
use super::rows::holes;
use crate::stores::shared::sql::{ALONE, Mode, created};

/// Names are bytes: no two of them are equal by a collation.
const TABLES: &str = "\
CREATE TABLE IF NOT EXISTS `{prefix}_locks` (
  name VARBINARY(512) NOT NULL PRIMARY KEY,
  last_token BIGINT NOT NULL,
  state MEDIUMBLOB NOT NULL
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;
CREATE TABLE IF NOT EXISTS `{prefix}_notes` (
  name VARBINARY(512) NOT NULL,
  `key` VARBINARY(128) NOT NULL,
  token BIGINT NOT NULL,
  sequence BIGINT NOT NULL,
  revision BIGINT NOT NULL,
  value MEDIUMBLOB NOT NULL,
  PRIMARY KEY (name, `key`)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;
CREATE TABLE IF NOT EXISTS `{prefix}_floor` (
  id TINYINT NOT NULL PRIMARY KEY,
  token BIGINT NOT NULL
) ENGINE = InnoDB;
CREATE TABLE IF NOT EXISTS `{prefix}_session` (
  place VARBINARY(128) NOT NULL,
  name VARBINARY(512) NOT NULL,
  claim VARBINARY(32) NOT NULL DEFAULT '',
  session BIGINT UNSIGNED NOT NULL DEFAULT 0,
  marker VARBINARY(64) NOT NULL DEFAULT '',
  number BIGINT NOT NULL DEFAULT 0,
  turns INT NOT NULL DEFAULT 1,
  last_token BIGINT NOT NULL DEFAULT 0,
  since BIGINT NOT NULL DEFAULT 0,
  label VARCHAR(512) CHARACTER SET utf8mb4 NOT NULL DEFAULT '',
  evicted VARBINARY(32) NOT NULL DEFAULT '',
  PRIMARY KEY (place, name)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;
CREATE TABLE IF NOT EXISTS `{prefix}_row` (
  name VARBINARY(512) NOT NULL PRIMARY KEY
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;
INSERT IGNORE INTO `{prefix}_floor` (id, token) VALUES (1, 0);
";

/// ShedLock's table, as it needs it. Its own documentation has `TIMESTAMP` columns, whose values depend on the time zones of
/// sessions, and which cannot hold an hour that a zone skips; the statements are the same. Names are bytes here too.
const SHEDLOCK: &str = "\
CREATE TABLE IF NOT EXISTS {table} (
  name VARBINARY(256) NOT NULL PRIMARY KEY,
  lock_until DATETIME(3) NOT NULL,
  locked_at DATETIME(3) NOT NULL,
  locked_by VARCHAR(255) CHARACTER SET utf8mb4 NOT NULL
) ENGINE = InnoDB;
";

/// The statements that create everything that is missing.
pub(super) fn statements(options: &Options) -> String {
    if options.mode == Mode::ShedLock {
        return SHEDLOCK.replace("{table}", &options.shedlock('`'));
    }
    TABLES.replace("{prefix}", &options.prefix)
}

/// The statements that drop it again. ShedLock's table belongs to its other users, too.
pub(super) fn drops(options: &Options) -> Option<String> {
    if options.mode == Mode::ShedLock {
        return None;
    }
    let all = statements(options);
    let tables: Vec<_> = created(&all, "CREATE TABLE IF NOT EXISTS ").collect();
    Some(format!("DROP TABLE IF EXISTS {};\n", tables.join(", ")))
}

/// The clock of the server in microseconds since 1970, the same in sessions of all time zones. It stands still while a statement
/// runs.
pub(super) const CLOCK: &str = "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))";

/// Whether the server takes writes. `read_only` binds only some users: for others one that was made a replica goes on as it was,
/// while clients that come later have gone to another. These are numbers on some servers and words on others.
pub(super) const TAKES_WRITES: &str =
    "CAST(@@read_only AS CHAR) IN ('0', 'OFF') AND CAST(@@innodb_read_only AS CHAR) IN ('0', 'OFF')";

/// A read of what others have just written. What sends reads to replicas leaves a statement with a locking clause to the primary;
/// rows of an inner statement are not locked by it.
pub(super) fn on_primary(select: &str) -> String {
    format!("SELECT * FROM ({select}) AS found FOR UPDATE")
}

/// The same for a page of names, in their order.
pub(super) fn page_on_primary(select: &str) -> String {
    format!("SELECT * FROM ({select} ORDER BY name LIMIT ?) AS found ORDER BY name FOR UPDATE")
}

/// The condition of a write by a holder: the note is the one whose revision it has read, or one of its own, of the same token. Who
/// holds the name sees all that holders before it have written. It takes the revision twice, the token, the revision, the name
/// and the key.
pub(super) fn may_replace(notes: &str) -> String {
    format!(
        "(? IS NULL OR ? = COALESCE((SELECT IF(n.token = ?, ?, n.revision) FROM {notes} AS n WHERE n.name = ? AND n.`key` = ?), 0))"
    )
}

/// The update of a note that is there when one is inserted: the value of a later writer stays. The assignments run from left to
/// right, and see the new values.
pub(super) fn note_update() -> String {
    let newer = "(VALUES(token) > token OR VALUES(token) = token AND VALUES(sequence) > sequence)";
    format!(
        "ON DUPLICATE KEY UPDATE value = IF({newer}, VALUES(value), value), \
         revision = IF({newer}, LAST_INSERT_ID(revision + 1), revision), \
         sequence = IF({newer}, VALUES(sequence), sequence), token = GREATEST(token, VALUES(token))"
    )
}

/// The statements, with the names of the tables filled in.
#[derive(Debug)]
pub(super) struct Tables {
    pub(super) locks: String,
    /// Fails if a table is missing, or one of its columns.
    pub(super) check: String,
    pub(super) clock: String,
    pub(super) read: String,
    pub(super) insert: String,
    /// Takes a free name whose last token is known.
    pub(super) take_free: String,
    /// Frees a name whose row is known.
    pub(super) free: String,
    pub(super) update: String,
    pub(super) unused: String,
    pub(super) raise_floor: String,
    /// Followed by names in parentheses.
    pub(super) forget: String,
    pub(super) list: String,
    pub(super) note_load: String,
    pub(super) note_store: String,
    pub(super) note_create: String,
    pub(super) note_swap: String,
}

impl Tables {
    pub(super) fn new(options: &Options) -> Self {
        let [locks, notes, floor] =
            ["locks", "notes", "floor"].map(|table| format!("`{}_{table}`", options.prefix));
        let [token, tokens, since, ends, end] = ALONE;
        Self {
            check: match options.mode {
                Mode::ShedLock => {
                    let t = options.shedlock('`');
                    on_primary(&format!("SELECT name, lock_until, locked_at, locked_by FROM {t} LIMIT 0"))
                }
                Mode::Advisory => {
                    on_primary(&format!("SELECT 1 FROM `{0}_session`, {notes} LIMIT 0", options.prefix))
                }
                Mode::Row => {
                    let tables = format!("`{0}_session`, `{0}_row`, {notes}", options.prefix);
                    on_primary(&format!("SELECT 1 FROM {tables} LIMIT 0"))
                }
                Mode::Lease => on_primary(&format!("SELECT 1 FROM {locks}, {notes}, {floor} LIMIT 0")),
            },
            clock: on_primary(&format!("SELECT {CLOCK} AS clock")),
            read: on_primary(&format!(
                "SELECT {CLOCK} AS clock, {TAKES_WRITES} AS takes_writes, f.token, l.last_token, l.state FROM (SELECT 1) AS one \
                 LEFT JOIN {floor} AS f ON f.id = 1 LEFT JOIN {locks} AS l ON l.name = ?"
            )),
            insert: format!(
                "INSERT INTO {locks} (name, last_token, state) SELECT ?, ?, ? FROM DUAL WHERE {TAKES_WRITES}"
            ),
            update: format!(
                "UPDATE {locks} SET last_token = ?, state = ? \
                 WHERE name = ? AND last_token = ? AND state = ? AND {TAKES_WRITES}"
            ),
            unused: on_primary(&format!(
                "SELECT name FROM {locks} WHERE state = '' AND last_token < ? LIMIT 500"
            )),
            raise_floor: format!(
                "INSERT INTO {floor} (id, token) VALUES (1, ?) ON DUPLICATE KEY UPDATE token = GREATEST(token, VALUES(token))"
            ),
            forget: format!("DELETE FROM {locks} WHERE state = '' AND last_token < ? AND name IN "),
            take_free: format!(
                "UPDATE {locks} SET last_token = LAST_INSERT_ID({CLOCK}) + ?, \
                 state = CONCAT(?, '{token}', {CLOCK}, '{tokens}', ?, '{since}', {CLOCK} * 1000, '{ends}', {CLOCK} * 1000 + ?, '{end}') \
                 WHERE name = ? AND last_token = ? AND state = '' AND {CLOCK} >= ? AND {TAKES_WRITES}"
            ),
            free: format!(
                "UPDATE {locks} SET last_token = ?, state = '' WHERE name = ? AND last_token = ? AND state = ? AND {CLOCK} < ? AND {TAKES_WRITES}"
            ),
            list: page_on_primary(&format!(
                "SELECT {CLOCK} AS clock, name, last_token, state FROM {locks} \
                 WHERE name > ? AND name >= ? AND LEFT(name, LENGTH(?)) = ? AND (? OR state <> '')"
            )),
            note_load: on_primary(&format!(
                "SELECT value, token, revision FROM {notes} WHERE name = ? AND `key` = ?"
            )),
            note_store: format!(
                "INSERT INTO {notes} (name, `key`, token, sequence, revision, value) \
                 SELECT l.name, ?, ?, ?, LAST_INSERT_ID(1), ? FROM {locks} AS l \
                 WHERE l.name = ? AND l.last_token = ? AND l.state = ? AND {TAKES_WRITES} AND {} LOCK IN SHARE MODE {}",
                may_replace(&notes),
                note_update()
            ),
            note_create: format!(
                "INSERT INTO {notes} (name, `key`, token, sequence, revision, value) \
                 SELECT ?, ?, 0, 0, 1, ? FROM DUAL WHERE {TAKES_WRITES}"
            ),
            note_swap: format!(
                "UPDATE {notes} SET token = 0, sequence = 0, revision = revision + 1, value = ? \
                 WHERE name = ? AND `key` = ? AND revision = ? AND {TAKES_WRITES}"
            ),
            locks,
        }
    }

    /// Whether the server takes writes.
    pub(super) fn takes_writes() -> String {
        on_primary(&format!("SELECT {TAKES_WRITES} AS takes_writes"))
    }

    /// Reads the rows of this many names, and the server's clock.
    pub(super) fn read_many(&self, count: usize) -> String {
        on_primary(&format!(
            "SELECT {CLOCK} AS clock, {TAKES_WRITES} AS takes_writes, l.name, l.last_token, l.state FROM (SELECT 1) AS one \
             LEFT JOIN {} AS l ON l.name IN ({})",
            self.locks,
            holes(count)
        ))
    }
}

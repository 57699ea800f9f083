//! The statements about the rows of one place.

use crate::stores::mysql::options::Options;
use crate::stores::mysql::schema::{
    CLOCK, TAKES_WRITES, may_replace, note_update, on_primary, page_on_primary,
};
use std::fmt::Write;

/// The statements, with the place and the names of the tables filled in.
#[derive(Debug)]
pub(super) struct Statements {
    pub(super) place: String,
    digest: String,
    /// Takes the lock of a name: name, seconds.
    pub(super) get_lock: String,
    /// The same, with what is needed for a token: name, seconds, name.
    pub(super) get_lock_and_look: String,
    /// Whether this session has the lock of a name, on a server that takes writes: one that was made a replica serves none of
    /// the clients that have moved to another, which grants the lock as well.
    pub(super) holds: String,
    /// The same, with what is needed for a token: name, name.
    pub(super) look: String,
    pub(super) insert: String,
    /// Writes tokens for a session, on the server that has it: the last values are its mark and its number.
    pub(super) reserve: String,
    pub(super) give_back: String,
    /// Followed by names in parentheses.
    pub(super) evicted: String,
    pub(super) list: String,
    pub(super) evict: String,
    /// The session of the holder that was evicted: name.
    pub(super) evicted_session: String,
    pub(super) note_store: String,
}

impl Statements {
    pub(super) fn new(options: &Options, place: &str) -> Self {
        let session = format!("`{}_session`", options.prefix);
        // Short enough for every server, and equal for names that are equal as bytes only: as text they would be converted.
        let digest = format!("CONCAT('cotter-h:', SHA1(CONCAT(DATABASE(), '/{}/{place}/', ", options.prefix);
        let (of_one, of_row) = (format!("{digest}CAST(? AS BINARY))))"), format!("{digest}s.name)))"));
        let last = format!("(SELECT last_token FROM {session} WHERE place = '{place}' AND name = ?)");
        let is_held = format!("s.claim <> '' AND IS_USED_LOCK({of_row}) <=> s.session");
        Self {
            place: place.to_owned(),
            get_lock: format!("SELECT GET_LOCK({of_one}, ?)"),
            get_lock_and_look: format!(
                "SELECT GET_LOCK({of_one}, ?), {CLOCK}, {last}, {TAKES_WRITES} FROM DUAL FOR UPDATE"
            ),
            holds: format!("SELECT IS_USED_LOCK({of_one}) <=> CONNECTION_ID() AND {TAKES_WRITES}"),
            look: format!(
                "SELECT IS_USED_LOCK({of_one}) <=> CONNECTION_ID(), {CLOCK}, {last}, {TAKES_WRITES} FROM DUAL FOR UPDATE"
            ),
            insert: format!("INSERT IGNORE INTO {session} (place, name) VALUES ('{place}', ?)"),
            reserve: format!(
                "UPDATE {session} SET claim = ?, session = ?, marker = ?, number = ?, turns = ?, last_token = ?, since = ?, label = ? \
                 WHERE place = '{place}' AND name = ? AND last_token = ? AND {TAKES_WRITES} AND IS_USED_LOCK(?) <=> ?"
            ),
            give_back: format!(
                "UPDATE {session} SET last_token = number + ? - 1 \
                 WHERE place = '{place}' AND name = ? AND claim = ? AND last_token = number + turns - 1"
            ),
            evicted: format!(
                "SELECT name, evicted FROM {session} WHERE place = '{place}' AND evicted <> '' AND name IN "
            ),
            list: page_on_primary(&format!(
                "SELECT name, is_held, number, label, last_token, since, turns FROM ( \
                   SELECT s.name, {is_held} AS is_held, s.number, s.label, s.last_token, s.since, s.turns FROM {session} AS s \
                   WHERE s.place = '{place}' AND s.name > ? AND s.name >= ? AND LEFT(s.name, LENGTH(?)) = ?) AS found \
                 WHERE ? OR is_held"
            )),
            evict: format!(
                "UPDATE {session} AS s SET s.evicted = s.claim, s.number = LAST_INSERT_ID(s.number) \
                 WHERE s.place = '{place}' AND s.name = ? AND {is_held} \
                   AND (? IS NULL OR ? BETWEEN s.number AND s.number + s.turns - 1)"
            ),
            evicted_session: on_primary(&format!(
                "SELECT s.session, s.marker FROM {session} AS s \
                 WHERE s.place = '{place}' AND s.name = ? AND s.evicted = s.claim AND {is_held}"
            )),
            note_store: format!(
                "INSERT INTO `{}_notes` (name, `key`, token, sequence, revision, value) \
                 SELECT ?, ?, ?, ?, LAST_INSERT_ID(1), ? FROM {session} AS s \
                 WHERE s.place = '{place}' AND s.name = ? AND s.claim = ? AND s.number <= ? AND s.evicted <> s.claim \
                   AND {is_held} AND {TAKES_WRITES} AND {} LOCK IN SHARE MODE {}",
                options.prefix,
                may_replace(&format!("`{}_notes`", options.prefix)),
                note_update()
            ),
            digest,
        }
    }

    /// The name of the server's lock, for statements in which nothing can be bound.
    pub(super) fn lock_of(&self, name: &str) -> String {
        format!("{}CAST({} AS BINARY))))", self.digest, hex(name))
    }
}

/// A text as a literal that has the same meaning under all settings of a session.
pub(super) fn hex(text: &str) -> String {
    let mut literal = String::with_capacity(2 * text.len() + 3);
    literal.push_str("X'");
    text.bytes().for_each(|byte| _ = write!(literal, "{byte:02x}"));
    literal.push('\'');
    literal
}

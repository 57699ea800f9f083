//! What is set and asked when a connection is opened: servers that cannot be worked with are refused, with what to do about it.

use super::SCHEME;
use super::errors::unreachable;
use crate::stores::shared::net::read_only;
use crate::{Error, ErrorKind, Result};
use mysql_async::Conn;
use mysql_async::prelude::Queryable;

/// Each statement is a transaction of its own that sees what others have committed, and all rows that there are. A row that somebody
/// keeps locked is waited for as briefly as the server allows. Texts are UTF-8, also where the server ignores what the driver says.
const SETTINGS: [&str; 2] = [
    "SET SESSION autocommit = 1, sql_mode = 'STRICT_ALL_TABLES', innodb_lock_wait_timeout = 1, completion_type = 'NO_CHAIN', \
     sql_select_limit = 18446744073709551615, sql_big_selects = 1, \
     character_set_client = utf8mb4, character_set_connection = utf8mb4, character_set_results = utf8mb4",
    "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE",
];
const VARIABLES: &str = "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('read_only', 'innodb_read_only', 'wsrep_on', \
    'server_uuid', 'server_id', 'hostname', 'port', 'datadir')";
/// Together they tell a server from any other. MariaDB has no `server_uuid`.
const IDENTITY: [&str; 5] = ["server_uuid", "server_id", "hostname", "port", "datadir"];

/// Sets up a session, and refuses a server that cannot be worked with. Returns what tells the server from any other.
pub(super) async fn prepare(conn: &mut Conn) -> Result<Option<String>> {
    for settings in SETTINGS {
        conn.query_drop(settings).await.map_err(unreachable)?;
    }
    let variables: Vec<(String, String)> = conn.query(VARIABLES).await.map_err(unreachable)?;
    let is_on = |name: &str| variables.iter().any(|(n, value)| n == name && value.starts_with("ON"));
    if is_on("wsrep_on") {
        let why = "this server is a node of a Galera cluster, where concurrent updates on different nodes can be lost; use a single primary";
        return Err(Error::new(ErrorKind::Unsupported, why).with_backend(SCHEME));
    }
    if is_on("read_only") || is_on("innodb_read_only") {
        return Err(read_only(SCHEME, "; put the primary, or all servers, into the URL"));
    }
    let value = |name: &&str| variables.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str());
    let identity: Vec<_> = IDENTITY.iter().filter_map(value).collect();
    Ok((!identity.is_empty()).then(|| identity.join("/")))
}

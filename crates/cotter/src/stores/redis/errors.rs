//! Translating errors of the server and the driver.

use super::SCHEME;
use super::tracked::is_never_sent;
use crate::stores::shared::net::refused;
use crate::{Error, ErrorKind};
use redis::{RedisError, ServerErrorKind};
use std::error::Error as _;

/// Whether the request may have been sent when it failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sent {
    No,
    Yes,
}

/// Temporary refusals: nothing was done, and the same request may succeed later.
const TEMPORARY: &[&str] = &[
    "BUSY",
    "LOADING",
    "READONLY",
    "MASTERDOWN",
    "NOREPLICAS",
    "MISCONF",
    "OOM",
    "CLUSTERDOWN",
    "TRYAGAIN",
    "UNKILLABLE",
    // The server became a replica while a WAIT was blocked.
    "UNBLOCKED",
];

/// What a proxy says instead of an answer when its server is away, in the words of the C library.
const AWAY: [&str; 5] = [
    "Connection timed out",
    "Connection refused",
    "Connection reset by peer",
    "No route to host",
    "Network is unreachable",
];

/// The answer of a replica to WAIT.
const NO_WAIT: &str = "WAIT cannot be used with replica instances";

/// Permanent refusals, until the configuration is changed.
const DENIED: &[&str] = &["WRONGPASS", "NOAUTH", "NOPERM", "DENIED"];

/// The errors instead of NOPERM if a script runs a command that the user may not run: from 7.2 and Valkey on, and before; before
/// 7, inside another text.
const DENIED_IN_SCRIPT: &[&str] = &["ACL failure in script", "The user executing the script can't"];

/// What a server says if a script runs a command that it does not have: Redis and Valkey, in all versions.
const UNKNOWN_IN_SCRIPT: [&str; 2] = ["Unknown ", "command called from "];

/// The key holds a value of another program.
const FOREIGN: &[&str] = &["WRONGTYPE", "FOREIGNKEY"];

/// What a server says if a script cannot compute with a value of the right type: it has another form.
const FORM_IN_SCRIPT: [&str; 3] = ["attempt to ", "bad argument #", "not a valid float"];

/// Turns an error of the driver into one of this crate.
pub(super) fn explain(e: RedisError, sent: Sent) -> Error {
    let sent = if is_never_sent(&e) { Sent::No } else { sent };
    let error = match e.code() {
        Some(code) => by_code(code, &e),
        None => by_kind(&e, sent),
    };
    // A message of the server is quoted in full, so that only errors of the driver need a source.
    let error = error.with_backend(SCHEME);
    if e.code().is_some() && !is_of_a_cluster(&e) { error } else { error.with_source(e) }
}

/// Whether a node of a cluster has refused a request about several names. Each of them alone may be its own.
pub(super) fn is_about_slots(e: &Error) -> bool {
    e.source().and_then(|source| source.downcast_ref()).is_some_and(is_cross_slot)
}

/// Whether a node of a cluster has refused a request because the slot of the name moves, or has moved.
pub(super) fn is_on_its_way(e: &Error) -> bool {
    let code = e.source().and_then(|source| source.downcast_ref()).and_then(RedisError::code);
    matches!(code, Some("MOVED" | "ASK" | "TRYAGAIN"))
}

/// What a node of a cluster says of names. Others look at what it is exactly.
fn is_of_a_cluster(e: &RedisError) -> bool {
    matches!(e.code(), Some("CROSSSLOT" | "MOVED" | "ASK" | "TRYAGAIN" | "CLUSTERDOWN"))
}

fn is_cross_slot(e: &RedisError) -> bool {
    e.code() == Some("CROSSSLOT")
}

/// Whether a node of a cluster is giving away the slot of these keys, or has not got all of them yet. It has done nothing.
pub(super) fn is_moving(e: &RedisError) -> bool {
    matches!(e.code(), Some("TRYAGAIN" | "ASK"))
}

fn by_code(code: &str, e: &RedisError) -> Error {
    let said = e.detail().unwrap_or_default();
    // Servers before 7 wrap the error of a command inside a script into an ERR.
    let is = |list: &'static [&'static str]| {
        list.iter().copied().find(|c| code == *c || (code == "ERR" && said.contains(c)))
    };
    // Before everything that looks into the text: this one quotes the arguments of the command, and so perhaps a name.
    if let Some(why) = beyond(code, said) {
        return Error::new(ErrorKind::Unsupported, why);
    }
    if is(FOREIGN).is_some() || is_of_another_form(e) {
        return foreign("the key", e);
    }
    if let Some(code) = is(DENIED) {
        let remedy =
            if code == "NOAUTH" { "; the URL has no password: set one, or --password-file" } else { "" };
        return Error::new(ErrorKind::Denied, format!("the server denied access: {code} {said}{remedy}"));
    }
    if let Some(code) = is(TEMPORARY).or_else(|| is_demoted(e).then_some("ERR")) {
        return Error::new(
            ErrorKind::Unavailable,
            format!("the server temporarily refuses requests: {code} {said}"),
        );
    }
    if code == "ERR" && AWAY.contains(&said) {
        // It may have arrived there.
        let why = format!("a proxy in between does not reach the server: {said}");
        return Error::new(ErrorKind::Unavailable, why).with_outcome_unknown();
    }
    if said.starts_with("max number of clients") {
        return turned_away();
    }
    // The driver replaces the code of an error about the database.
    if said.contains("has no permissions") && said.contains("'select'") {
        let why = format!(
            "the server denied access: {said}; a database other than 0 in the URL needs the right +select"
        );
        return Error::new(ErrorKind::Denied, why);
    }
    if said.starts_with("DB index is out of range") || said.starts_with("SELECT is not allowed") {
        return Error::new(ErrorKind::Config, format!("the server does not have this database: {said}"));
    }
    let in_script = DENIED_IN_SCRIPT.iter().any(|denied| said.contains(denied));
    if in_script || said.contains("invalid password") || said.contains("AUTH") {
        return Error::new(ErrorKind::Denied, format!("the server denied access: {code} {said}"));
    }
    Error::new(ErrorKind::Protocol, format!("the server reported an error: {code} {said}"))
}

/// Whether a script has failed because of a value, whose key the server does not name.
pub(super) fn is_of_another_form(e: &RedisError) -> bool {
    let said = e.detail().unwrap_or_default();
    said.contains("user_script") && FORM_IN_SCRIPT.iter().any(|form| said.contains(form))
}

/// The error for a value of another program; `key` is which key has it.
pub(super) fn foreign(key: &str, e: &RedisError) -> Error {
    let (code, said) = (e.code().unwrap_or_default(), e.detail().unwrap_or_default());
    let why = format!("the value of {key} was not written by cotter in this mode ({code} {said})");
    Error::new(ErrorKind::ForeignKey, why).with_backend(SCHEME)
}

/// What servers that are only like Redis say to scripts that Redis runs: Dragonfly, and services without servers of their own.
const FORBIDS_SCRIPTS: [&str; 3] = ["undeclared key", "non local key", "unknown flag"];

/// What cotter cannot do with this server, whatever the request.
fn beyond(code: &str, said: &str) -> Option<String> {
    if code == "ERR" && FORBIDS_SCRIPTS.iter().any(|words| said.to_lowercase().contains(words)) {
        return Some(format!("this kind of server runs no scripts as cotter needs them: {said}"));
    }
    if code == "MOVED" || code == "ASK" {
        let (slot, node) = said.split_once(' ').unwrap_or((said, "another node"));
        return Some(format!(
            "this is a node of a Redis Cluster, and the name belongs to slot {slot}, which is on {node}: write redis+cluster://{node} \
             (rediss+cluster: with TLS)"
        ));
    }
    // With a capital where a script has called it, which no request does: `is_unknown_command` is about those.
    if UNKNOWN_IN_SCRIPT.iter().all(|words| said.contains(words)) {
        return Some(format!(
            "the server does not know a command that the scripts of cotter need, or it was renamed; docs/stores/redis.md lists them \
             ({said})"
        ));
    }
    let command =
        said.strip_prefix("unknown command").map(|rest| rest.trim_start_matches([' ', '\'', '`']))?;
    let command = command.split(['\'', '`', ',']).next().unwrap_or_default();
    Some(format!(
        "the server does not know the command {command}; if this is a sentinel (port 26379), write redis+sentinel://HOST/SERVICE; \
         if it is a proxy, it has to forward this command"
    ))
}

fn by_kind(e: &RedisError, sent: Sent) -> Error {
    // The driver has no kind for that.
    if let Some(refused) = refused(&e.to_string()) {
        return refused;
    }
    match e.kind() {
        redis::ErrorKind::AuthenticationFailed => {
            let said = e.detail().map(|said| format!(": {said}")).unwrap_or_default();
            Error::new(ErrorKind::Denied, format!("the server rejected the user name or the password{said}"))
        }
        redis::ErrorKind::Parse | redis::ErrorKind::UnexpectedReturnType => {
            let error =
                Error::new(ErrorKind::Protocol, format!("the answer of the server could not be parsed: {e}"));
            if sent == Sent::Yes { error.with_outcome_unknown() } else { error }
        }
        redis::ErrorKind::InvalidClientConfig => Error::new(ErrorKind::Config, e.to_string()),
        _ if sent == Sent::Yes => {
            Error::new(ErrorKind::Unavailable, format!("no answer from the server: {e}"))
                .with_outcome_unknown()
        }
        _ => Error::new(ErrorKind::Unavailable, format!("the server cannot be reached: {e}")),
    }
}

/// Whether a login has failed. The driver does not say why.
pub(super) fn is_refused_login(e: &RedisError) -> bool {
    e.kind() == redis::ErrorKind::AuthenticationFailed
}

/// The error for what a server has answered to a login, if that is known to quote no password.
pub(super) fn refused_login(said: &str) -> Option<Error> {
    let said = said.strip_prefix('-')?;
    let has_no_password =
        ["ERR AUTH <password> called without any password", "ERR Client sent AUTH, but no password"];
    let why = match said {
        said if has_no_password.iter().any(|words| said.starts_with(words)) => {
            format!(
                "the server asks for no password: leave it out of the URL, or name a user before it ({said})"
            )
        }
        said if ["WRONGPASS ", "NOPERM ", "ERR invalid password"]
            .iter()
            .any(|words| said.starts_with(words)) =>
        {
            format!("the server rejected the user name or the password: {said}")
        }
        _ => return None,
    };
    Some(Error::new(ErrorKind::Denied, why))
}

/// Whether the server has forgotten the script.
pub(super) fn is_no_script(e: &RedisError) -> bool {
    e.kind() == redis::ErrorKind::Server(ServerErrorKind::NoScript)
}

/// Whether the command is unknown: there are proxies without EVALSHA.
pub(super) fn is_unknown_command(e: &RedisError) -> bool {
    e.detail().is_some_and(|said| said.starts_with("unknown command"))
}

/// Whether the server is no longer the master. A new connection may find the one that is.
pub(super) fn is_demoted(e: &RedisError) -> bool {
    let said = e.detail().unwrap_or_default();
    match e.code() {
        Some("READONLY" | "MASTERDOWN" | "UNBLOCKED") => true,
        // Servers before 7, if the command of a script was refused; and any replica that is asked to WAIT.
        Some("ERR") => said.contains("-READONLY") || said.starts_with(NO_WAIT),
        _ => false,
    }
}

/// Whether the server carries nothing out just now. Another one, to which the same name or address leads, may. One without memory
/// still releases and extends.
pub(super) fn is_refusal(e: &RedisError) -> bool {
    matches!(e.code(), Some("LOADING" | "BUSY" | "MASTERDOWN" | "NOREPLICAS" | "MISCONF" | "CLUSTERDOWN"))
}

/// Whether the user may not run EVALSHA. In full, the script may be allowed.
pub(super) fn is_evalsha_denied(e: &RedisError) -> bool {
    e.code() == Some("NOPERM") && e.detail().is_some_and(|said| said.contains("'evalsha'"))
}

/// The error for a connection that a server does not accept because it has too many. Later it may.
pub(super) fn turned_away() -> Error {
    Error::new(ErrorKind::Unavailable, "the server accepts no more clients (maxclients)").with_backend(SCHEME)
}

/// The error for an answer that the request cannot have.
pub(super) fn unexpected(what: &str) -> Error {
    Error::new(ErrorKind::Protocol, format!("unexpected answer from the server: {what}"))
        .with_backend(SCHEME)
        .with_outcome_unknown()
}

#[cfg(test)]
mod tests {
    use super::*;
    use redis::make_extension_error;

    /// The texts of servers of version 6 and 7 that have become a replica.
    #[test]
    fn a_server_that_is_not_the_master_any_more_is_left() {
        for (code, said) in [
            ("READONLY", "You can't write against a read only replica."),
            (
                "ERR",
                "Error running script (call to f_1): @user_script:1: @user_script: 1: -READONLY You can't write",
            ),
            ("ERR", "WAIT cannot be used with replica instances. Please also note that since Redis 4.0"),
            (
                "UNBLOCKED",
                "force unblock from blocking operation, instance state changed (master -> replica?)",
            ),
        ] {
            let e = make_extension_error(code.into(), Some(said.into()));
            assert!(is_demoted(&e), "{code} {said}");
            let error = explain(e, Sent::Yes);
            assert!(error.is_retryable(), "{error}");
        }
        let other = make_extension_error("ERR".into(), Some("wrong number of arguments".into()));
        assert!(!is_demoted(&other));
    }

    #[test]
    fn a_command_that_a_script_may_not_run_is_denied() {
        let said = "The user executing the script can't run this command or subcommand";
        let version_6 =
            format!("Error running script (call to f_1): @user_script:3: @user_script: 3: {said}");
        let version_8 =
            "ACL failure in script: User cotter has no permissions to run the 'time' command script: \
             a8a9259d32e4e9b40fa5338719b3cd11e4fd776c, on @user_script:3."
                .to_owned();
        for said in [said.to_owned(), version_6, version_8] {
            let error = explain(make_extension_error("ERR".into(), Some(said)), Sent::Yes);
            assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
        }
    }

    /// As twemproxy says it.
    #[test]
    fn a_server_that_a_proxy_does_not_reach_is_away() {
        for said in AWAY {
            let error = explain(make_extension_error("ERR".into(), Some(said.into())), Sent::Yes);
            assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Unavailable, true), "{error}");
            assert!(error.outcome_unknown(), "{error}");
        }
    }

    /// As version 6 and 7 say it, of a command that was renamed.
    #[test]
    fn a_command_that_a_script_misses_is_beyond_the_server() {
        for said in [
            "Error running script (call to f_1): @user_script:4: @user_script: 4: Unknown Redis command called from Lua script",
            "Unknown Redis command called from script script: 96c119a6, on @user_script:36.",
        ] {
            let error = explain(make_extension_error("ERR".into(), Some(said.into())), Sent::Yes);
            assert!(error.kind() == ErrorKind::Unsupported && error.to_string().contains(said), "{error}");
        }
    }

    #[test]
    fn a_server_that_runs_scripts_otherwise_is_told_from_a_wrong_answer() {
        for said in [
            "Error running script (call to f_1): script tried accessing undeclared key",
            "Script attempted to access a non local key in a cluster node",
            "Unknown flag given: no-cluster",
        ] {
            let error = explain(make_extension_error("ERR".into(), Some(said.into())), Sent::Yes);
            assert!(error.kind() == ErrorKind::Unsupported && error.to_string().contains(said), "{error}");
        }
    }

    /// The server quotes the arguments, and so the name of the lock.
    #[test]
    fn a_name_like_an_error_code_is_not_taken_for_one() {
        let said = "unknown command 'SCAN', with args beginning with: '0' 'MATCH' 'cotter:{ROOM*}'";
        let error = explain(make_extension_error("ERR".into(), Some(said.into())), Sent::Yes);
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    }
}

//! Finding the key of another program that makes a name unusable.

use super::errors::{Sent, explain, foreign, is_of_another_form};
use super::live::Live;
use crate::{Error, ErrorKind};
use redis::RedisError;

/// The ends of the keys of a name, each with a command that fails if the value has another type than cotter's.
const PROBES: [(&str, &str); 6] =
    [("", "GET"), (":q", "ZCARD"), (":w", "HLEN"), (":r", "ZCARD"), (":h", "HLEN"), (":e", "HLEN")];

/// Translates the error of a script on the keys of a name. If another program has written one of them, the server does not
/// say which one, and whoever looks only at the key of the lock finds nothing wrong with it.
pub(super) async fn explain_with_key(live: &Live, lock: &str, e: RedisError) -> Error {
    let error = explain(e.clone(), Sent::Yes);
    if error.kind() != ErrorKind::ForeignKey {
        return error;
    }
    // Boxed, or each request would have room for it.
    Box::pin(find(live, lock, e)).await
}

async fn find(live: &Live, lock: &str, e: RedisError) -> Error {
    for (end, command) in PROBES {
        let key = format!("{lock}{end}");
        let refused = live.query(redis::cmd(command).arg(&key)).await.is_err_and(|e| is_wrong_type(&e));
        if refused {
            return foreign(&format!("the key {key}"), &e);
        }
    }
    // A string of another form, or a member of one of the others.
    let others = if is_of_another_form(&e) { ", or of one that begins so" } else { "" };
    foreign(&format!("the key {lock}{others}"), &e)
}

fn is_wrong_type(e: &RedisError) -> bool {
    e.code() == Some("WRONGTYPE")
}

//! What has happened at a server, step by step, so that the same can be done at another.

use super::command::whole;
use super::keyspace::Found;
use super::reply::Reply;

/// One step.
#[derive(Debug, Clone)]
pub enum Step {
    /// A session of this number began.
    Opened(u64),
    /// It ended.
    Ended(u64),
    /// A request was carried out.
    Asked {
        /// The time of the server, in microseconds since 1970.
        micros: u64,
        /// The number of the session.
        session: u64,
        /// The command and its arguments.
        request: Vec<Vec<u8>>,
        /// The answers.
        replies: Vec<Reply>,
        /// The keys of the request afterwards.
        keys: Vec<(Vec<u8>, Found)>,
    },
}

/// The keys that a request is about, as far as its first argument or the count of a script says.
pub(super) fn keys_of(request: &[Vec<u8>]) -> &[Vec<u8>] {
    let Some((name, args)) = request.split_first() else { return &[] };
    match String::from_utf8_lossy(name).to_uppercase().as_str() {
        "EVAL" | "EVALSHA" => {
            let count = args.get(1).and_then(|count| whole(count)).unwrap_or_default().max(0) as usize;
            args.get(2..2 + count).unwrap_or_default()
        }
        "MGET" | "DEL" | "UNLINK" | "EXISTS" => args,
        "TIME" | "INFO" | "PING" | "CLIENT" | "SCRIPT" | "PUBLISH" | "PUBSUB" | "SUBSCRIBE"
        | "UNSUBSCRIBE" | "SCAN" | "ROLE" | "SELECT" | "WAIT" => &[],
        _ => args.get(..1).unwrap_or_default(),
    }
}

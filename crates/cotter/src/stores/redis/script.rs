//! The Lua scripts, one file in `lua/` for each. They are run by hash, and sent in full if the server does not know them (yet).

use super::errors::{is_evalsha_denied, is_no_script, is_unknown_command};
use super::live::Live;
use redis::aio::MultiplexedConnection;
use redis::{Cmd, Pipeline, RedisError, RedisResult, Value};
use std::sync::LazyLock;

/// A Lua script.
#[derive(Debug)]
pub(super) struct Script {
    /// For servers with script flags (7.0 and later).
    flagged: Text,
    /// For older servers.
    bare: Text,
    /// Only members of a quorum need it.
    votes: bool,
    writes: bool,
}

#[derive(Debug)]
struct Text {
    body: String,
    hash: String,
}

/// Whether a script may run when the server has reached `maxmemory`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Memory {
    /// It may not: it adds keys.
    Needed,
    /// It may: it releases, extends or hands over, and a refused write would lose locks.
    NotNeeded,
    /// It may, and on a replica too: it only reads.
    Unused,
}

/// The first line of a script on servers before 7.0, instead of the flag: after a write that needs no memory, they refuse
/// no other. A user who may not touch that key can still release and extend as long as there is memory.
const UNLOCK: &str = "redis.pcall('DEL', KEYS[1] .. ':none')";

macro_rules! scripts {
    ($($name:ident: $file:literal, $memory:expr;)*) => {
        $(pub(super) static $name: LazyLock<Script> = LazyLock::new(|| {
            Script::new(include_str!(concat!("lua/", $file, ".lua")), $memory)
        });)*

        fn all() -> Vec<&'static Script> {
            vec![$(&*$name),*]
        }
    };
}

scripts! {
    ACQUIRE: "acquire", Memory::Needed;
    ACQUIRE_FREE: "acquire_free", Memory::Needed;
    // The same request of a claim that is in the queue already: it must be able to hand over.
    ACQUIRE_AGAIN: "acquire", Memory::NotNeeded;
    SHARE: "share", Memory::Needed;
    SHARE_AGAIN: "share", Memory::NotNeeded;
    VOTE: "vote", Memory::Needed;
    VOTE_SHARE: "vote_share", Memory::Needed;
    RAISE: "raise", Memory::NotNeeded;
    ENLIST: "enlist", Memory::Needed;
    ABSTAINS: "abstains", Memory::Needed;
    ADVANCE: "advance", Memory::NotNeeded;
    DOWNGRADE: "downgrade", Memory::NotNeeded;
    HOLDERS: "holders", Memory::Unused;
    RELEASE: "release", Memory::NotNeeded;
    RELEASE_VOTE: "release_vote", Memory::NotNeeded;
    EXTEND: "extend", Memory::NotNeeded;
    EXTEND_SHARE: "extend_share", Memory::NotNeeded;
    RELEASE_ALONE: "release_alone", Memory::NotNeeded;
    EVICT: "evict", Memory::NotNeeded;
    ADOPT: "adopt", Memory::NotNeeded;
    NOTE_STORE: "note_store", Memory::Needed;
    NOTE_MEND: "note_mend", Memory::Needed;
    NOTE_SWAP: "note_swap", Memory::Needed;
    NOTE_PREPARE: "note_prepare", Memory::Needed;
    NOTE_ACCEPT: "note_accept", Memory::Needed;
    PLAIN_VOTE: "plain_vote", Memory::Needed;
    PLAIN_RAISE: "plain_raise", Memory::NotNeeded;
    PLAIN_LOOK: "plain_look", Memory::Unused;
    PLAIN_EVICT: "plain_evict", Memory::NotNeeded;
    PLAIN_EXTEND: "plain_extend", Memory::NotNeeded;
    PLAIN_RELEASE: "plain_release", Memory::NotNeeded;
    GETSET_EXTEND: "getset_extend", Memory::NotNeeded;
    GETSET_RELEASE: "getset_release", Memory::NotNeeded;
    REDISSON_ACQUIRE: "../redisson/lua/acquire", Memory::Needed;
    REDISSON_FAIR: "../redisson/lua/fair", Memory::Needed;
    REDISSON_EXTEND: "../redisson/lua/extend", Memory::NotNeeded;
    REDISSON_RELEASE: "../redisson/lua/release", Memory::NotNeeded;
    REDISSON_FAIR_RELEASE: "../redisson/lua/fair_release", Memory::NotNeeded;
    REDISSON_SHARE: "../redisson/lua/share", Memory::Needed;
    REDISSON_LEAVE: "../redisson/lua/leave", Memory::NotNeeded;
    REDISSON_SETTLE: "../redisson/lua/settle", Memory::NotNeeded;
    REDISSON_PERMITS: "../redisson/lua/permits", Memory::Needed;
    REDISSON_PERMITS_RELEASE: "../redisson/lua/permits_release", Memory::NotNeeded;
    REDISSON_PERMITS_EXTEND: "../redisson/lua/permits_extend", Memory::NotNeeded;
    REDISSON_PERMITS_LIMIT: "../redisson/lua/permits_limit", Memory::NotNeeded;
    REDISSON_PERMITS_LOOK: "../redisson/lua/permits_look", Memory::Unused;
    REDISSON_PERMITS_EVICT: "../redisson/lua/permits_evict", Memory::NotNeeded;
    REDISSON_LOOK: "../redisson/lua/look", Memory::Unused;
    REDISSON_EVICT: "../redisson/lua/evict", Memory::NotNeeded;
}

macro_rules! parts {
    ($($name:literal)*) => {
        &[$(($name, include_str!(concat!("lua/", $name, ".lua")))),*]
    };
}

/// Parts that several scripts include, or that would make one too long.
const PARTS: &[(&str, &str)] = parts! {
    "now" "lease" "state" "reserve" "first_claim" "free" "queue" "silence" "line" "join"
    "hand_over" "pass_on" "settle" "busy"
    "sharers" "shares" "compose" "sweep" "mend" "new_share" "keep_shares"
    "lone_reader" "unfold" "share_out" "give_back" "extend_alone" "extend_record" "evict_sharers" "adopt_share"
    "release_head" "voting" "reserve_vote" "plain_count" "acquire" "share" "release"
    "../redisson/lua/draw" "../redisson/lua/fair_head" "../redisson/lua/fair_wake" "../redisson/lua/permits_free"
};

impl Script {
    fn new(source: &str, memory: Memory) -> Self {
        let votes = source.contains("@include voting");
        let body = assemble(source, votes);
        let (flag, first) = match memory {
            Memory::Needed => ("#!lua", ""),
            Memory::NotNeeded => ("#!lua flags=allow-oom", UNLOCK),
            Memory::Unused => ("#!lua flags=no-writes", ""),
        };
        Self {
            flagged: Text::new(format!("{flag}\n{body}")),
            bare: Text::new(format!("{first}\n{body}")),
            votes,
            writes: memory != Memory::Unused,
        }
    }

    fn text(&self, legacy: bool) -> &Text {
        if legacy { &self.bare } else { &self.flagged }
    }

    /// Runs the script by its hash, and in full if the server does not know the hash, or a proxy not the command. No other
    /// error is retried.
    pub(super) async fn run(&self, on: &Live, keys: &[&str], args: &[&[u8]]) -> RedisResult<Value> {
        let text = self.text(on.is_legacy());
        let answer = match on.query(&command("EVALSHA", &text.hash, keys, args)).await {
            // Boxed, or the future of a script that is known would have room for it.
            Err(e) if is_no_script(&e) || is_unknown_command(&e) || is_evalsha_denied(&e) => {
                Box::pin(self.run_in_full(on, keys, args)).await
            }
            answer => answer,
        };
        if answer.is_ok() && self.writes {
            on.carried_out();
        }
        answer
    }

    /// Runs the script in full. A server that refused to load scripts when it was connected to, because of its ACL or
    /// because it was busy or loading its data, shows only now that it is too old for script flags.
    async fn run_in_full(&self, on: &Live, keys: &[&str], args: &[&[u8]]) -> RedisResult<Value> {
        let in_full = |legacy| command("EVAL", &self.text(legacy).body, keys, args);
        match on.query(&in_full(on.is_legacy())).await {
            Err(e) if is_too_old(&e) => {
                on.set_legacy();
                on.query(&in_full(true)).await
            }
            answer => answer,
        }
    }

    /// Runs the script this many times without waiting for its answers.
    pub(super) async fn send(&self, on: &Live, keys: &[&str], args: &[&[u8]], times: u16) {
        let text = self.text(on.is_legacy());
        for i in 0..times {
            // The first one makes sure that the server knows the script.
            let mut command = match i {
                0 => command("EVAL", &text.body, keys, args),
                _ => command("EVALSHA", &text.hash, keys, args),
            };
            on.send(&mut command).await;
        }
    }
}

impl Text {
    fn new(body: String) -> Self {
        let hash = redis::Script::new(&body).get_hash().to_owned();
        Self { body, hash }
    }
}

fn command(how: &str, what: &str, keys: &[&str], args: &[&[u8]]) -> Cmd {
    let size: usize = keys.iter().map(|k| k.len()).chain(args.iter().map(|a| a.len())).sum();
    let mut cmd = Cmd::with_capacity(3 + keys.len() + args.len(), how.len() + what.len() + size + 8);
    cmd.arg(how).arg(what).arg(keys.len());
    keys.iter().for_each(|k| _ = cmd.arg(k));
    args.iter().for_each(|a| _ = cmd.arg(a));
    cmd
}

/// Inserts the included parts, and removes comments and blank lines. A script that `votes` counts in its own way.
fn assemble(source: &str, votes: bool) -> String {
    let mut body = String::new();
    for line in source.lines() {
        let code = line.trim();
        if let Some(name) = code.strip_prefix("--@include ") {
            let name = if votes && name == "reserve" { "reserve_vote" } else { name };
            let part = PARTS.iter().find(|(n, _)| *n == name).expect("an included part exists");
            body.push_str(&assemble(part.1, votes));
        } else if !code.is_empty() && !code.starts_with("--") {
            body.push_str(code);
            body.push('\n');
        }
    }
    body
}

/// The size of a script, in bytes, from which on it is sent when it is needed for the first time. If all were loaded in
/// advance, a new connection on a slow path would take several round trips more; and a client that has not logged in yet may
/// send no more than 16 KB at once.
const ON_DEMAND: usize = 8_000;

/// A script that only shows that scripts are run.
pub(super) fn probe() -> Cmd {
    command("EVAL", "return 1", &["cotter"], &[])
}

/// Asks for the time where only scripts and commands with keys are forwarded.
pub(super) fn time() -> Cmd {
    command("EVAL", "return redis.call('TIME')", &["cotter"], &[])
}

/// Asks which server has a key, where only scripts and commands with keys are forwarded.
pub(super) fn run_id(key: &str) -> Cmd {
    command("EVAL", "return string.match(redis.call('INFO', 'server'), 'run_id:(%x+)')", &[key], &[])
}

/// What a server shows of itself when scripts are loaded.
pub(super) struct Introduced {
    /// It is too old for script flags.
    pub(super) legacy: bool,
    pub(super) knows_scripts: bool,
}

/// Sets the client name and loads the smaller scripts, in one round trip.
pub(super) async fn introduce(wire: &MultiplexedConnection, name: &str) -> RedisResult<Introduced> {
    let refused = refusals(wire, name, false).await?;
    let legacy = refused.iter().any(is_too_old);
    if legacy {
        refusals(wire, name, true).await?;
    }
    let is_unknown =
        |e: &RedisError| is_unknown_command(e) && e.to_string().to_uppercase().contains("SCRIPT");
    Ok(Introduced { legacy, knows_scripts: !refused.iter().any(is_unknown) })
}

/// Returns the commands that the server has refused. An ACL may forbid to set the name, or to load scripts; then each
/// script is sent in full when it is needed.
async fn refusals(wire: &MultiplexedConnection, name: &str, legacy: bool) -> RedisResult<Vec<RedisError>> {
    let mut pipeline = introduction(name, legacy);
    let answers: Vec<RedisResult<Value>> = pipeline.ignore_errors().query_async(&mut wire.clone()).await?;
    let mut refused = Vec::new();
    for answer in answers {
        match answer {
            Err(e) if matches!(e.code(), Some("NOAUTH" | "WRONGPASS")) || e.code().is_none() => {
                return Err(e);
            }
            Err(e) => refused.push(e),
            Ok(_) => {}
        }
    }
    Ok(refused)
}

fn introduction(name: &str, legacy: bool) -> Pipeline {
    let mut pipeline = redis::pipe();
    pipeline.cmd("CLIENT").arg("SETNAME").arg(name);
    for script in all().iter().filter(|s| !s.votes && s.text(legacy).body.len() < ON_DEMAND) {
        pipeline.cmd("SCRIPT").arg("LOAD").arg(&script.text(legacy).body);
    }
    pipeline
}

/// The Lua compiler of an old server fails at the first line.
fn is_too_old(e: &RedisError) -> bool {
    e.detail().is_some_and(|d| d.contains("unexpected symbol near '#'"))
}

#[cfg(test)]
mod tests;

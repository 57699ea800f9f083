//! The atomic steps: one file in `lua/` for each, run by hash, sent whole when the server has forgotten it.

use super::connection::Live;
use super::errors::is_no_script;
use redis::aio::MultiplexedConnection;
use redis::{Cmd, Pipeline, RedisError, RedisResult, Value};
use std::sync::LazyLock;

/// One atomic step.
#[derive(Debug)]
pub(super) struct Script {
    /// For servers that know script flags (from 7.0).
    flagged: Text,
    /// For those before.
    bare: Text,
}

#[derive(Debug)]
struct Text {
    body: String,
    hash: String,
}

/// May it run when the server has no memory left to give?
#[derive(Clone, Copy, PartialEq, Eq)]
enum Memory {
    Needed,
    /// It frees, keeps or hands over: a refused write would lose locks.
    Beyond,
}

/// What servers before 7.0 take instead of the flag: after a first write that needs no memory they refuse none.
const UNLOCK: &str = "redis.call('DEL', KEYS[1] .. ':none')";

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
    // The same question of one that stands in the queue already: it must be able to hand over.
    ASK_AGAIN: "acquire", Memory::Beyond;
    RELEASE: "release", Memory::Beyond;
    EXTEND: "extend", Memory::Beyond;
    EVICT: "evict", Memory::Beyond;
    NOTE_STORE: "note_store", Memory::Needed;
    NOTE_SWAP: "note_swap", Memory::Needed;
    PLAIN_LOOK: "plain_look", Memory::Beyond;
    PLAIN_EVICT: "plain_evict", Memory::Beyond;
    PLAIN_EXTEND: "plain_extend", Memory::Beyond;
    PLAIN_RELEASE: "plain_release", Memory::Beyond;
    GETSET_EXTEND: "getset_extend", Memory::Beyond;
    GETSET_RELEASE: "getset_release", Memory::Beyond;
}

/// Parts that several steps include.
const PARTS: &[(&str, &str)] = &[
    ("now", include_str!("lua/now.lua")),
    ("lease", include_str!("lua/lease.lua")),
    ("state", include_str!("lua/state.lua")),
    ("reserve", include_str!("lua/reserve.lua")),
    ("queue", include_str!("lua/queue.lua")),
    ("silence", include_str!("lua/silence.lua")),
    ("line", include_str!("lua/line.lua")),
    ("join", include_str!("lua/join.lua")),
    ("hand_over", include_str!("lua/hand_over.lua")),
    ("pass_on", include_str!("lua/pass_on.lua")),
];

impl Script {
    fn new(source: &str, memory: Memory) -> Self {
        let body = assemble(source);
        let (flag, first) = match memory {
            Memory::Needed => ("#!lua", ""),
            Memory::Beyond => ("#!lua flags=allow-oom", UNLOCK),
        };
        Self { flagged: Text::new(format!("{flag}\n{body}")), bare: Text::new(format!("{first}\n{body}")) }
    }

    fn text(&self, legacy: bool) -> &Text {
        if legacy { &self.bare } else { &self.flagged }
    }

    /// Runs it by hash; once more with its text when the server does not know the hash. No other error is retried.
    pub(super) async fn run(&self, on: &Live, keys: &[&str], args: &[&[u8]]) -> RedisResult<Value> {
        let text = self.text(on.legacy);
        match on.ask(&command("EVALSHA", &text.hash, keys, args)).await {
            Err(e) if is_no_script(&e) => {
                let whole = command("EVAL", &text.body, keys, args);
                Box::pin(on.ask(&whole)).await
            }
            answer => answer,
        }
    }

    /// Runs it without waiting for what it answers.
    pub(super) async fn tell(&self, on: &Live, keys: &[&str], args: &[&[u8]]) {
        on.tell(&mut command("EVAL", &self.text(on.legacy).body, keys, args)).await;
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

/// Puts the included parts in, and leaves out what only people read.
fn assemble(source: &str) -> String {
    let mut body = String::new();
    for line in source.lines() {
        let code = line.trim();
        if let Some(name) = code.strip_prefix("--@include ") {
            let part = PARTS.iter().find(|(n, _)| *n == name).expect("an included part exists");
            body.push_str(&assemble(part.1));
        } else if !code.is_empty() && !code.starts_with("--") {
            body.push_str(code);
            body.push('\n');
        }
    }
    body
}

/// Says who we are and makes all steps known to the server, in one round trip. True when it is too old for script flags.
pub(super) async fn introduce(wire: &MultiplexedConnection, name: &str) -> RedisResult<bool> {
    let legacy = refusals(wire, name, false).await?.iter().any(is_too_old);
    if legacy {
        refusals(wire, name, true).await?;
    }
    Ok(legacy)
}

/// What the server does not do of it. The name is cosmetic, and an ACL may forbid it; loading may be forbidden too, or
/// not possible just now: each step is then sent whole when it is needed.
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
    for script in all() {
        pipeline.cmd("SCRIPT").arg("LOAD").arg(&script.text(legacy).body);
    }
    pipeline
}

/// The first line is what an old server's compiler stumbles over.
fn is_too_old(e: &RedisError) -> bool {
    e.detail().is_some_and(|d| d.contains("unexpected symbol near '#'"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_is_assembled() {
        for script in all() {
            for text in [&script.flagged, &script.bare] {
                assert!(!text.body.contains("@include") && !text.body.contains("--@"), "{}", text.body);
            }
            assert!(script.flagged.body.starts_with("#!lua"));
        }
    }
}

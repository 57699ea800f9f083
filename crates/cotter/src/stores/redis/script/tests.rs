//! The sources of the scripts, and servers without script flags.

use super::*;
use crate::stores::redis::backend::KEY_GRACE;
use crate::stores::redis::waiting::UNCONFIRMED_TTL;
use redis::{AsyncConnectionConfig, RedisConnectionInfo};
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

#[test]
fn every_script_is_assembled() {
    for script in all() {
        for text in [&script.flagged, &script.bare] {
            assert!(!text.body.contains("@include") && !text.body.contains("--@"), "{}", text.body);
        }
        assert!(script.flagged.body.starts_with("#!lua"));
    }
}

/// What a script calls a key: one of those that it was given, or a local that is one of those.
const KEYS: [(&str, &str); 11] = [
    ("SHARES", "local SHARES, RECORDS = KEYS[4], KEYS[5]"),
    ("RECORDS", "local SHARES, RECORDS = KEYS[4], KEYS[5]"),
    ("MARKER", "MARKER = table.remove(ARGV), table.remove(KEYS)"),
    ("evicted", "local evicted = KEYS[6]"),
    ("evicted", "local key, shares, records, evicted = unpack(KEYS, 5 * i - 4, 5 * i - 1)"),
    ("shares", "local key, shares, records, evicted = unpack(KEYS, 5 * i - 4, 5 * i - 1)"),
    ("records", "local key, shares, records, evicted = unpack(KEYS, 5 * i - 4, 5 * i - 1)"),
    ("key", "local key, shares, records, evicted = unpack(KEYS, 5 * i - 4, 5 * i - 1)"),
    ("key", "for i, key in ipairs(KEYS) do"),
    ("lock", "local lock, lease = KEYS[2 * i - 5], KEYS[2 * i - 4]"),
    ("lease", "local lock, lease = KEYS[2 * i - 5], KEYS[2 * i - 4]"),
];
const WITHOUT_KEYS: [&str; 4] = ["'TIME'", "'INFO'", "'PUBLISH'", "'PUBSUB'"];

/// A server that checks refuses any other key, and so does a proxy that sends a script where its keys are. (Servers before 7 do not
/// check; what comes before a script there is not looked at.)
#[test]
fn a_script_touches_no_key_but_those_that_it_is_given() {
    for script in all() {
        let body = &script.flagged.body;
        assert!(!body.contains("] .. ':"), "a key is derived from another one: {body}");
        let calls = ["redis.call(", "redis.pcall("].iter().flat_map(|call| body.split(call).skip(1));
        for call in calls {
            let mut words = call.split([',', ')']).map(str::trim);
            let (command, key) = (words.next().unwrap(), words.next().unwrap());
            let is_given = |(name, from): &(&str, &str)| key == *name && body.contains(from);
            let given = key.starts_with("KEYS[") && key.ends_with(']') || KEYS.iter().any(is_given);
            assert!(given || WITHOUT_KEYS.contains(&command), "{command} {key}: {body}");
        }
    }
}

/// Answers like a server of version 6, whose Lua compiler knows no flags. It knows no script by its hash, because it has
/// refused to load any.
async fn version_6(mut socket: DuplexStream) {
    let mut request = vec![0; 100_000];
    while let Ok(n @ 1..) = socket.read(&mut request).await {
        let text = String::from_utf8_lossy(&request[..n]);
        let answer = match () {
            () if text.contains("EVALSHA") => "-NOSCRIPT No matching script. Please use EVAL.\r\n",
            () if text.contains("#!lua") => {
                "-ERR Error compiling script (new function): user_script:1: unexpected symbol near '#'\r\n"
            }
            () if text.contains("EVAL") => "$4\r\ndone\r\n",
            () => "+OK\r\n",
        };
        socket.write_all(answer.as_bytes()).await.unwrap();
    }
}

/// A server that is loading its data when it is connected to refuses to load scripts, and so does one whose ACL has no
/// `script|load`.
#[tokio::test]
async fn an_old_server_that_refused_to_load_scripts_gets_them_without_flags() {
    let (ours, theirs) = tokio::io::duplex(200_000);
    tokio::spawn(version_6(theirs));
    let (login, config) =
        (RedisConnectionInfo::default().set_skip_set_lib_name(), AsyncConnectionConfig::new());
    let (wire, driver) = MultiplexedConnection::new_with_config(&login, ours, config).await.unwrap();
    tokio::spawn(driver);
    let live = Live::new(wire, false, Arc::default(), None);
    for script in [&PLAIN_RELEASE, &RELEASE] {
        let answer = script.run(&live, &["a"], &[]).await.unwrap();
        assert_eq!(answer, Value::BulkString(b"done".into()));
    }
    assert!(live.is_legacy(), "the flags are not tried again");
}

/// With `mode=plain` a user may be limited to the names of its locks. The key that is deleted first is none of them.
#[test]
fn a_user_of_an_old_server_may_release_though_it_may_touch_no_other_key() {
    for script in all().iter().filter(|script| script.bare.body.contains(":none")) {
        let refused = "redis.call('DEL', KEYS[1] .. ':none')";
        assert!(!script.bare.body.contains(refused), "a refusal ends the script: {}", script.bare.body);
    }
}

/// Scripts have the lease of a grant by message, and how long a key outlives it, as numbers of their own.
#[test]
fn the_times_in_the_scripts_are_those_of_the_client() {
    let grace = KEY_GRACE.as_millis().to_string();
    let handed_over = (UNCONFIRMED_TTL + KEY_GRACE).as_millis().to_string();
    let short = format!("'{:014}'", UNCONFIRMED_TTL.as_micros());
    let scripts = all();
    let bodies = || scripts.iter().map(|script| &*script.bare.body);
    for number in [&grace, &handed_over, &short] {
        assert!(bodies().any(|body| body.contains(number)), "no script has {number}");
    }
    // A number of that size is one of these, or a second in microseconds.
    let digits =
        |body| str::split(body, |c: char| !c.is_ascii_digit()).filter(|word| word.len() == grace.len());
    let other = |word: &&str| ![&*grace, &*handed_over, "1000000"].contains(word);
    let others: Vec<_> = bodies().flat_map(digits).filter(other).collect();
    assert!(others.is_empty(), "{others:?}");
    // Otherwise every hand-over would cost a renewal.
    assert!(UNCONFIRMED_TTL > crate::engine::timing::USABLE_LEASE);
}

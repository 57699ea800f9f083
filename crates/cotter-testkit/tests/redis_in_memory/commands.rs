//! Random commands, right and wrong ones.

use crate::real::{Real, request};
use cotter_testkit::redis_in_memory::{Reply, Server};
use cotter_testkit::servers::Redis;
use cotter_testkit::sized;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use std::time::SystemTime;

/// The commands, with a letter for each argument: a key, a field or member, a value, a number, a score, a limit of scores, a
/// position. What follows an asterisk is repeated.
const COMMANDS: &[&str] = &[
    "GET k",
    "SET k v",
    "SET k n",
    "SET k v NX",
    "SET k v XX",
    "SET k v PX t",
    "SET k v KEEPTTL",
    "SET k v EX t",
    "SET k v NX PX t",
    "SET k v NX XX",
    "SET k v PX",
    "SET k v PX v",
    "SETNX k v",
    "GETSET k v",
    "MGET k k",
    "INCRBY k n",
    "DECRBY k n",
    "INCRBY k v",
    "DEL k",
    "DEL k k",
    "UNLINK k",
    "EXISTS k",
    "EXISTS k k",
    "TYPE k",
    "SCAN 0 MATCH t*",
    "SCAN 0 MATCH *e* COUNT 1000",
    "SCAN 0 MATCH t?o TYPE string",
    "PEXPIRE k t",
    "PEXPIRE k v",
    "PTTL k",
    "PEXPIRE k 0",
    "RENAME k k",
    "HSET k f v",
    "HSET k f n",
    "HSET k f v f v",
    "HSET k f",
    "HSETNX k f v",
    "HGET k f",
    "HMGET k f f",
    "HGETALL k",
    "HDEL k f",
    "HDEL k f f",
    "HEXISTS k f",
    "HLEN k",
    "HINCRBY k f n",
    "HINCRBY k f v",
    "RPUSH k v",
    "RPUSH k v v",
    "LPOP k",
    "LINDEX k p",
    "LINDEX k v",
    "LRANGE k p p",
    "LREM k p v",
    "LRANGE k v p",
    "ZADD k s f",
    "ZADD k s f s f",
    "ZADD k NX s f",
    "ZADD k s",
    "ZADD k v f",
    "ZREM k f",
    "ZREM k f f",
    "ZSCORE k f",
    "ZRANK k f",
    "ZCARD k",
    "ZINCRBY k s f",
    "ZRANGE k p p",
    "ZRANGE k p p WITHSCORES",
    "ZRANGE k v p",
    "ZRANGEBYSCORE k l l",
    "ZRANGEBYSCORE k l l WITHSCORES LIMIT p p",
    "ZRANGEBYSCORE k l l LIMIT p p",
    "ZCOUNT k l l",
    "ZREMRANGEBYSCORE k l l",
    "ZCOUNT k v l",
    "GET",
    "HGET k",
    "ZADD",
    "LPOP",
    "NOSUCH k",
];

fn words(rng: &mut StdRng) -> Vec<String> {
    let pattern = COMMANDS.choose(rng).expect("some");
    pattern.split(' ').map(|word| argument(word, rng)).collect()
}

fn argument(word: &str, rng: &mut StdRng) -> String {
    let one_of = |words: &[&str], rng: &mut StdRng| (*words.choose(rng).expect("some")).to_owned();
    match word {
        "k" => one_of(&["one", "two", "three"], rng),
        "f" => one_of(&["a", "b", "c", "~d", ""], rng),
        "v" => one_of(&["word", "", "two words", "7", "x1"], rng),
        "n" => one_of(&["1", "-3", "0", "9223372036854775807", "-9223372036854775808", "41"], rng),
        "t" => rng.random_range(100_000..200_000).to_string(),
        "p" => rng.random_range(-4..5).to_string(),
        "s" => one_of(&["1", "2", "-1.5", "1764500000123456", "4000000000000000", "inf", "0.25", "1e3"], rng),
        "l" => one_of(&["1", "(1", "-inf", "+inf", "2", "(1764500000123456", "inf"], rng),
        word => word.to_owned(),
    }
}

/// The time that is left is not the same to the millisecond.
fn without_time(words: &[String], reply: Reply) -> Reply {
    match reply {
        Reply::Int(left) if words[0] == "PTTL" => Reply::Int(left.min(0)),
        // In any order.
        Reply::Array(mut parts) if words[0] == "SCAN" => {
            if let Some(Reply::Array(names)) = parts.last_mut() {
                names.sort_unstable_by_key(|name| format!("{name:?}"));
            }
            Reply::Array(parts)
        }
        reply => reply,
    }
}

#[test]
#[ignore = "needs redis-server"]
fn random_commands_are_answered_alike() {
    let server = Redis::start();
    let mut real = Real::open(server.port());
    let micros = || SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_micros() as u64;
    let (mut errors, mut done) = (0, 0);
    for seed in 0..sized(60, 4_000) as u64 {
        let (mut rng, ours) = (StdRng::seed_from_u64(seed), Server::new(micros));
        real.one(&["FLUSHALL"]);
        let mut before = Vec::new();
        for _ in 0..200 {
            let words = words(&mut rng);
            let asked = request(&words.iter().map(String::as_str).collect::<Vec<_>>());
            let (mine, theirs) = (ours.call(&asked), real.ask(std::slice::from_ref(&asked)).remove(0));
            let (mine, theirs) = (without_time(&words, mine), without_time(&words, theirs));
            before.push(words.join(" "));
            assert_eq!(mine, theirs, "seed {seed}, the last of:\n{}", before.join("\n"));
            errors += usize::from(matches!(theirs, Reply::Error(_)));
            done += 1;
        }
    }
    assert!(errors > done / 50 && errors < done * 3 / 4, "{errors} errors in {done} commands");
}

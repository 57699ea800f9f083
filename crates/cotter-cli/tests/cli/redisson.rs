//! Commands on the locks of Redisson.

use crate::env::TestEnv;
use cotter_testkit::servers::Redis;

/// A thread of Redisson, which is not there.
const THEIRS: &str = "6c1f7c5e-2a44-4b6c-8a55-1c2b7d1f0a11:1";

#[test]
#[ignore = "needs redis-server"]
fn a_lock_of_redisson_keeps_commands_out_and_is_shown_and_evicted() {
    for recipe in ["lock", "fair"] {
        let redis = Redis::start();
        let env = TestEnv::on(redis.url(&format!("mode=redisson&recipe={recipe}")));
        redis.command(&["HSET", "a", THEIRS, "2"]);
        env.run(["run", "-n", "a", "true"]).code(75);
        let shown = env.run(["show", "a"]).code(0);
        let theirs = format!("owner {THEIRS}, entered 2 times");
        assert!(shown.stdout.contains(&theirs), "{shown:?}");
        env.run(["evict", "--now", "a"]).code(0);
        let (held, token) = env.hold(&[], "a");
        let shown = env.run(["show", "--json", "a"]).code(0);
        assert!(shown.stdout.contains(&token.to_string()), "{shown:?}");
        held.let_go().code(0).silent();
        assert_eq!(redis.command(&["EXISTS", "a"]), "0");
        // Any hash of the server may be a lock.
        env.run(["list"]).code(64);
    }
}

#[test]
#[ignore = "needs redis-server"]
fn readers_and_permits_are_those_of_redisson() {
    let redis = Redis::start();
    let env = TestEnv::on(redis.url("mode=redisson&recipe=rwlock"));
    let (one, _) = env.hold(&["--shared"], "a");
    let (two, _) = env.hold(&["--shared"], "a");
    assert_eq!(
        (redis.command(&["HGET", "a", "mode"]), redis.command(&["HLEN", "a"])),
        ("read".into(), "3".into())
    );
    env.run(["run", "-n", "a", "true"]).code(75);
    one.let_go().code(0);
    two.let_go().code(0);
    env.run(["run", "-n", "a", "true"]).code(0).silent();
    let env = TestEnv::on(redis.url("mode=redisson&recipe=permits"));
    redis.command(&["SET", "b", "3"]);
    let (held, _) = env.hold(&["--limit", "3", "--take", "2"], "b");
    env.run(["run", "-n", "--limit", "3", "--take", "2", "b", "true"]).code(75);
    env.run(["run", "--limit", "3", "b", "true"]).code(0).silent();
    env.run(["run", "--limit", "4", "b", "true"]).code(65).one_line(&["a semaphore of 3, not as"]);
    held.let_go().code(0);
    assert_eq!(redis.command(&["GET", "b"]), "3");
}

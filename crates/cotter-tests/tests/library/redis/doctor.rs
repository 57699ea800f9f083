//! What the doctor says of a server, and the rights that it needs.

use super::setup::{client, eventually, show_doctor};
use crate::trial;
use cotter::{Client, ErrorKind, Filter, Finding, Level, Released, Severity};
use cotter_testkit::servers::{Proxy, Redis, acl_rule};
use std::time::Duration;

const TTL: Duration = Duration::from_secs(20);

async fn finding(server: &Redis, options: &str, subject: &str) -> Finding {
    let client = client(&server.url(options), TTL).await;
    let findings = client.admin().diagnose().await.unwrap();
    let found = findings.iter().find(|f| f.subject == subject);
    found.unwrap_or_else(|| panic!("nothing about {subject} in {findings:?}")).clone()
}

#[tokio::test]
#[ignore = "needs redis-server"]
async fn a_replica_leaves_best_effort() {
    let durable = Redis::builder().with("appendonly", "yes").with("appendfsync", "always");
    let (master, replica) = (durable.start(), Redis::start());
    show_doctor(&master);
    let client = client(&master.url(""), TTL).await;
    let findings = client.admin().diagnose().await.unwrap();
    assert!(findings.iter().all(|f| f.level.is_none()), "{findings:?}");
    replica.follow(&master);
    eventually("it is attached", || master.command(&["INFO", "replication"]).contains("connected_slaves:1"))
        .await;
    for options in ["", "mode=plain", "mode=getset"] {
        let found = finding(&master, options, "replicas").await;
        assert_eq!((found.severity, found.level), (Severity::Warning, Some(Level::BestEffort)), "{options}");
    }
}

#[tokio::test]
#[ignore = "needs redis-server"]
async fn what_a_power_failure_forgets_is_said() {
    let server = Redis::start();
    show_doctor(&server);
    let said = finding(&server, "", "persistence").await;
    assert!(said.severity == Severity::Warning && said.message.contains("no append-only file"), "{said}");
    assert_eq!(said.level, Some(Level::BestEffort), "{said}");
    let server = Redis::builder().with("appendonly", "yes").start();
    show_doctor(&server);
    for (fsync, severity, says) in [
        ("everysec", Severity::Warning, "up to a second of acknowledged locks"),
        ("no", Severity::Warning, "appendfsync no"),
        ("always", Severity::Ok, "at every change"),
    ] {
        assert_eq!(server.command(&["CONFIG", "SET", "appendfsync", fsync]), "OK");
        for options in ["", "mode=plain", "mode=getset"] {
            let said = finding(&server, options, "persistence").await;
            assert!(said.severity == severity && said.message.contains(says), "{options} {fsync}: {said}");
            assert_eq!(said.level.is_some(), severity > Severity::Ok, "{options} {fsync}: {said}");
        }
    }
}

#[tokio::test]
#[ignore = "needs redis-server"]
async fn what_names_cost_is_said() {
    let server = Redis::start();
    show_doctor(&server);
    let said = finding(&server, "retain=10m", "memory").await;
    assert!(said.severity == Severity::Ok && said.message.contains("1000 a second take 168 MB"), "{said}");
    server.command(&["CONFIG", "SET", "maxmemory", "50mb"]);
    let said = finding(&server, "retain=10m", "memory").await;
    assert!(said.severity == Severity::Warning && said.message.contains("shorten retain="), "{said}");
    assert_eq!(finding(&server, "retain=1s", "memory").await.severity, Severity::Ok);
}

/// The figure of the doctor is no guess.
#[tokio::test]
#[ignore = "needs redis-server"]
async fn a_name_that_was_used_once_takes_what_the_doctor_says() {
    const NAMES: usize = 5000;
    let server = Redis::start();
    let client = client(&server.url(""), TTL).await;
    let used = || {
        let info = server.command(&["INFO", "memory"]);
        let line = info.lines().find_map(|line| line.strip_prefix("used_memory:")).unwrap().trim().to_owned();
        line.parse::<usize>().unwrap()
    };
    client.mutex("warm").lock().await.unwrap().finish().await.unwrap();
    let before = used();
    for i in 0..NAMES {
        drop(client.mutex(format!("orders:{i:06}")).try_lock().await.unwrap().unwrap());
    }
    client.clone().close(TTL).await.unwrap();
    let each = used().saturating_sub(before) / NAMES;
    assert!((200..=360).contains(&each), "{each} bytes");
}

#[tokio::test]
#[ignore = "needs redis-server"]
async fn older_modes_are_judged_by_what_they_are() {
    let server = Redis::builder().with("maxmemory-policy", "volatile-lru").start();
    show_doctor(&server);
    assert_eq!(finding(&server, "mode=plain", "maxmemory-policy").await.severity, Severity::Problem);
    assert_eq!(finding(&server, "mode=getset", "maxmemory-policy").await.severity, Severity::Ok);
    server.command(&["CONFIG", "SET", "maxmemory-policy", "allkeys-lru"]);
    assert_eq!(finding(&server, "mode=getset", "maxmemory-policy").await.severity, Severity::Problem);
    for flaw in ["clocks", "losers", "owner"] {
        assert_eq!(finding(&server, "mode=getset", flaw).await.severity, Severity::Warning);
    }
}

const MODES: [(&str, &str); 4] =
    [("native", ""), ("plain", "mode=plain"), ("getset", "mode=getset"), ("redisson", "mode=redisson")];

/// Conformance and many other tests run as the users of the documentation; here is what these must not do.
#[tokio::test]
#[ignore = "needs redis-server"]
async fn the_rules_of_the_documentation_deny_everything_else() {
    let server = Redis::start();
    for (mode, _) in MODES {
        let rule = acl_rule(mode);
        // Elsewhere the older modes have all keys.
        assert_eq!(server.command(&["ACL", "DELUSER", rule[2]]), "1", "{mode}");
        assert_eq!(server.command(&rule), "OK", "{mode}");
        let (user, password) = (rule[2], rule.iter().find_map(|word| word.strip_prefix('>')).unwrap());
        let mut wire = server.wire();
        assert_eq!(wire.command(&["AUTH", user, password]).unwrap(), "OK");
        for words in [
            &["CONFIG", "GET", "dir"][..],
            &["CONFIG", "SET", "appendonly", "no"],
            &["KEYS", "*"],
            &["FLUSHALL"],
            &["FLUSHDB"],
            &["SHUTDOWN"],
            &["ACL", "LIST"],
            &["CLIENT", "KILL", "TYPE", "normal"],
            &["SCRIPT", "FLUSH"],
            &["GET", "another:key"],
            &["SET", "another:key", "value"],
            &["EVAL", "return redis.call('GET', 'another:key')", "0"],
            &["PUBLISH", "another:channel", "text"],
            &["SUBSCRIBE", "another:channel"],
        ] {
            let answer = wire.command(words).unwrap();
            let denied = ["NOPERM", "can't access"].iter().any(|code| answer.contains(code));
            assert!(denied, "{mode} {words:?}: {answer}");
        }
    }
}

#[tokio::test]
#[ignore = "needs redis-server"]
async fn the_doctor_says_what_it_is_not_allowed_to_read() {
    let server = Redis::start();
    for (mode, options) in MODES {
        for subject in
            ["version, role, replicas, memory", "maxmemory-policy", "min-replicas-to-write", "persistence"]
        {
            let said = finding(&server, options, subject).await;
            assert!(said.severity == Severity::Warning, "{mode}: {said}");
            assert!(said.message.contains("not allowed here"), "{mode}: {said}");
        }
    }
    assert_eq!(finding(&server, "", "permissions").await.severity, Severity::Ok);
    show_doctor(&server);
    for (mode, options) in MODES {
        let findings = client(&server.url(options), TTL).await.admin().diagnose().await.unwrap();
        assert!(findings.iter().all(|f| !f.message.contains("not allowed")), "{mode}: {findings:?}");
    }
}

/// What other tests under the rule do not do: another database, listing and keeping through the engine.
#[tokio::test]
#[ignore = "needs redis-server"]
async fn the_native_rule_is_enough_for_a_client() {
    let server = Redis::start();
    assert_eq!(server.command(&["ACL", "SETUSER", acl_rule("native")[2], "+select"]), "OK");
    let url = server.url("").replace("?", "/3?");
    let (one, other) = (client(&url, TTL).await, Client::connect(&url).await.unwrap());
    let guard = one.mutex("a").lock().await;
    let guard = guard.unwrap_or_else(|e| panic!("violation[refused]: the rule lacks a command: {e}"));
    assert_eq!(other.admin().list(Filter::prefix("")).next().await.unwrap().unwrap().name.as_str(), "a");
    assert!(other.holder("a").await.unwrap().is_some());
    assert_eq!(guard.keep_for(Duration::from_millis(50)).await.unwrap(), Released::Yes);
    one.mutex("a").lock().await.unwrap().finish().await.unwrap();
}

/// What is missing is named, instead of "permissions ok".
#[tokio::test]
#[ignore = "needs redis-server"]
async fn rights_that_a_listing_lacks_are_named() {
    let server = Redis::start();
    let rights = ["on", ">pw", "~cotter:*", "&cotter:*", "+@all", "-scan", "-mget", "-keys"];
    assert_eq!(server.command(&[&["ACL", "SETUSER", "small"][..], &rights].concat()), "OK");
    let url = format!("redis://small:pw@127.0.0.1:{}", server.port());
    let findings = client(&url, TTL).await.admin().diagnose().await.unwrap();
    for needed in ["+scan", "+mget"] {
        let told = |f: &Finding| f.subject == "permissions" && f.message.contains(needed);
        assert!(findings.iter().any(told), "{needed} in {findings:?}");
    }
}

/// Not a mistake in the protocol: whoever sees it has to change the rule.
#[tokio::test]
#[ignore = "needs redis-server"]
async fn what_a_script_must_not_run_is_denied() {
    let server = Redis::start();
    assert_eq!(server.command(&["ACL", "SETUSER", acl_rule("native")[2], "-time"]), "OK");
    let client = Client::connect(server.url("")).await.unwrap();
    let error = client.mutex("a").try_lock().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
}

/// It is called when something is wrong: what the server refuses for now does not hide the rest.
#[tokio::test]
#[ignore = "needs redis-server"]
async fn a_replica_without_its_master_is_diagnosed() {
    let server = Redis::start();
    show_doctor(&server);
    server.command(&["CONFIG", "SET", "replica-serve-stale-data", "no"]);
    let client = client(&server.url(""), TTL).await;
    server.command(&["REPLICAOF", "127.0.0.1", "1"]);
    let findings = client.admin().diagnose().await.unwrap();
    for (subject, says) in [("role", "this is a replica"), ("requests", "MASTERDOWN")] {
        let is_told = findings
            .iter()
            .any(|f| f.subject == subject && f.severity == Severity::Problem && f.message.contains(says));
        assert!(is_told, "nothing about {subject} in {findings:?}");
    }
}

/// The locks work without it, but waiters are slow: nothing else would say why.
#[tokio::test]
#[ignore = "needs redis-server"]
async fn what_keeps_waiters_from_being_woken_is_said() {
    let server = Redis::start();
    let user = acl_rule("native")[2];
    server.command(&["ACL", "SETUSER", user, "-publish"]);
    let said = finding(&server, "", "permissions").await;
    assert!(said.severity == Severity::Warning && said.message.contains("+publish"), "{said}");
    server.command(&["ACL", "SETUSER", user, "resetchannels"]);
    let said = finding(&server, "", "subscriptions").await;
    assert!(said.severity == Severity::Warning && said.message.contains("waiters poll"), "{said}");
}

/// `EVAL` is allowed and loading the scripts works: only a lock shows that none can be taken. What the doctor may not ask hides
/// nothing of that.
#[tokio::test]
#[ignore = "needs redis-server"]
async fn a_lock_that_cannot_be_taken_is_a_problem() {
    let server = Redis::start();
    trial::works(&client(&server.url(""), TTL).await).await;
    server.command(&["ACL", "SETUSER", acl_rule("native")[2], "-time"]);
    trial::fails(&client(&server.url(""), TTL).await, "denied").await;
}

/// The name of the trial is forgotten like every other.
#[tokio::test]
#[ignore = "needs redis-server"]
async fn the_trial_leaves_no_key_for_good() {
    for (_, options) in MODES {
        let server = Redis::start();
        trial::works(&client(&server.url(options), TTL).await).await;
        let left = "local kept = {} for _, key in ipairs(redis.call('KEYS', '*')) do \
            if redis.call('PTTL', key) < 0 then table.insert(kept, key) end end return table.concat(kept, ' ')";
        assert_eq!(server.command(&["EVAL", left, "0"]), "", "violation[left-behind]: {options}");
    }
}

/// In the older modes names are keys of others, to which this user may have no rights.
#[tokio::test]
#[ignore = "needs redis-server"]
async fn a_name_that_is_not_allowed_says_nothing_of_the_others() {
    let server = Redis::start();
    for mode in ["plain", "getset"] {
        let words = ["ACL", "SETUSER", acl_rule(mode)[2], "resetkeys", "~orders:*"];
        assert_eq!(server.command(&words), "OK");
        let client = client(&server.url(&format!("mode={mode}")), TTL).await;
        let found = trial::tried(&client).await;
        assert!(
            found.severity == Severity::Warning && found.message.contains("no lock was tried"),
            "{found}"
        );
        client.mutex("orders:7").lock().await.unwrap().finish().await.unwrap();
    }
}

/// Subscribing works, and nothing ever arrives.
#[tokio::test]
#[ignore = "needs redis-server"]
async fn messages_that_do_not_arrive_are_told() {
    let server = Redis::start();
    let proxy = Proxy::start(server.port());
    let client = client(&proxy.redis_url(""), TTL).await;
    let arrived = trial::about(&client, "subscriptions").await;
    assert!(arrived.severity == Severity::Ok && arrived.message.contains("has arrived"), "{arrived}");
    proxy.drop_messages(Some(b"message\r\n"));
    let lost = trial::about(&client, "subscriptions").await;
    assert!(lost.severity == Severity::Warning && lost.message.contains("did not arrive"), "{lost}");
    assert!(proxy.messages_dropped() > 0);
}

/// It changes the form of some answers.
#[tokio::test]
#[ignore = "needs redis-server"]
async fn an_application_may_have_chosen_resp3() {
    let server = Redis::start();
    let url = format!("redis://127.0.0.1:{}/?protocol=resp3", server.port());
    let store = cotter::redis::Store::from_client(redis::Client::open(url).unwrap());
    let client = Client::builder().connect_to(store).await.unwrap();
    client.mutex("a").lock().await.unwrap().finish().await.unwrap();
    let findings = client.admin().diagnose().await.unwrap();
    for (subject, says) in [("maxmemory-policy", "noeviction"), ("min-replicas-to-write", "without any")] {
        let is_ok = |f: &&Finding| f.subject == subject && f.severity == Severity::Ok;
        let found = findings.iter().find(is_ok);
        assert!(found.is_some_and(|f| f.message.contains(says)), "{subject}: {findings:?}");
    }
}

//! What the doctor says of a server, and the rights that it needs.

use super::setup::{client, eventually, queued};
use cotter::{Client, Filter, Finding, Level, Released, Severity};
use cotter_testkit::servers::Redis;
use std::time::Duration;

const TTL: Duration = Duration::from_secs(20);

async fn finding(server: &Redis, options: &str, subject: &str) -> Finding {
    let client = client(&server.url(options), TTL).await;
    let findings = client.diagnose().await.unwrap();
    let found = findings.iter().find(|f| f.subject == subject);
    found.unwrap_or_else(|| panic!("nothing about {subject} in {findings:?}")).clone()
}

#[tokio::test]
#[ignore = "needs redis-server"]
async fn a_replica_leaves_best_effort() {
    let (master, replica) = (Redis::start(), Redis::start());
    let client = client(&master.url(""), TTL).await;
    let findings = client.diagnose().await.unwrap();
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
    let said = finding(&server, "", "persistence").await;
    assert!(said.severity == Severity::Warning && said.message.contains("no append-only file"), "{said}");
    let server = Redis::builder().with("appendonly", "yes").start();
    for (fsync, severity, says) in [
        ("everysec", Severity::Warning, "up to a second of acknowledged locks"),
        ("no", Severity::Warning, "appendfsync no"),
        ("always", Severity::Ok, "at every change"),
    ] {
        assert_eq!(server.command(&["CONFIG", "SET", "appendfsync", fsync]), "OK");
        for options in ["", "mode=plain", "mode=getset"] {
            let said = finding(&server, options, "persistence").await;
            assert!(said.severity == severity && said.message.contains(says), "{options} {fsync}: {said}");
        }
    }
}

#[tokio::test]
#[ignore = "needs redis-server"]
async fn what_names_cost_is_said() {
    let server = Redis::start();
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
    assert_eq!(finding(&server, "mode=plain", "maxmemory-policy").await.severity, Severity::Problem);
    assert_eq!(finding(&server, "mode=getset", "maxmemory-policy").await.severity, Severity::Ok);
    server.command(&["CONFIG", "SET", "maxmemory-policy", "allkeys-lru"]);
    assert_eq!(finding(&server, "mode=getset", "maxmemory-policy").await.severity, Severity::Problem);
    for flaw in ["clocks", "losers", "owner"] {
        assert_eq!(finding(&server, "mode=getset", flaw).await.severity, Severity::Warning);
    }
}

/// The line of the documentation, word by word.
fn documented_rights() -> Vec<String> {
    let page = include_str!("../../../../../docs/stores.md");
    let line = page.lines().find(|line| line.starts_with("ACL SETUSER ")).expect("a rule in the page");
    line.split_whitespace().map(str::to_owned).collect()
}

#[tokio::test]
#[ignore = "needs redis-server"]
async fn the_rights_of_the_documentation_are_enough() {
    let server = Redis::start();
    let rule = documented_rights();
    let rule: Vec<&str> = rule.iter().map(String::as_str).collect();
    assert_eq!(server.command(&rule), "OK");
    let user = rule[2];
    let password = rule.iter().find_map(|word| word.strip_prefix('>')).expect("a password");
    let url = format!("redis://{user}:{password}@127.0.0.1:{}", server.port());
    let (one, other) = (client(&url, Duration::from_millis(900)).await, Client::connect(&url).await.unwrap());
    let guard = one.mutex("a").lock().await.unwrap();
    guard.put_note("text").await.unwrap();
    assert_eq!(other.note("a").await.unwrap().unwrap().bytes, b"text");
    other.swap_note("a", "key", 0, "text").await.unwrap().expect("there was none");
    tokio::time::sleep(Duration::from_millis(1500)).await;
    guard.extend(TTL).await.unwrap();
    let waiting = tokio::spawn(other.mutex("a").lock());
    eventually("it waits", || queued(&server, "a") == 1).await;
    assert_eq!(other.list(Filter::prefix("")).next().await.unwrap().unwrap().name.as_str(), "a");
    assert!(other.holder("a").await.unwrap().is_some());
    guard.finish().await.unwrap();
    let second =
        tokio::time::timeout(Duration::from_secs(10), waiting).await.expect("woken").unwrap().unwrap();
    assert_eq!(second.leave_for(Duration::from_millis(50)).await.unwrap(), Released::Yes);
    let third = one.mutex("a").lock().await.unwrap();
    drop(other.evict("a").await.unwrap());
    drop(third);
    let findings = other.diagnose().await.unwrap();
    assert!(findings.iter().all(|f| !f.message.contains("forbidden")), "{findings:?}");
    assert!(
        findings.iter().any(|f| f.subject == "permissions" && f.severity == Severity::Ok),
        "{findings:?}"
    );
}

/// What is missing is named, instead of "permissions ok".
#[tokio::test]
#[ignore = "needs redis-server"]
async fn rights_that_a_listing_lacks_are_named() {
    let server = Redis::start();
    let rights = ["on", ">pw", "~cotter:*", "&cotter:*", "+@all", "-scan", "-mget", "-keys"];
    assert_eq!(server.command(&[&["ACL", "SETUSER", "small"][..], &rights].concat()), "OK");
    let url = format!("redis://small:pw@127.0.0.1:{}", server.port());
    let findings = client(&url, TTL).await.diagnose().await.unwrap();
    for needed in ["+scan", "+mget"] {
        let told = |f: &Finding| f.subject == "permissions" && f.message.contains(needed);
        assert!(findings.iter().any(told), "{needed} in {findings:?}");
    }
}

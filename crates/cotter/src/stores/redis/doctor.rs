//! Diagnosing a server for `doctor`.

use super::connection::Link;
use super::errors::unexpected;
use super::options::{Options, Protocol};
use super::{proxied, rights, script};
use crate::backend::Finding;
use crate::stores::shared::net::of_addresses;
use crate::{Error, ErrorKind, Moment, Result};
use redis::Value;
use std::time::{Duration, SystemTime};

/// The server's clock, and a time that is not later than the request.
pub(super) async fn time(link: &Link) -> Result<(SystemTime, Moment)> {
    let ask = if is_through_proxy(link).await? { script::time() } else { redis::cmd("TIME") };
    let (value, sent) = link.query(&ask).await?;
    let (seconds, micros): (u64, u64) = redis::from_redis_value(value).map_err(|_| unexpected("no time"))?;
    Ok((SystemTime::UNIX_EPOCH + Duration::from_secs(seconds) + Duration::from_micros(micros), sent))
}

/// Whether the connection leads through a proxy that would close it at most of what is asked here.
pub(super) async fn is_through_proxy(link: &Link) -> Result<bool> {
    Ok(link.live().await?.through_proxy)
}

/// Everything that voids or limits a guarantee. Settings that the server does not reveal are findings too.
pub(super) async fn diagnose(link: &Link, options: &Options) -> Result<Vec<Finding>> {
    let mut findings = vec![clock(link).await?];
    findings.extend(of_addresses(&link.connector.survey().await));
    if let Some(sentinels) = link.connector.sentinels() {
        findings.extend(sentinels.diagnose(options).await);
    }
    if options.protocol == Protocol::GetSet {
        findings.extend(FLAWS.map(|(subject, flaw)| Finding::limits(subject, flaw)));
    }
    if is_through_proxy(link).await? {
        findings.extend(proxied::diagnose(link).await);
        if options.protocol == Protocol::Native {
            findings.push(rights::messages(link, &rights::channel(&options.prefix)).await);
        }
        return Ok(findings);
    }
    match link.query(&redis::cmd("INFO")).await {
        Ok((value, _)) => from_info(&text(value), options, &mut findings),
        Err(e) => findings.push(unknown("version, role, replicas, memory", "INFO", &e)?),
    }
    for (setting, judge) in SETTINGS {
        let ask = redis::cmd("CONFIG").arg("GET").arg(*setting).to_owned();
        match link.query(&ask).await {
            Ok((value, _)) => findings.push(judge(&pair(value), options)),
            Err(e) => findings.push(unknown(setting, "CONFIG GET", &e)?),
        }
    }
    findings.extend(persistence(link, options).await?);
    if options.protocol == Protocol::Native {
        findings.extend(rights::check(link, &options.prefix).await?);
    }
    Ok(findings)
}

/// The flaws of getset that one side cannot mend.
const FLAWS: [(&str, &str); 3] = [
    (
        "clocks",
        "the clients' clocks decide whether a lock has expired: one that is ahead takes a lock that is held",
    ),
    ("losers", "a client that loses the race for an expired lock has overwritten the winner's expiry"),
    (
        "owner",
        "the value does not say who wrote it: other code that releases late frees whoever holds the lock; cotter does not",
    ),
];

type Judge = fn(&str, &Options) -> Finding;

const SETTINGS: &[(&str, Judge)] = &[("maxmemory-policy", eviction), ("min-replicas-to-write", replicas)];

async fn clock(link: &Link) -> Result<Finding> {
    let before = link.clock().wall();
    match time(link).await {
        Ok((theirs, _)) => Ok(Finding::of_clocks(before, theirs, link.clock().wall())),
        Err(e) => unknown("clock", "TIME", &e),
    }
}

fn from_info(info: &str, options: &Options, findings: &mut Vec<Finding>) {
    let field =
        |name: &str| info.lines().find_map(|l| l.strip_prefix(name)?.strip_prefix(':')).map(str::trim);
    if let Some(version) = field("valkey_version").or_else(|| field("redis_version")) {
        let old = version.split('.').next().and_then(|v| v.parse().ok()).is_some_and(|v: u32| v < 6);
        findings.push(match old {
            true => Finding::breaks("version", format!("{version}; the scripts need version 6 or later")),
            false => Finding::ok("version", version),
        });
    }
    if field("cluster_enabled") == Some("1") && !options.is_cluster {
        let message = "a cluster node, used as a single server: names whose slot is on another node are refused; write redis+cluster:";
        // Its cluster may replace it by a replica at any time, which may lack the most recent locks.
        findings.push(Finding::voids("cluster", message));
    }
    if field("role").is_some_and(|r| r != "master") {
        let message = "this is a replica: it refuses writes; connect to its master";
        findings.push(Finding::breaks("role", message));
    }
    let has_replicas = field("connected_slaves").is_some_and(|n| n != "0");
    if let Some(longest) = options.votes.filter(|_| has_replicas) {
        let message = format!(
            "this member of a quorum has replicas: when the first one is attached, or one is promoted, it votes for nothing for \
             {longest:?}, because it may have got an old copy of its data; a member needs none"
        );
        findings.push(Finding::limits("replicas", message));
    } else if options.replicas > 0 || has_replicas {
        findings.push(replication(field("connected_slaves").unwrap_or_default(), options.replicas));
    }
    if options.protocol == Protocol::Native {
        let number = |name| field(name).and_then(|n| n.parse::<u64>().ok()).unwrap_or_default();
        findings.push(memory(number("used_memory"), number("maxmemory"), options.retain));
    }
}

fn replication(connected: &str, replicas: u32) -> Finding {
    if replicas == 0 {
        let message = "asynchronous: a failover may lose the most recent locks, so that two clients hold the same one; \
            tokens still increase, unless the clock of the new master is behind; set replicas=";
        return Finding::weakens("replicas", message);
    }
    let message = format!("each write waits for {replicas} of {connected} replicas");
    match connected.parse::<u32>() {
        Ok(n) if n == replicas => Finding::ok("replicas", message),
        Ok(n) if n < replicas => {
            let why = format!("{message}: nothing can be locked");
            Finding::breaks("replicas", why)
        }
        _ => {
            let why = format!(
                "{message}: one that did not acknowledge a write may become the master, and lose the most recent locks"
            );
            Finding::weakens("replicas", why)
        }
    }
}

/// The memory in bytes that a name takes from its first use until it is forgotten: state, label, and the server's overhead.
const NAME_BYTES: u64 = 280;
/// A server without memory for this many new names per second gets a warning.
const BUSY_RATE: u64 = 1000;

/// Each name is kept for `retain` after its last release.
fn memory(used: u64, most: u64, retain: Duration) -> Finding {
    let names = NAME_BYTES * retain.as_secs().max(1);
    let costs = format!(
        "each new name stays for {retain:?} and takes {NAME_BYTES} bytes: {BUSY_RATE} a second take {} MB",
        names * BUSY_RATE / 1_000_000
    );
    if most == 0 {
        return Finding::ok("memory", costs + "; maxmemory is not set");
    }
    let rate = most.saturating_sub(used) / names;
    let message = format!("{costs}; up to maxmemory there is room for {rate} a second");
    match rate < BUSY_RATE {
        true => Finding::limits("memory", message + "; shorten retain=, or raise maxmemory"),
        false => Finding::ok("memory", message),
    }
}

fn eviction(policy: &str, options: &Options) -> Finding {
    // Keys of getset have no time to live; all others have one.
    let harmless =
        policy == "noeviction" || (options.protocol == Protocol::GetSet && policy.starts_with("volatile-"));
    if harmless {
        return Finding::ok("maxmemory-policy", policy);
    }
    let message = format!("{policy}: the server may evict locks; set it to noeviction");
    Finding::voids("maxmemory-policy", message)
}

/// Whether an acknowledged lock survives a crash of the server.
async fn persistence(link: &Link, options: &Options) -> Result<Option<Finding>> {
    let mut said = Vec::new();
    for setting in ["appendonly", "appendfsync"] {
        match link.query(redis::cmd("CONFIG").arg("GET").arg(setting)).await {
            Ok((value, _)) => said.push(pair(value)),
            Err(e) => return unknown("persistence", "CONFIG GET", &e).map(Some),
        }
    }
    let [appendonly, appendfsync] = &said[..] else { return Ok(None) };
    let message = match (&**appendonly, &**appendfsync) {
        ("yes", "always") => {
            let message = "append-only file, synced at every change";
            return Ok(Some(Finding::ok("persistence", message)));
        }
        ("yes", fsync) => {
            let most =
                if fsync == "everysec" { "up to a second" } else { "what the system had not written yet" };
            format!(
                "append-only file with appendfsync {fsync}: a power failure loses {most} of acknowledged locks, so that \
                two clients hold the same one; only `always` keeps them"
            )
        }
        _ => "no append-only file: a restart forgets locks that are held; tokens still increase".to_owned(),
    };
    // A member of a quorum grants nothing after a restart until what it has forgotten has ended.
    let message = match options.votes {
        None => return Ok(Some(Finding::weakens("persistence", message))),
        Some(longest) => {
            format!("{message}; after a restart, this member of a quorum votes for nothing for {longest:?}")
        }
    };
    Ok(Some(Finding::limits("persistence", message)))
}

fn replicas(at_least: &str, options: &Options) -> Finding {
    if at_least == "0" && options.has_sentinels && options.replicas == 0 {
        let message = "0: a master that is cut off from its sentinels goes on granting locks, while they make another server the master; set \
             it to 1, with min-replicas-max-lag, or set replicas=";
        return Finding::weakens("min-replicas-to-write", message);
    }
    let message = match at_least {
        "0" => "writes are acknowledged without any replica".into(),
        n => format!("writes need {n} reachable replicas"),
    };
    Finding::ok("min-replicas-to-write", message)
}

/// The finding for a command that the server refuses. Any other error ends the diagnosis.
fn unknown(subject: &str, command: &str, e: &Error) -> Result<Finding> {
    match e.kind() {
        ErrorKind::Denied | ErrorKind::Protocol | ErrorKind::Unsupported => {
            let message = format!("unknown, because {command} is not allowed here");
            Ok(Finding::limits(subject, message))
        }
        _ => Err(e.clone()),
    }
}

fn text(value: Value) -> String {
    redis::from_redis_value(value).unwrap_or_default()
}

/// The value of a setting, which the server sends with its name: as a list, or as a map if the application's client has
/// chosen RESP3.
pub(super) fn pair(value: Value) -> String {
    let fields: Vec<(String, String)> = redis::from_redis_value(value).unwrap_or_default();
    fields.into_iter().next().map(|(_, setting)| setting).unwrap_or_default()
}

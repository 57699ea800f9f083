//! What is worth knowing about a server.

use super::connection::Link;
use super::faults::garbled;
use crate::record::{Finding, Severity};
use crate::{Error, ErrorKind, Moment, Result};
use redis::Value;
use std::time::{Duration, SystemTime};

/// The server's clock, and when it was asked.
pub(super) async fn time(link: &Link) -> Result<(SystemTime, Moment)> {
    let (value, sent) = link.ask(&redis::cmd("TIME")).await?;
    let (seconds, micros): (u64, u64) = redis::from_redis_value(value).map_err(|_| garbled("no time"))?;
    Ok((SystemTime::UNIX_EPOCH + Duration::from_secs(seconds) + Duration::from_micros(micros), sent))
}

/// Everything that voids or limits a promise. What the server will not tell is a finding too.
pub(super) async fn diagnose(link: &Link) -> Result<Vec<Finding>> {
    let mut findings = vec![clock(link).await?];
    match link.ask(&redis::cmd("INFO")).await {
        Ok((value, _)) => from_info(&text(value), &mut findings),
        Err(e) => findings.push(unsaid("server", "INFO", &e)?),
    }
    for (setting, judge) in SETTINGS {
        let ask = redis::cmd("CONFIG").arg("GET").arg(*setting).to_owned();
        match link.ask(&ask).await {
            Ok((value, _)) => findings.push(judge(&pair(value))),
            Err(e) => findings.push(unsaid(setting, "CONFIG GET", &e)?),
        }
    }
    findings.push(channels(link).await?);
    Ok(findings)
}

type Judge = fn(&str) -> Finding;

const SETTINGS: &[(&str, Judge)] =
    &[("maxmemory-policy", eviction), ("appendonly", persistence), ("min-replicas-to-write", replicas)];

/// More than this between the clocks is told; it does no harm by itself.
const OFFSET: Duration = Duration::from_secs(1);

async fn clock(link: &Link) -> Result<Finding> {
    let before = link.clock().wall();
    let (theirs, _) = time(link).await?;
    let after = link.clock().wall();
    let ahead = theirs.duration_since(after).unwrap_or_default();
    let behind = before.duration_since(theirs).unwrap_or_default();
    Ok(if ahead.max(behind) > OFFSET {
        let (offset, way) = if ahead > behind { (ahead, "ahead of") } else { (behind, "behind") };
        let message = format!("the server's clock is {} s {way} this host's", offset.as_secs());
        Finding::new(Severity::Warning, "clock", message + "; tokens follow the server's, leases neither")
    } else {
        Finding::new(Severity::Ok, "clock", "the server's clock is that of this host")
    })
}

fn from_info(info: &str, findings: &mut Vec<Finding>) {
    let field =
        |name: &str| info.lines().find_map(|l| l.strip_prefix(name)?.strip_prefix(':')).map(str::trim);
    if let Some(version) = field("valkey_version").or_else(|| field("redis_version")) {
        let old = version.split('.').next().and_then(|v| v.parse().ok()).is_some_and(|v: u32| v < 6);
        let (severity, why) = match old {
            true => (Severity::Problem, "; the scripts need version 6 or later"),
            false => (Severity::Ok, ""),
        };
        findings.push(Finding::new(severity, "version", format!("{version}{why}")));
    }
    if field("cluster_enabled") == Some("1") {
        let message = "a cluster node, used as a single server: names whose slot is elsewhere are refused";
        findings.push(Finding::new(Severity::Problem, "cluster", message));
    }
    if field("role").is_some_and(|r| r != "master") {
        let message = "this is a replica: it refuses writes; connect to its master";
        findings.push(Finding::new(Severity::Problem, "role", message));
    }
    if field("connected_slaves").is_some_and(|n| n != "0") {
        let message = "has replicas: a fail-over may forget the last locks, two holders are possible then; \
            tokens go on rising unless the new master's clock is behind";
        findings.push(Finding::new(Severity::Warning, "replicas", message));
    }
}

fn eviction(policy: &str) -> Finding {
    if policy == "noeviction" {
        return Finding::new(Severity::Ok, "maxmemory-policy", policy);
    }
    let message = format!("{policy}: the server may throw locks away; set it to noeviction");
    Finding::new(Severity::Problem, "maxmemory-policy", message)
}

fn persistence(appendonly: &str) -> Finding {
    if appendonly == "yes" {
        return Finding::new(Severity::Ok, "persistence", "append-only file");
    }
    let message =
        "no append-only file: a restart forgets locks that are held; tokens go on rising by the clock";
    Finding::new(Severity::Warning, "persistence", message)
}

fn replicas(at_least: &str) -> Finding {
    let message = match at_least {
        "0" => "writes are acknowledged without any replica".into(),
        n => format!("writes need {n} replicas in reach"),
    };
    Finding::new(Severity::Ok, "min-replicas-to-write", message)
}

/// Waiting needs a channel; an ACL may have none for us.
async fn channels(link: &Link) -> Result<Finding> {
    let ask = redis::cmd("PUBSUB").arg("NUMSUB").arg("cotter:wake:doctor").to_owned();
    Ok(match link.ask(&ask).await {
        Ok(_) => Finding::new(Severity::Ok, "permissions", "scripts can see who listens"),
        Err(e) if e.kind() == ErrorKind::Denied => {
            let message = "PUBSUB is forbidden: nobody can wait; the ACL needs +pubsub|numsub and &cotter:*";
            Finding::new(Severity::Problem, "permissions", message)
        }
        Err(e) => return Err(e),
    })
}

/// The server did not tell; anything but a refusal ends the diagnosis.
fn unsaid(subject: &str, command: &str, e: &Error) -> Result<Finding> {
    match e.kind() {
        ErrorKind::Denied | ErrorKind::Protocol => {
            let message = format!("not known, because {command} is not allowed here");
            Ok(Finding::new(Severity::Warning, subject, message))
        }
        _ => Err(e.clone()),
    }
}

fn text(value: Value) -> String {
    redis::from_redis_value(value).unwrap_or_default()
}

/// The value of a setting; servers name it in front.
fn pair(value: Value) -> String {
    let fields: Vec<String> = redis::from_redis_value(value).unwrap_or_default();
    fields.into_iter().nth(1).unwrap_or_default()
}

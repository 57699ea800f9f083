//! What is worth knowing about a server.

use super::connection::Link;
use super::errors::garbled;
use super::options::{Mode, Options};
use crate::backend::{Finding, Severity};
use crate::{Error, ErrorKind, Level, Moment, Result};
use redis::Value;
use std::time::{Duration, SystemTime};

/// The server's clock, and when it was asked.
pub(super) async fn time(link: &Link) -> Result<(SystemTime, Moment)> {
    let (value, sent) = link.ask(&redis::cmd("TIME")).await?;
    let (seconds, micros): (u64, u64) = redis::from_redis_value(value).map_err(|_| garbled("no time"))?;
    Ok((SystemTime::UNIX_EPOCH + Duration::from_secs(seconds) + Duration::from_micros(micros), sent))
}

/// Everything that voids or limits a promise. What the server will not tell is a finding too.
pub(super) async fn diagnose(link: &Link, options: &Options) -> Result<Vec<Finding>> {
    let mut findings = vec![clock(link).await?];
    if options.mode == Mode::GetSet {
        findings.extend(FLAWS.map(|(subject, flaw)| Finding::new(Severity::Warning, subject, flaw)));
    }
    match link.ask(&redis::cmd("INFO")).await {
        Ok((value, _)) => from_info(&text(value), options, &mut findings),
        Err(e) => findings.push(unsaid("server", "INFO", &e)?),
    }
    for (setting, judge) in SETTINGS {
        let ask = redis::cmd("CONFIG").arg("GET").arg(*setting).to_owned();
        match link.ask(&ask).await {
            Ok((value, _)) => findings.push(judge(&pair(value), options.mode)),
            Err(e) => findings.push(unsaid(setting, "CONFIG GET", &e)?),
        }
    }
    findings.extend(persistence(link).await?);
    if options.mode == Mode::Native {
        findings.extend(permissions(link, &options.prefix).await?);
    }
    Ok(findings)
}

/// What no client can mend from its side.
const FLAWS: [(&str, &str); 3] = [
    (
        "clocks",
        "the expiry is written and judged by the clocks of the clients: one that is ahead takes a lock that is held",
    ),
    ("losers", "whoever loses the race for an expired lock has overwritten the winner's expiry"),
    (
        "owner",
        "the value does not say whose it is: a late release by hand frees whatever stands there; cotter's does not",
    ),
];

type Judge = fn(&str, Mode) -> Finding;

const SETTINGS: &[(&str, Judge)] = &[("maxmemory-policy", eviction), ("min-replicas-to-write", replicas)];

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

fn from_info(info: &str, options: &Options, findings: &mut Vec<Finding>) {
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
        let finding = Finding::new(Severity::Warning, "replicas", message);
        findings.push(finding.leaving(Level::BestEffort));
    }
    if options.mode == Mode::Native {
        let number = |name| field(name).and_then(|n| n.parse::<u64>().ok()).unwrap_or_default();
        findings.push(memory(number("used_memory"), number("maxmemory"), options.retain));
    }
}

/// What a name that was used once takes until it is forgotten, with a label and the server's own housekeeping, in bytes.
const NAME: u64 = 280;
/// A server that has no room for so many new names a second is worth a warning.
const BUSY: u64 = 1000;

/// Every name stays for `retain` after its last release.
fn memory(used: u64, most: u64, retain: Duration) -> Finding {
    let names = NAME * retain.as_secs().max(1);
    let costs = format!(
        "each new name stays for {retain:?} and takes {NAME} bytes: {BUSY} a second take {} MB",
        names * BUSY / 1_000_000
    );
    if most == 0 {
        return Finding::new(Severity::Ok, "memory", costs + "; maxmemory is not set");
    }
    let rate = most.saturating_sub(used) / names;
    let message = format!("{costs}; up to maxmemory there is room for {rate} a second");
    match rate < BUSY {
        true => Finding::new(Severity::Warning, "memory", message + "; shorten retain=, or raise maxmemory"),
        false => Finding::new(Severity::Ok, "memory", message),
    }
}

fn eviction(policy: &str, mode: Mode) -> Finding {
    // Keys of getset have no time to live, the others all have one.
    let harmless = policy == "noeviction" || (mode == Mode::GetSet && policy.starts_with("volatile-"));
    if harmless {
        return Finding::new(Severity::Ok, "maxmemory-policy", policy);
    }
    let message = format!("{policy}: the server may throw locks away; set it to noeviction");
    Finding::new(Severity::Problem, "maxmemory-policy", message)
}

/// Whether a lock that was acknowledged survives the server.
async fn persistence(link: &Link) -> Result<Option<Finding>> {
    let mut said = Vec::new();
    for setting in ["appendonly", "appendfsync"] {
        match link.ask(redis::cmd("CONFIG").arg("GET").arg(setting)).await {
            Ok((value, _)) => said.push(pair(value)),
            Err(e) => return unsaid("persistence", "CONFIG GET", &e).map(Some),
        }
    }
    let [appendonly, appendfsync] = &said[..] else { return Ok(None) };
    let (severity, message) = match (&**appendonly, &**appendfsync) {
        ("yes", "always") => (Severity::Ok, "append-only file, written through at every change".to_owned()),
        ("yes", fsync) => {
            let most =
                if fsync == "everysec" { "up to a second" } else { "what the system had not written yet" };
            let message = format!(
                "append-only file with appendfsync {fsync}: a power failure forgets {most} of acknowledged locks, two \
                holders are possible then; only `always` keeps them"
            );
            (Severity::Warning, message)
        }
        _ => {
            let message = "no append-only file: a restart forgets locks that are held; tokens go on rising by the clock";
            (Severity::Warning, message.to_owned())
        }
    };
    Ok(Some(Finding::new(severity, "persistence", message)))
}

fn replicas(at_least: &str, _: Mode) -> Finding {
    let message = match at_least {
        "0" => "writes are acknowledged without any replica".into(),
        n => format!("writes need {n} replicas in reach"),
    };
    Finding::new(Severity::Ok, "min-replicas-to-write", message)
}

/// What an ACL may have forgotten: scripts see who listens, `list` walks and reads, waiting needs a channel.
async fn permissions(link: &Link, prefix: &str) -> Result<Vec<Finding>> {
    let mut numsub = redis::cmd("PUBSUB");
    numsub.arg("NUMSUB").arg(format!("{prefix}:wake:doctor"));
    let (mut scan, mut mget) = (redis::cmd("SCAN"), redis::cmd("MGET"));
    scan.arg(0).arg("MATCH").arg(format!("{prefix}:{{*}}")).arg("COUNT").arg(1);
    mget.arg(format!("{prefix}:{{doctor}}"));
    let mut findings = Vec::new();
    for (ask, severity, refused) in [
        (numsub, Severity::Problem, "PUBSUB is forbidden: nobody can wait; the ACL needs +pubsub|numsub"),
        (scan, Severity::Warning, "SCAN is forbidden: locks cannot be listed; the ACL needs +scan"),
        (mget, Severity::Warning, "MGET is forbidden: locks cannot be shown; the ACL needs +mget"),
    ] {
        match link.ask(&ask).await {
            Ok(_) => {}
            Err(e) if e.kind() == ErrorKind::Denied => {
                findings.push(Finding::new(severity, "permissions", refused));
            }
            Err(e) => return Err(e),
        }
    }
    if findings.is_empty() {
        let message = "scripts can see who listens, and locks can be listed";
        findings.push(Finding::new(Severity::Ok, "permissions", message));
    }
    Ok(findings)
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

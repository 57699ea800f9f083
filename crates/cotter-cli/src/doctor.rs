//! `cotter doctor`.

use crate::exit::Exit;
use crate::output::{Console, Failure, clean};
use crate::store::Chosen;
use clap::Args;
use cotter::backend::Capabilities;
use cotter::{Client, Finding, Info, Level, Severity};
use serde_json::json;
use std::io::Write;

/// Say what the store promises, and what in its set-up voids that
///
/// Exits with 78 when a promise is void until something is mended.
#[derive(Debug, Args)]
pub(crate) struct Doctor {}

/// Prints what the store is and what was found; a problem makes it fail.
pub(crate) async fn run(store: &Chosen, console: &Console) -> Result<Exit, Failure> {
    let client = store.connect(Client::builder(), console).await?;
    let findings = client.diagnose().await?;
    let info = client.info();
    let scope = store.scope(info);
    let report = if console.json { as_json(info, &findings) } else { as_text(info, scope, &findings) };
    console.out().write_all(report.as_bytes())?;
    let problem = findings.iter().any(|f| f.severity >= Severity::Problem);
    Ok(if problem { Exit::Config } else { Exit::Done })
}

fn as_text(info: &Info, scope: Option<&str>, findings: &[Finding]) -> String {
    let scope = scope.map(|scope| format!(" ({scope})")).unwrap_or_default();
    let can = abilities(info.capabilities).into_iter().filter(|(_, yes)| *yes).map(|(what, _)| what);
    let can = can.collect::<Vec<_>>().join(", ");
    let mut text = format!(
        "store      {}{scope}\npromises   {}\nlifetime   {}\n",
        clean(&info.instance),
        level(promised(info, findings)).1,
        lifetime(info.capabilities)
    );
    if !can.is_empty() {
        text.push_str(&format!("can        {can}\n"));
    }
    for finding in findings {
        text.push_str(&format!(
            "{:<9}  {}: {}\n",
            finding.severity.to_string(),
            finding.subject,
            finding.message
        ));
    }
    text
}

fn as_json(info: &Info, findings: &[Finding]) -> String {
    let level = level(promised(info, findings)).0;
    let capabilities: serde_json::Map<_, _> = abilities(info.capabilities)
        .into_iter()
        .map(|(what, yes)| (what.replace(' ', "_"), yes.into()))
        .collect();
    let findings: Vec<_> = findings
        .iter()
        .map(|f| json!({ "severity": f.severity.to_string(), "subject": f.subject, "message": f.message }))
        .collect();
    let report = json!({
        "store": info.instance,
        "scheme": info.scheme,
        "level": level,
        "capabilities": capabilities,
        "min_ttl_ms": u64::try_from(info.capabilities.min_ttl.as_millis()).unwrap_or(u64::MAX),
        "findings": findings,
    });
    format!("{report}\n")
}

/// What is left of the store's promise when everything that was found is taken into account.
fn promised(info: &Info, findings: &[Finding]) -> Level {
    findings.iter().filter_map(|f| f.level).fold(info.level, Level::min)
}

fn level(level: Level) -> (&'static str, &'static str) {
    match level {
        Level::BestEffort => ("L0", "L0, best effort: two holders are possible"),
        Level::LeaseExclusive => ("L1", "L1, lease-exclusive: no two holders inside their own validity"),
        _ => ("unknown", "a level that this cotter does not know"),
    }
}

fn lifetime(capabilities: Capabilities) -> &'static str {
    if capabilities.leases {
        "a lock ends when its lease does"
    } else {
        "a lock ends when its process or session does"
    }
}

fn abilities(capabilities: Capabilities) -> [(&'static str, bool); 4] {
    [
        ("leases", capabilities.leases),
        ("shared locks", capabilities.shared),
        ("semaphores", capabilities.permits),
        ("leaving a lease behind", capabilities.keep_for),
    ]
}

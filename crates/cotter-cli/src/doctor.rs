//! `cotter doctor`: the guarantees of a store, and problems of its setup.

use crate::store::Chosen;
use clap::Args;
use cotter::{Client, Finding, Info, Severity};
use cotter_console::duration::millis;
use cotter_console::promise::{abilities, level, lifetime, promise, promised};
use cotter_console::{Console, Exit, Failure, clean};
use cotter_scheduler::Zone;
use serde_json::json;
use std::io::Write;

/// Print what the store guarantees, and what weakens that
///
/// Takes a lock of a reserved name, cotter:doctor, and gives it back. Exits with 78 if there is a problem: something does not
/// work, or two holders are possible in ordinary operation. A warning may lower the level as well, if a crash or a failover
/// makes two holders possible.
#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// Make the members of a new quorum (redlock:) vote at once; use only while no lock is held
    #[arg(long)]
    init: bool,
}

/// Prints the properties of the store and the findings; fails if one of them is a problem.
pub(crate) async fn run(doctor: &Doctor, store: &Chosen, console: &Console) -> Result<Exit, Failure> {
    let client = store.connect(Client::builder(), console).await?;
    if doctor.init {
        client.admin().initialize().await?;
    }
    let findings = client.admin().diagnose().await?;
    let info = client.info();
    let scope = store.scope(info);
    let report = if console.json { as_json(info, &findings) } else { as_text(info, scope, &findings) };
    console.out().write_all(report.as_bytes())?;
    let problem = findings.iter().any(|f| f.severity >= Severity::Problem);
    Ok(if problem { Exit::Config } else { Exit::Done })
}

fn as_text(info: &Info, scope: Option<&str>, findings: &[Finding]) -> String {
    let scope = scope.map(|scope| format!(" ({scope})")).unwrap_or_default();
    let can = abilities(info.capabilities).into_iter().filter(|ability| ability.2).map(|ability| ability.1);
    let can = can.collect::<Vec<_>>().join(", ");
    let mut text = format!(
        "store      {}{scope}\npromises   {}\nlifetime   {}\ntime zones {}\n",
        clean(&info.instance),
        promise(info, findings),
        lifetime(info.capabilities),
        Zone::data_version()
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
    let left = level(promised(info, findings)).0;
    let capabilities: serde_json::Map<_, _> =
        abilities(info.capabilities).into_iter().map(|(key, _, yes)| (key.to_owned(), yes.into())).collect();
    let findings: Vec<_> = findings
        .iter()
        .map(|f| {
            let left = f.level.map(|left| level(left).0);
            json!({ "severity": f.severity.to_string(), "subject": f.subject, "message": f.message, "level": left })
        })
        .collect();
    let report = json!({
        "store": info.instance,
        "scheme": info.scheme,
        "level": left,
        "capabilities": capabilities,
        "min_ttl_ms": millis(info.capabilities.min_ttl),
        // Of this program, not of the store: hosts that differ may disagree about when jobs run.
        "time_zones": Zone::data_version(),
        "findings": findings,
    });
    format!("{report}\n")
}

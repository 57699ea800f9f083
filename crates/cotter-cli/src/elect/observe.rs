//! Printing who leads, and each change.

use crate::store::Chosen;
use cotter::{Client, ErrorKind, Leader, Name};
use cotter_console::{Console, Exit, Failure, clean};
use serde_json::json;
use std::io::Write;

/// Follows an election until standard output is closed.
pub(super) async fn run(name: &str, store: &Chosen, console: &Console) -> Result<Exit, Failure> {
    let name = Name::new(name)?;
    let client = store.connect(Client::builder(), console).await?;
    let mut watch = client.election(&name).watch();
    loop {
        match watch.changed().await {
            Ok(now) => print(&name, now.leader(), console)?,
            Err(e) if matches!(e.kind(), ErrorKind::Unavailable | ErrorKind::NoQuorum) => {
                console.warning(&format!("{name:?}: the current leader is unknown: {e}"));
            }
            Err(e) => return Err(e.into()),
        }
    }
}

fn print(name: &Name, leader: Option<&Leader>, console: &Console) -> Result<(), Failure> {
    let mut out = console.out();
    if console.json {
        writeln!(out, "{}", json!({ "name": name.as_str(), "leader": leader.map(object) }))?;
    } else {
        writeln!(out, "{}", text(name, leader))?;
    }
    Ok(out.flush()?)
}

fn text(name: &Name, leader: Option<&Leader>) -> String {
    let name = clean(name);
    let Some(leader) = leader else { return format!("{name}: nobody leads") };
    let announced = announced(leader).map(|text| format!(": {}", clean(&text))).unwrap_or_default();
    format!("{name}: led by {}, token {}{announced}", clean(&leader.label), leader.token)
}

fn object(leader: &Leader) -> serde_json::Value {
    json!({
        "token": leader.token.to_string(),
        "label": leader.label,
        "announcement": announced(leader),
    })
}

fn announced(leader: &Leader) -> Option<String> {
    leader.announcement.as_ref().map(|bytes| String::from_utf8_lossy(bytes).into_owned())
}

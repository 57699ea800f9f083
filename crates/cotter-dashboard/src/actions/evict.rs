//! Taking a lock away from a holder that was seen.

use super::posted::Posted;
use super::{Confirm, Refusal, make, part};
use crate::server::{Shared, page};
use axum::extract::{Query, State};
use axum::response::Response;
use cotter::{Client, ErrorKind, EvictOrder, Eviction, FencingToken, Holder, Name};
use cotter_console::eviction::{after, must_exit};
use cotter_console::lock::{mode, stamp};
use cotter_console::{Console, chain, clean};
use serde::Deserialize;
use serde_json::json;
use std::io::Write;
use std::sync::Arc;
use std::time::SystemTime;

/// A holder on the screen.
#[derive(Debug, Deserialize)]
pub(super) struct Which {
    name: String,
    token: u64,
}

/// Also said of what happens to the command of `cotter run`, because it is what most people expect of others as well.
const HAPPENS: &str = "The holder is notified at its next renewal, and the lock passes on when its lease ends. Its process is not \
    ended: cotter run ends its command then, but a program that does not look whether it still has the lock goes on.";

impl Which {
    fn back(&self) -> String {
        format!("/lock?name={}", part(&self.name))
    }

    /// That the holder is not the one that was seen.
    fn has_gone(&self) -> Refusal {
        Refusal::conflict(format!("{}: no longer held with token {}", self.name, self.token))
    }
}

pub(super) async fn confirm(State(shared): State<Arc<Shared>>, Query(which): Query<Which>) -> Response {
    let view = shared.listing.view().await;
    let record = view.locks.values().find(|record| record.name.as_str() == which.name);
    let token = FencingToken::from(which.token);
    let holder = record.and_then(|record| record.holders.iter().find(|holder| holder.owns(token)));
    let (Some(holder), Some(actions)) = (holder, &shared.actions) else {
        return which.has_gone().page(&shared, which.back());
    };
    page(&Confirm {
        frame: shared.plain_frame(),
        title: format!("Evict the holder of {}?", clean(&which.name)),
        facts: facts(holder),
        happens: HAPPENS,
        action: format!("/lock/evict?name={}&token={token}", part(&which.name)),
        secret: actions.door.form().told().to_owned(),
        is_pause: false,
        button: "Evict",
        back: which.back(),
    })
}

fn facts(holder: &Holder) -> Vec<(&'static str, String)> {
    let since = holder.since.map_or_else(|| "unknown".to_owned(), stamp);
    vec![
        ("Held by", clean(&holder.label)),
        ("Mode", mode(holder.mode)),
        ("Token", holder.token.to_string()),
        ("Since", since),
    ]
}

pub(super) async fn evict(
    State(shared): State<Arc<Shared>>,
    Query(which): Query<Which>,
    _: Posted,
) -> Response {
    let (client, console) = (shared.listing.client.clone(), shared.actions.as_ref().map(|all| all.console()));
    let back = which.back();
    make(shared, back, async move { evict_seen(&client, &which, console).await }).await
}

/// Evicts the holder with the token that was seen, and no other.
async fn evict_seen(client: &Client, which: &Which, console: Option<Console>) -> Result<String, Refusal> {
    let name = Name::new(which.name.as_str()).map_err(refusal)?;
    let order = EvictOrder::new().only(which.token.into());
    let done = client.admin().evict_with(&name, order).await.map_err(refusal);
    if let (Err(Refusal { status, why }), Some(console)) = (&done, console)
        && status.is_server_error()
    {
        let token = which.token;
        console.warning(&format!("{name}: may have been evicted (token {token}), which is not known: {why}"));
    }
    match done? {
        Eviction::Evicted { token } => {
            let text = format!("{name}: evicted (token {token}){}", after(client, &name, token).await);
            if let Some(console) = console {
                say(&console, &name, token, &text);
            }
            Ok(text)
        }
        Eviction::NotHeld => Err(which.has_gone()),
        Eviction::HolderMustExit { pid } => Err(Refusal::conflict(must_exit(&name, pid))),
        _ => Err(Refusal::silence(
            "the store returned a result that this version of cotter does not know".to_owned(),
        )),
    }
}

/// Where the dashboard was started: nobody else is told who has lost what.
fn say(console: &Console, name: &Name, token: FencingToken, text: &str) {
    if !console.json {
        return console.remark(text);
    }
    let time = stamp(SystemTime::now());
    let event =
        json!({ "event": "evicted", "name": name.as_str(), "token": token.to_string(), "time": time });
    let _ = writeln!(console.out(), "{event}");
}

/// What the store does not do, or does not tell.
fn refusal(error: cotter::Error) -> Refusal {
    let why = chain(&error);
    match error.kind() {
        ErrorKind::InvalidName | ErrorKind::Unsupported | ErrorKind::Denied | ErrorKind::ForeignKey => {
            Refusal::conflict(why)
        }
        _ => Refusal::silence(why),
    }
}

//! The time after which the server ends a session whose client is silent.

use crate::stores::mysql::SCHEME;
use crate::stores::mysql::errors::{WRONG_VALUE, code};
use crate::stores::mysql::rows::text;
use crate::stores::mysql::session::Session;
use crate::stores::shared::sql::sessions::CLAIMED_WITHIN;
use crate::{Error, ErrorKind, Result};
use std::collections::HashMap;
use std::time::Duration;

/// The settings that limit a session or its statements. Which of these there are depends on the server. MariaDB has another limit
/// for a session with an open transaction, and two more that go before it.
const ASK: &str = "SHOW SESSION VARIABLES WHERE Variable_name IN ('wait_timeout', 'idle_transaction_timeout', \
    'idle_write_transaction_timeout', 'idle_readonly_transaction_timeout', 'max_statement_time', 'max_execution_time')";

/// The required value of each of them.
fn wanted(name: &str, silence: u64) -> u64 {
    match name {
        "wait_timeout" | "idle_transaction_timeout" => silence,
        _ => 0,
    }
}

/// Has the server end this session when its client is silent for this long, or up to a second longer, and for no other reason.
/// Where that cannot be had, the session must not be used: nobody would end it when its client has gone.
pub(super) async fn set(session: &mut Session, silence: Duration) -> Result<()> {
    let silence = whole(silence);
    let there = ask(session).await?;
    let settings: Vec<String> =
        there.keys().map(|name| format!("{name} = {}", wanted(name, silence))).collect();
    if !settings.is_empty() {
        let refused = session.tell(&format!("SET SESSION {}", settings.join(", "))).await;
        if refused.as_ref().is_err_and(|e| code(e) == Some(WRONG_VALUE)) {
            return Err(endless(silence));
        }
        refused?;
    }
    let set = ask(session).await?;
    let is_set = |(name, value): (&String, &String)| {
        value.parse::<f64>().is_ok_and(|value| value == wanted(name, silence) as f64)
    };
    if set.contains_key("wait_timeout") && set.iter().all(is_set) {
        return Ok(());
    }
    Err(endless(silence))
}

/// A setting that ends a session that has waited for a lock, and has got it, when its client is silent for as long. MariaDB has
/// another limit for a session with an open transaction. Written to a `SET SESSION`; where it is ignored, the longer one stays.
pub(super) fn waiting(silence: Duration) -> String {
    within(silence.min(CLAIMED_WITHIN))
}

/// The setting of a session that has not waited, or has claimed what it has waited for.
pub(super) fn within(silence: Duration) -> String {
    let seconds = whole(silence);
    format!("wait_timeout = {seconds} /*M!100300 , idle_transaction_timeout = {seconds} */")
}

/// Never less than what the client counts with.
fn whole(silence: Duration) -> u64 {
    silence.as_secs() + u64::from(silence.subsec_nanos() > 0)
}

fn endless(silence: u64) -> Error {
    let why = format!(
        "this server ignores the setting that ends silent sessions after {silence} s, so a lock could outlive its holder; \
         use mode=lease"
    );
    Error::new(ErrorKind::Config, why).with_backend(SCHEME)
}

async fn ask(session: &mut Session) -> Result<HashMap<String, String>> {
    let rows = session.read(ASK, ()).await?;
    rows.iter().map(|row| Ok((text(row, 0)?, text(row, 1)?))).collect()
}

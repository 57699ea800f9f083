//! Which server an address leads to, where one name has several: whether it accepts writes, and what tells it from any other.

use super::SCHEME;
use super::errors::{Sent, explain, is_demoted, is_refusal};
use super::live::Live;
use super::options::{Options, Protocol};
use crate::backend::ClaimId;
use crate::stores::shared::net::read_only;
use crate::{Error, Result};
use redis::{Cmd, InfoDict, RedisResult, Value};
use std::time::Duration;

/// How the addresses of one name are told apart, for one attempt to connect to all of them.
#[derive(Debug, Clone)]
pub(super) enum Question {
    /// Each connection writes something of its own to this key, unless there is something: on one server all read the same.
    /// Nobody else uses the key, and a replica refuses.
    Key(String),
    /// In the older modes the keys are the names of the locks, and the user may write no others.
    Info,
}

/// Longer than the answers of a server are waited for.
const KEPT: Duration = Duration::from_secs(10);

impl Question {
    pub(super) fn new(options: &Options) -> Self {
        match options.protocol {
            Protocol::Native => Self::Key(format!("{}:server:{}", options.prefix, ClaimId::random())),
            Protocol::Plain | Protocol::GetSet | Protocol::Redisson => Self::Info,
        }
    }

    /// The identity of the server; `None` if it does not say.
    ///
    /// # Errors
    /// It does not accept writes.
    pub(super) async fn ask(&self, live: &Live) -> Result<Option<String>> {
        match self {
            Self::Key(key) => by_key(live, key).await,
            // The connection would be closed at the question.
            Self::Info if live.through_proxy => Ok(None),
            Self::Info => by_info(live).await,
        }
    }
}

async fn by_key(live: &Live, key: &str) -> Result<Option<String>> {
    let value = ClaimId::random().to_string();
    let mut set = redis::cmd("SET");
    set.arg(key).arg(value).arg("NX").arg("PX").arg(KEPT.as_millis() as u64);
    match live.query(&set).await {
        Err(e) if is_demoted(&e) => Err(replica()),
        Err(e) if is_refusal(&e) => Err(explain(e, Sent::No)),
        Err(_) => Ok(None),
        Ok(_) => Ok(text(live.query(redis::cmd("GET").arg(key)).await)),
    }
}

async fn by_info(live: &Live) -> Result<Option<String>> {
    let info = live.query(&Cmd::new().arg("INFO").to_owned()).await.ok();
    let Some(info) = info.and_then(|info| redis::from_redis_value::<InfoDict>(info).ok()) else {
        return Ok(None);
    };
    match info.get::<String>("role") {
        Some(role) if role == "slave" => Err(replica()),
        _ => Ok(info.get("run_id")),
    }
}

fn text(answer: RedisResult<Value>) -> Option<String> {
    answer.ok().and_then(|value| redis::from_redis_value(value).ok())
}

fn replica() -> Error {
    read_only(SCHEME, "")
}

//! Which jobs wait for a lock or a limit that others hold, as their runners have said: the state of a job does not tell.

use super::instant;
use super::said::{List, OfJob, Said};
use crate::UnixTime;
use cotter::{Client, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// How often a runner says again that a job waits.
pub(crate) const REPEATED: Duration = Duration::from_secs(60);

/// Few jobs wait at the same time.
const LIST: List = List { name: "waits", last: 0x0f, kept: Duration::from_secs(130) };

/// A job that waits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Wait {
    /// The name of the lock or the limit.
    #[serde(rename = "n")]
    pub(crate) lock: String,
    /// Who held it when this was said.
    #[serde(rename = "b", default, skip_serializing_if = "Option::is_none")]
    pub(crate) held_by: Option<String>,
    /// The host of the runner; empty if it has no name.
    #[serde(rename = "h")]
    pub(crate) host: String,
    /// When the wait began.
    #[serde(rename = "f", with = "instant")]
    pub(crate) since: UnixTime,
    /// When the runner last said so.
    #[serde(rename = "t", with = "instant")]
    pub(crate) at: UnixTime,
}

impl Said for Wait {
    fn at(&self) -> UnixTime {
        self.at
    }
}

/// The waits of a job, by the ids of schedulers.
pub(crate) type Waits = OfJob<Wait>;

/// Writes that a job waits, or no longer does.
pub(crate) async fn tell(
    client: &Client,
    group: &str,
    job: &str,
    id: &str,
    wait: Option<&Wait>,
    now: UnixTime,
) -> Result<()> {
    LIST.edit(client, group, job, now, |waits: &mut Waits| {
        waits.remove(id);
        waits.extend(wait.map(|wait| (id.to_owned(), wait.clone())));
    })
    .await
}

/// Forgets a job.
pub(crate) async fn forget(client: &Client, group: &str, job: &str) -> Result<()> {
    LIST.forget::<Wait>(client, group, job).await
}

/// All waits, by job.
pub(crate) async fn read(client: &Client, group: &str, now: UnixTime) -> Result<BTreeMap<String, Waits>> {
    LIST.read(client, group, now).await
}

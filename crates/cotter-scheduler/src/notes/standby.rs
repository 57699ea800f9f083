//! Which hosts stand by for which jobs, as they have said themselves: nothing else tells that a host has another definition.

use super::instant;
use super::said::{List, OfJob, Said};
use crate::UnixTime;
use cotter::{Client, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// How often a host says again that it stands by.
pub(crate) const REPEATED: Duration = Duration::from_secs(300);

const LIST: List = List { name: "standby", last: 0xff, kept: Duration::from_secs(720) };

/// A host that stands by for a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Seen {
    /// When it began to.
    #[serde(rename = "f", with = "instant")]
    pub(crate) since: UnixTime,
    /// When it last said so.
    #[serde(rename = "t", with = "instant")]
    pub(crate) at: UnixTime,
}

impl Said for Seen {
    fn at(&self) -> UnixTime {
        self.at
    }
}

/// What each host has said.
pub(crate) type Hosts = OfJob<Seen>;

/// Writes that a host stands by for a job, or no longer does.
pub(crate) async fn tell(
    client: &Client,
    group: &str,
    job: &str,
    host: &str,
    stands_by: bool,
    now: UnixTime,
) -> Result<()> {
    LIST.edit(client, group, job, now, |hosts: &mut Hosts| {
        let before = hosts.remove(host);
        if stands_by {
            let since = before.map_or(now, |seen| seen.since);
            hosts.insert(host.to_owned(), Seen { since, at: now });
        }
    })
    .await
}

/// Forgets a job.
pub(crate) async fn forget(client: &Client, group: &str, job: &str) -> Result<()> {
    LIST.forget::<Seen>(client, group, job).await
}

/// All hosts that stand by, by job.
pub(crate) async fn read(client: &Client, group: &str, now: UnixTime) -> Result<BTreeMap<String, Hosts>> {
    LIST.read(client, group, now).await
}

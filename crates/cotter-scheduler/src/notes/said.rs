//! Lists of what runners say of jobs: shown for as long as it is said again.

use super::{shard, shown};
use crate::UnixTime;
use cotter::{Client, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::time::Duration;

/// Something that a runner has said of a job.
pub(super) trait Said: Clone + PartialEq + Serialize + DeserializeOwned {
    /// When it was said last.
    fn at(&self) -> UnixTime;
}

/// What was said of a job, by who has said it.
pub(super) type OfJob<S> = BTreeMap<String, S>;

/// One of these lists.
pub(super) struct List {
    /// Its notes are named after it.
    pub(super) name: &'static str,
    /// The number of its last note, one less than a power of two.
    pub(super) last: u8,
    /// What was said counts for so long: who said it may have died since.
    pub(super) kept: Duration,
}

impl List {
    /// Changes what is said of a job. What no longer counts is left out first.
    pub(super) async fn edit<S: Said>(
        &self,
        client: &Client,
        group: &str,
        job: &str,
        now: UnixTime,
        change: impl Fn(&mut OfJob<S>),
    ) -> Result<()> {
        self.replace(client, group, job, |said| {
            said.retain(|_, said| self.counts(said, now));
            change(said);
        })
        .await
    }

    /// Forgets a job.
    pub(super) async fn forget<S: Said>(&self, client: &Client, group: &str, job: &str) -> Result<()> {
        self.replace(client, group, job, OfJob::<S>::clear).await
    }

    async fn replace<S: Said>(
        &self,
        client: &Client,
        group: &str,
        job: &str,
        change: impl Fn(&mut OfJob<S>),
    ) -> Result<()> {
        let key = shard::key(self.name, shard::of(job) & self.last);
        shown::edit(client, group, &key, |all: &mut BTreeMap<String, OfJob<S>>| {
            let mut said = all.remove(job).unwrap_or_default();
            change(&mut said);
            if !said.is_empty() {
                all.insert(job.to_owned(), said);
            }
        })
        .await
    }

    /// All that counts, by job.
    pub(super) async fn read<S: Said>(
        &self,
        client: &Client,
        group: &str,
        now: UnixTime,
    ) -> Result<BTreeMap<String, OfJob<S>>> {
        let keys = (0..=self.last).map(|note| (group.to_owned(), shard::key(self.name, note)));
        let notes = client.notes_at(keys).await?;
        let all = notes.iter().flatten().flat_map(shown::parse::<BTreeMap<String, OfJob<S>>>);
        let mut all: BTreeMap<_, _> = all.collect();
        all.values_mut().for_each(|said| said.retain(|_, said| self.counts(said, now)));
        Ok(all)
    }

    fn counts(&self, said: &impl Said, now: UnixTime) -> bool {
        now.since(said.at()) <= self.kept
    }
}

//! The jobs of the groups that were named. The store is asked for them as for the locks: at most once a second, however many look,
//! and only while somebody does.

use crate::histories::Histories;
use crate::job_page::JobDetails;
use crate::listing::PERIOD;
use crate::recent::{Recent, in_time};
use cotter::Client;
use cotter_scheduler::{Host, JobStatus, Jobs, UnixTime};
use std::sync::Arc;
use std::time::SystemTime;

/// A group, as of when the store was last heard.
#[derive(Debug, Clone)]
pub(crate) struct Group {
    pub(crate) name: String,
    pub(crate) jobs: Vec<JobStatus>,
    pub(crate) hosts: Vec<Host>,
    /// By the store's clock.
    pub(crate) now: UnixTime,
    /// The same moment by this host's clock; `None` if nothing was heard yet.
    pub(crate) as_of: Option<SystemTime>,
    /// Why nothing was heard when it was last asked.
    pub(crate) trouble: Option<String>,
}

/// The groups.
#[derive(Debug)]
pub(crate) struct Groups {
    asked: Vec<(Jobs, Histories)>,
    known: Recent<Vec<Group>>,
}

impl Groups {
    pub(crate) fn new(client: &Client, names: &[String]) -> Self {
        let asked =
            names.iter().map(|name| (Jobs::new(client, name.as_str()), Histories::default())).collect();
        let unknown = |name: &String| Group {
            name: name.clone(),
            jobs: Vec::new(),
            hosts: Vec::new(),
            now: UnixTime::EPOCH,
            as_of: None,
            trouble: None,
        };
        Self { asked, known: Recent::new(PERIOD, names.iter().map(unknown).collect()) }
    }

    /// The groups as of now, or of a second ago.
    pub(crate) async fn view(&self) -> Arc<Vec<Group>> {
        self.known.get(async |last| self.next(last.clone()).await).await
    }

    /// After a change.
    pub(crate) async fn is_over(&self) {
        self.known.is_over().await;
    }

    /// Whether no group was named.
    pub(crate) fn is_empty(&self) -> bool {
        self.asked.is_empty()
    }

    /// The place of a group among those that were named.
    pub(crate) async fn place(&self, name: &str) -> Option<usize> {
        self.view().await.iter().position(|group| group.name == name)
    }

    /// What is asked about the group at this place.
    pub(crate) fn jobs(&self, place: usize) -> &Jobs {
        &self.asked[place].0
    }

    /// A job of the group at this place, or that there is none of this name.
    pub(crate) async fn details(&self, place: usize, job: &str, may_change: bool) -> JobDetails {
        let (groups, (jobs, histories)) = (self.view().await, &self.asked[place]);
        let group = &groups[place];
        match group.jobs.iter().find(|known| known.name == job) {
            Some(status) => {
                JobDetails::of(group, Some((status, &*histories.of(jobs, job).await)), may_change)
            }
            None => JobDetails::of(group, None, false),
        }
    }

    async fn next(&self, mut groups: Vec<Group>) -> Vec<Group> {
        for (group, (jobs, _)) in groups.iter_mut().zip(&self.asked) {
            match in_time(heard(jobs)).await {
                Ok(new) => {
                    (group.jobs, group.hosts, group.now) = new;
                    (group.as_of, group.trouble) = (Some(SystemTime::now()), None);
                }
                Err(why) => group.trouble = Some(why),
            }
        }
        groups
    }
}

async fn heard(jobs: &Jobs) -> cotter_scheduler::Result<(Vec<JobStatus>, Vec<Host>, UnixTime)> {
    Ok((jobs.list().await?, jobs.hosts().await?, jobs.now().await?))
}

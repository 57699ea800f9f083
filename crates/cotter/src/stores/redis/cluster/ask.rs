//! Asking the nodes who has which slots.

use super::super::errors::{Sent, explain, unexpected};
use super::super::state::text;
use super::slots::SlotMap;
use super::view::Viewer;
use crate::error::config;
use crate::join;
use crate::stores::shared::net::{HostPort, timed_out};
use crate::{Error, ErrorKind, Result};
use redis::Cmd;
use tokio::time::sleep;

/// What a node says, and how much it knows: each failover and each slot that has moved has a number of its own.
struct Answer {
    epoch: u64,
    map: SlotMap,
}

/// So many nodes are asked at once.
const AT_ONCE: usize = 5;
/// What a server says that is no node.
const NO_CLUSTER: &str = "cluster support disabled";

impl Viewer {
    /// Asks several nodes, and believes the one that knows most: one that stood still may be behind. Those of the URL are asked
    /// when no other one answers.
    pub(super) async fn ask(&self, told: Option<HostPort>) -> Result<SlotMap> {
        let known = self.nodes.known().into_iter().map(|node| node.at.clone());
        let seeds = self.cluster.seeds().each().iter().cloned();
        let mut masters: Vec<HostPort> = told.into_iter().collect();
        masters.extend(known.filter(|at| !masters.contains(at)).collect::<Vec<_>>());
        let seeds: Vec<HostPort> = seeds.filter(|at| !masters.contains(at)).collect();
        let mut failed: Option<Error> = None;
        for some in masters.chunks(AT_ONCE).chain(seeds.chunks(AT_ONCE)) {
            match self.ask_some(some).await {
                Ok(map) => return Ok(map),
                // One that cannot be reached says less than one that is no node.
                Err(e) if failed.as_ref().is_none_or(Error::is_retryable) => failed = Some(e),
                Err(_) => {}
            }
        }
        Err(failed.unwrap_or_else(|| config("the URL names no host")))
    }

    async fn ask_some(&self, nodes: &[HostPort]) -> Result<SlotMap> {
        let limit = self.cluster.options.connect_timeout + self.cluster.options.timeout;
        let is_enough = |answers: &[Option<Result<Answer>>]| {
            let answered = answers.iter().flatten();
            2 * answered.clone().count() > nodes.len() && answered.clone().any(Result::is_ok)
        };
        let (answers, _) =
            join::enough(nodes.iter().map(|at| self.ask_one(at)), sleep(limit), is_enough).await;
        let (mut best, mut failed): (Option<Answer>, Option<Error>) = (None, None);
        for answer in answers.into_iter().flatten() {
            match answer {
                Ok(answer) if best.as_ref().is_none_or(|best| best.epoch < answer.epoch) => {
                    best = Some(answer)
                }
                Ok(_) => {}
                Err(e) if failed.as_ref().is_none_or(Error::is_retryable) => failed = Some(e),
                Err(_) => {}
            }
        }
        let no_answer = || failed.unwrap_or_else(|| timed_out("a connection to the cluster", limit));
        best.map(|best| best.map).ok_or_else(no_answer)
    }

    async fn ask_one(&self, at: &HostPort) -> Result<Answer> {
        let reach = |host: &str, port| self.cluster.seeds().reach(host, port, at);
        let answer = async {
            let live = self.nodes.at(at).way.link.live().await?;
            let ask = async |what: &str| {
                let cmd: Cmd = redis::cmd("CLUSTER").arg(what).to_owned();
                live.query(&cmd).await.map_err(|e| explain(e, Sent::No))
            };
            let info = text(ask("INFO").await?)?;
            let epoch = info
                .lines()
                .find_map(|line| line.strip_prefix("cluster_current_epoch:")?.trim().parse().ok());
            let epoch = epoch.ok_or_else(|| unexpected("CLUSTER INFO without an epoch"))?;
            Ok(Answer { epoch, map: SlotMap::parse(ask("SLOTS").await?, reach)? })
        };
        answer.await.map_err(|e| no_node(e, at).with_server(&at.to_string()))
    }
}

/// Says what to write instead.
fn no_node(e: Error, at: &HostPort) -> Error {
    match e.kind() {
        _ if e.to_string().contains(NO_CLUSTER) => config(format!(
            "this server is not part of a cluster: write redis://{at} without +cluster (rediss: with TLS)"
        ))
        .with_backend(super::super::SCHEME),
        ErrorKind::Denied => {
            e.with_remark("a URL with redis+cluster: needs +cluster|info and +cluster|slots in the ACL")
        }
        _ => e,
    }
}

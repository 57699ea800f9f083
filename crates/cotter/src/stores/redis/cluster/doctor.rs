//! A diagnosis of a cluster for `doctor`: of each master, and of what they are together.

use super::super::doctor::pair;
use super::super::state::text;
use super::admin::of_node;
use super::nodes::Node;
use super::router::Router;
use super::seeds::Seeds;
use super::view::View;
use crate::Result;
use crate::backend::{Finding, Severity};
use crate::join::all;
use std::collections::BTreeMap;
use std::sync::Arc;

const SUBJECT: &str = "cluster";

impl Router {
    pub(super) async fn examine(&self) -> Result<Vec<Finding>> {
        // What was known may be old.
        self.link.live().await?.is_wrong();
        let view = self.link.live().await?;
        let mut findings = vec![state(&view)];
        findings.extend(replicas(&view));
        let mut nodes: Vec<&Arc<Node>> = view.nodes.values().collect();
        nodes.sort_by_key(|node| node.at.to_string());
        findings.extend(full_coverage(&nodes).await);
        let of_each = all(nodes.iter().map(|node| of_one(node, self.shared.seeds()))).await;
        findings.extend(together(of_each.into_iter().flatten().collect(), nodes.len()));
        Ok(findings)
    }
}

fn state(view: &View) -> Finding {
    let masters = view.nodes.len();
    match view.map.missing() {
        0 => Finding::ok(SUBJECT, format!("{masters} masters have all slots")),
        missing => {
            let message = format!(
                "{missing} of 16384 slots have no master: their names cannot be locked; `redis-cli --cluster fix` assigns them"
            );
            Finding::breaks(SUBJECT, message)
        }
    }
}

/// A master without a replica takes its names with it.
fn replicas(view: &View) -> Option<Finding> {
    let ranges = view.map.ranges().iter();
    let masters: BTreeMap<_, _> = ranges.map(|range| (range.master.to_string(), range.replicas)).collect();
    let without: Vec<_> =
        masters.iter().filter(|(_, replicas)| **replicas == 0).map(|(at, _)| &**at).collect();
    if without.is_empty() {
        return Some(Finding::ok("failover", "each master has a replica that can take over"));
    }
    let message = format!(
        "no replica can take over from {}: while it is down, its names cannot be locked",
        without.join(", ")
    );
    Some(Finding::limits("failover", message))
}

/// Whether the other masters go on while one is missing.
async fn full_coverage(nodes: &[&Arc<Node>]) -> Option<Finding> {
    let subject = "cluster-require-full-coverage";
    let ask = redis::cmd("CONFIG").arg("GET").arg(subject).to_owned();
    let (answer, _) = nodes.first()?.way.link.query(&ask).await.ok()?;
    Some(match &*pair(answer) {
        "no" => Finding::ok(subject, "no: the names of other masters go on while one is missing"),
        _ => {
            let message =
                "yes: while slots have no master, no name can be locked, on no master; set it to no";
            Finding::limits(subject, message)
        }
    })
}

/// What one master says of itself.
async fn of_one(node: &Node, seeds: &Seeds) -> Vec<(String, Finding)> {
    let at = node.at.to_string();
    let state = node.way.link.query(redis::cmd("CLUSTER").arg("INFO")).await;
    let state = state.map_err(|e| if node.was_reached() { e } else { seeds.advise(e, &node.at) });
    let mut findings = Vec::new();
    match state.and_then(|(answer, _)| text(answer)) {
        Ok(info) if info.contains("cluster_state:ok") => {}
        Ok(_) => {
            findings.push(Finding::breaks(SUBJECT, "it sees the cluster as down, and carries nothing out"))
        }
        Err(e) => findings.push(Finding::breaks(SUBJECT, format!("it cannot be asked: {e}"))),
    }
    match async { of_node(node)?.diagnose().await }.await {
        Ok(of_server) => findings.extend(of_server),
        Err(e) if findings.is_empty() => findings.push(Finding::breaks(SUBJECT, e.to_string())),
        Err(_) => {}
    }
    findings.into_iter().map(|finding| (at.clone(), finding)).collect()
}

/// What all masters have in common is said once.
fn together(each: Vec<(String, Finding)>, masters: usize) -> Vec<Finding> {
    let mut said: Vec<(Finding, Vec<String>)> = Vec::new();
    for (at, finding) in each {
        match said.iter_mut().find(|(known, _)| *known == finding) {
            Some((_, places)) => places.push(at),
            None => said.push((finding, vec![at])),
        }
    }
    let name = |(mut finding, places): (Finding, Vec<String>)| {
        if places.len() < masters || finding.severity != Severity::Ok {
            finding.message = format!("{}: {}", places.join(", "), finding.message);
        }
        finding
    };
    said.into_iter().map(name).collect()
}

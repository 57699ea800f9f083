//! What `doctor` says.

use super::SILENCE;
use crate::redis::setup::show_doctor;
use cotter::{Client, Finding, Level, Severity};
use cotter_testkit::servers::RedisCluster;
use cotter_testkit::timing::eventually;

async fn said(cluster: &RedisCluster, options: &str) -> Vec<Finding> {
    let client = Client::connect(cluster.url(options)).await.unwrap();
    client.admin().diagnose().await.unwrap()
}

fn about<'a>(findings: &'a [Finding], subject: &str) -> Vec<&'a Finding> {
    findings.iter().filter(|finding| finding.subject == subject).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs redis-server"]
async fn a_cluster_that_is_well_is_reported() {
    let cluster = RedisCluster::start(SILENCE);
    cluster.nodes.iter().for_each(show_doctor);
    // A replica counts when it has said how much it has.
    let slots = |node: usize| cluster.nodes[node].command(&["CLUSTER", "SLOTS"]);
    let all = |node| cluster.nodes.iter().all(|other| slots(node).contains(&other.port().to_string()));
    eventually("all know of the replicas", || (0..6).all(all)).await;
    let findings = said(&cluster, "").await;
    for (subject, message) in [
        ("cluster", "3 masters have all slots"),
        ("failover", "each master has a replica that can take over"),
    ] {
        let found = about(&findings, subject);
        assert!(found.len() == 1 && found[0].severity == Severity::Ok, "{found:?}");
        assert_eq!(found[0].message, message);
    }
    let coverage = about(&findings, "cluster-require-full-coverage");
    assert!(coverage.len() == 1 && coverage[0].severity == Severity::Warning, "{coverage:?}");
    let replicas = about(&findings, "replicas");
    assert!(replicas.len() == 1 && replicas[0].level == Some(Level::BestEffort), "{replicas:?}");
    for node in &cluster.nodes {
        node.command(&["CONFIG", "SET", "cluster-require-full-coverage", "no"]);
    }
    let findings = said(&cluster, "replicas=1").await;
    assert_eq!(about(&findings, "cluster-require-full-coverage")[0].severity, Severity::Ok);
    assert!(about(&findings, "replicas").iter().all(|finding| finding.level.is_none()), "{findings:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs redis-server"]
async fn a_master_that_nobody_can_replace_is_reported() {
    let mut cluster = RedisCluster::start(SILENCE);
    cluster.nodes.iter().for_each(show_doctor);
    cluster.nodes[3].kill();
    let port = cluster.nodes[3].port().to_string();
    let slots = || cluster.nodes[0].command(&["CLUSTER", "SLOTS"]);
    eventually("it is missed", || !slots().lines().any(|line| line == port)).await;
    let at = format!("127.0.0.1:{}", cluster.nodes[0].port());
    let findings = said(&cluster, "").await;
    let failover = about(&findings, "failover");
    assert!(failover.len() == 1 && failover[0].message.contains(&at), "{failover:?}");
    cluster.nodes[0].kill();
    let findings = loop {
        let findings = said(&cluster, "").await;
        let down =
            about(&findings, "cluster").into_iter().any(|finding| finding.severity == Severity::Problem);
        if down {
            break findings;
        }
    };
    assert!(findings.iter().any(|finding| finding.message.contains(&at)), "{findings:?}");
}

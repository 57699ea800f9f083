//! What `doctor` says.

use super::{Watched, quick, server};
use crate::redis::setup::show_doctor;
use cotter::{Client, Finding, Level, Severity};
use cotter_testkit::timing::eventually;

async fn said(url: &str, subject: &str) -> Vec<Finding> {
    let client = Client::connect(url).await.unwrap();
    let mut findings = client.admin().diagnose().await.unwrap();
    findings.retain(|finding| finding.subject == subject);
    findings
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs redis-server"]
async fn sentinels_that_are_all_well_are_reported() {
    let watched = Watched::start();
    watched.servers.iter().for_each(show_doctor);
    let url = watched.sentinels.url("");
    let all = said(&url, "sentinels").await;
    let master = format!("3 of 3 answer; the master is 127.0.0.1:{}", watched.servers[0].port());
    assert!(all.len() == 1 && all[0].severity == Severity::Ok && all[0].message == master, "{all:?}");
    let failover = said(&url, "failover").await;
    let message = "2 of 3 sentinels have to agree that the master is down, and 2 replicas can take over";
    assert!(failover.len() == 1 && failover[0].severity == Severity::Ok, "{failover:?}");
    assert_eq!(failover[0].message, message);
    let level = async |options: &str, subject: &str| {
        let found = said(&watched.sentinels.url(options), subject).await;
        found.first().unwrap_or_else(|| panic!("nothing about {subject}")).level
    };
    for subject in ["replicas", "min-replicas-to-write"] {
        assert_eq!(level("", subject).await, Some(Level::BestEffort), "{subject}: a failover loses locks");
        assert_eq!(level("replicas=2", subject).await, None, "{subject}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs redis-server"]
async fn sentinels_that_are_missing_are_reported() {
    let server = server();
    let mut sentinels = quick().watch(&server, 0);
    let failover = said(&sentinels.url(""), "failover").await;
    assert!(
        failover[0].severity == Severity::Warning && failover[0].message.contains("there is none"),
        "{failover:?}"
    );
    let first = format!("127.0.0.1:{}", sentinels.ports()[0]);
    let one = sentinels.url("").replace(&sentinels.addresses(), &first);
    let found = said(&one, "sentinels").await;
    assert!(found.iter().any(|finding| finding.message.contains("names 1 of 3")), "{found:?}");
    sentinels.kill(2);
    let found = said(&sentinels.url(""), "sentinels").await;
    assert!(found[0].message.starts_with("2 of 3 answer"), "{found:?}");
    assert!(
        found[1].severity == Severity::Warning && found[1].message.contains("cannot be used"),
        "{found:?}"
    );
    for number in 0..2 {
        sentinels.ask(number, &["SENTINEL", "SET", "store", "quorum", "3"]);
    }
    eventually("it is set", || sentinels.says(0, "quorum") == "3").await;
    let failover = said(&sentinels.url(""), "failover").await;
    assert!(failover[0].message.contains("set the quorum to 2"), "{failover:?}");
}

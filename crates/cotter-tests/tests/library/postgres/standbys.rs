//! What doctor says about a failover.

use super::setup::{client, eventually, server};
use crate::next_host::locked_there;
use cotter::{Finding, Level, Severity};
use cotter_testkit::servers::Postgres;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const TTL: Duration = Duration::from_secs(30);

/// A program that receives what is committed, and acknowledges it as a standby does.
struct Standby(Child);

impl Standby {
    fn of(server: &Postgres, folder: &Path) -> Self {
        let psql = server.psql("cotter");
        let mut receive = Command::new(Path::new(psql.get_program()).with_file_name("pg_receivewal"));
        receive.args([
            "--synchronous",
            "-h",
            "127.0.0.1",
            "-U",
            "postgres",
            "-p",
            &server.port().to_string(),
        ]);
        receive.arg("-D").arg(folder).stdout(Stdio::null()).stderr(Stdio::null());
        Self(receive.spawn().expect("it comes with the server"))
    }
}

impl Drop for Standby {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

async fn finding(server: &Postgres, subject: &str) -> Finding {
    let findings = client(&server.url(""), TTL).await.admin().diagnose().await.unwrap();
    findings.into_iter().find(|finding| finding.subject == subject).expect("it is looked at")
}

async fn has_standbys(server: &Postgres, count: usize) {
    eventually("the standbys are there", || {
        server.sql("select count(*) from pg_stat_replication where state = 'streaming'") == count.to_string()
    })
    .await;
}

fn set(server: &Postgres, setting: &str) {
    server.sql(&format!("alter system set {setting}"));
    server.sql("select pg_reload_conf()");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs postgres"]
async fn doctor_says_what_a_failover_forgets() {
    let (server, one, two) = (server(), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    assert_eq!(finding(&server, "replicas").await.severity, Severity::Ok);
    let first = Standby::of(&server, one.path());
    has_standbys(&server, 1).await;
    let warned = finding(&server, "replicas").await;
    assert_eq!((warned.severity, warned.level), (Severity::Warning, Some(Level::BestEffort)), "{warned}");

    set(&server, "synchronous_standby_names = pg_receivewal");
    eventually("it counts", || server.sql("select sync_state from pg_stat_replication") == "sync").await;
    let unknown = finding(&server, "replicas").await;
    assert!(unknown.severity == Severity::Ok && unknown.message.contains("pg_read_all_stats"), "{unknown}");
    server.sql("grant pg_read_all_stats to app");
    let waits = finding(&server, "replicas").await;
    assert!(waits.severity == Severity::Ok && !waits.message.contains("pg_read_all_stats"), "{waits}");

    server.sql("alter role app set synchronous_commit = local");
    let local = finding(&server, "replicas").await;
    assert_eq!((local.severity, local.level), (Severity::Warning, Some(Level::BestEffort)), "{local}");
    server.sql("alter role app reset synchronous_commit");

    let second = Standby::of(&server, two.path());
    has_standbys(&server, 2).await;
    let fewer = finding(&server, "replicas").await;
    assert_eq!((fewer.severity, fewer.level), (Severity::Warning, Some(Level::BestEffort)), "{fewer}");
    assert!(fewer.message.contains("1 of 2"), "{fewer}");

    drop((first, second));
    eventually("they have gone", || server.sql("select count(*) from pg_stat_replication") == "0").await;
    let missing = finding(&server, "replicas").await;
    assert_eq!(missing.severity, Severity::Problem, "{missing}");
    assert_eq!(finding(&server, "reads").await.severity, Severity::Problem);
}

/// A primary whose synchronous standby has gone, because it was promoted, say, answers whoever asks, and no commit returns.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs postgres"]
async fn a_server_whose_commits_do_not_return_is_left() {
    is_left("", ["a", "b"]).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs postgres"]
async fn with_rows_of_shedlock_a_server_whose_commits_do_not_return_is_left() {
    is_left("mode=shedlock", ["a", "b"]).await;
}

/// The tokens of a name whose row is there do not wait for a standby.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs postgres"]
async fn with_locked_rows_a_server_whose_commits_do_not_return_is_left() {
    is_left("mode=row", ["b", "c"]).await;
}

/// By a client that has locked `a` there before, and by a new one.
async fn is_left(options: &str, names: [&str; 2]) {
    let (old, new) = (Postgres::start(), Postgres::start());
    [&old, &new].iter().for_each(|server| server.migrate_all());
    let hosts = format!("127.0.0.1:{},127.0.0.1:{}", old.port(), new.port());
    let url = format!("postgres://app:secret@{hosts}/cotter?timeout=500ms&connect_timeout=1s&{options}");
    let before = client(&url, TTL).await;
    before.mutex("a").lock().await.unwrap().finish().await.unwrap();
    set(&old, "synchronous_standby_names = gone");
    let others = client(&new.url(options), TTL).await;
    for (client, name) in [before, client(&url, TTL).await].into_iter().zip(names) {
        let _guard = locked_there(&client, &others, name).await;
    }
}

/// The commit of another process keeps the row locked: whoever comes after it is refused by an answer.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs postgres"]
async fn a_server_is_left_where_the_commit_of_another_process_does_not_return() {
    let (old, new) = (Postgres::start(), Postgres::start());
    [&old, &new].iter().for_each(|server| server.migrate_all());
    client(&old.url(""), TTL).await.mutex("a").lock().await.unwrap().finish().await.unwrap();
    set(&old, "synchronous_standby_names = gone");
    let first = client(&old.url("timeout=60s"), TTL).await;
    let hangs = tokio::spawn(async move { first.mutex("a").lock().await });
    let waits = "select count(*) from pg_stat_activity where wait_event = 'SyncRep' and usename = 'app'";
    eventually("its commit waits", || old.sql(waits) == "1").await;
    let hosts = format!("127.0.0.1:{},127.0.0.1:{}", old.port(), new.port());
    let second = client(&format!("postgres://app:secret@{hosts}/cotter?connect_timeout=1s"), TTL).await;
    let others = client(&new.url(""), TTL).await;
    let _guard = locked_there(&second, &others, "a").await;
    hangs.abort();
}

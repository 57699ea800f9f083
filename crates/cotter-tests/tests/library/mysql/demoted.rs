//! A server that becomes a replica while clients are connected, for users whom `read_only` does not bind.

use super::setup::{client, server};
use cotter::{Client, ErrorKind, Guard};
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::servers::Mariadb;
use std::time::Duration;

const TTL: Duration = Duration::from_secs(30);
const MODES: [&str; 4] = ["lease", "shedlock", "row&session_timeout=30s", "advisory&session_timeout=30s"];

/// A server that lets its user write whatever `read_only` says, as root and many users in containers may.
fn lenient() -> Mariadb {
    let server = server();
    server.migrate_all();
    server.sql("GRANT READ ONLY ADMIN ON *.* TO app");
    server
}

async fn free(client: &Client, name: &str) -> Option<Guard> {
    match client.mutex(name).try_lock().await {
        Ok(found) => found,
        Err(e) => {
            assert!(e.kind() == ErrorKind::Unavailable && e.to_string().contains("replica"), "{e}");
            None
        }
    }
}

/// Who comes later has gone to another server, which gives the same names.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs mariadbd"]
async fn a_demoted_server_gives_nothing() {
    let server = lenient();
    for mode in MODES {
        let one = client(&server.url(&format!("mode={mode}")), TTL).await;
        // Of one name the client knows that it is free, another one is new.
        one.mutex("known").lock().await.unwrap().finish().await.unwrap();
        server.sql("SET GLOBAL read_only = ON");
        for name in ["known", "new"] {
            let found = free(&one, name).await;
            demand(found.is_none(), Kind::Overlap, format!("{mode}: {name} was given by a replica"));
        }
        server.sql("SET GLOBAL read_only = OFF");
        one.mutex("known").lock().await.unwrap().finish().await.unwrap();
    }
}

/// A holder neither goes on there, nor frees what the new primary still has.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs mariadbd"]
async fn nobody_writes_on_a_demoted_server() {
    let server = lenient();
    for mode in ["lease", "shedlock"] {
        let one = client(&server.url(&format!("mode={mode}")), TTL).await;
        let (extended, noted) =
            (one.mutex("extended").lock().await.unwrap(), one.mutex("noted").lock().await.unwrap());
        let rows = || match mode {
            "lease" => server.sql("SELECT * FROM cotter_locks ORDER BY name"),
            _ => server.sql("SELECT * FROM shedlock ORDER BY name"),
        };
        let before = rows();
        server.sql("SET GLOBAL read_only = ON");
        demand(
            extended.extend(TTL * 2).await.is_err(),
            Kind::Overlap,
            format!("{mode}: it was extended there"),
        );
        if mode == "lease" {
            let error = noted.put_note("x").await.unwrap_err();
            demand(error.lost().is_none(), Kind::UntoldLoss, format!("it is not lost: {error}"));
        }
        let evicted = one.admin().evict("extended").await;
        demand(evicted.is_err(), Kind::UntoldLoss, format!("{mode}: nobody knows there: {evicted:?}"));
        demand(rows() == before, Kind::Overlap, format!("{mode}: a replica was written"));
        server.sql("SET GLOBAL read_only = OFF");
        extended.finish().await.unwrap();
        noted.finish().await.unwrap();
    }
}

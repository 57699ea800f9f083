//! The folders of names are containers: the servers delete them when they are empty, also while somebody is about to use them.

use cotter::Client;
use cotter_testkit::bare::client;
use cotter_testkit::servers::ZooKeeper;
use cotter_testkit::timing::eventually;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

const TTL: Duration = Duration::from_secs(20);

/// Looks for empty folders all the time, instead of once a minute.
fn eager() -> ZooKeeper {
    ZooKeeper::with_settings(1, "", &["-Dznode.container.checkIntervalMs=20"])
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs zookeeper"]
async fn nothing_is_left_of_names_that_nobody_uses() {
    let server = eager();
    for (dialect, folder) in [("own", "/cotter/lock"), ("curator", "/")] {
        let client = client(&server.url(&format!("dialect={dialect}")), TTL).await;
        let held = client.mutex(format!("{dialect} held")).lock().await.unwrap();
        client.mutex(format!("{dialect} left")).lock().await.unwrap().finish().await.unwrap();
        let folders = || server.nodes(0).children(folder);
        eventually("the folder is gone", || !folders().contains(&format!("{dialect} left"))).await;
        assert!(held.is_valid() && folders().contains(&format!("{dialect} held")));
        held.finish().await.unwrap();
        eventually("and the other one", || !folders().contains(&format!("{dialect} held"))).await;
    }
    eventually("and those above", || server.nodes(0).children("/") == ["zookeeper"]).await;
}

/// Whoever finds the folder gone makes it again, and numbers in it begin anew: tokens go on all the same.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs zookeeper"]
async fn a_folder_that_vanishes_again_and_again_costs_no_lock_and_no_token() {
    static INSIDE: AtomicUsize = AtomicUsize::new(0);
    let server = eager();
    let end = Instant::now() + Duration::from_secs(2);
    let mut running = Vec::new();
    for _ in 0..3 {
        let client: Client = client(&server.url(""), TTL).await;
        running.push(tokio::spawn(async move {
            let (mut last, mut holds) = (None, 0);
            while Instant::now() < end || holds <= 10 {
                let guard = client.mutex("vanishes").lock().await.unwrap();
                assert_eq!(INSIDE.fetch_add(1, Ordering::SeqCst), 0, "two are inside");
                let token = guard.token();
                assert!(last.is_none_or(|last| token > last), "{token:?} after {last:?}");
                (last, holds) = (Some(token), holds + 1);
                INSIDE.fetch_sub(1, Ordering::SeqCst);
                guard.finish().await.unwrap();
                tokio::time::sleep(Duration::from_millis(15 + holds % 30)).await;
            }
        }));
    }
    for run in running {
        tokio::time::timeout(Duration::from_secs(60), run).await.expect("each has its turns").unwrap();
    }
}

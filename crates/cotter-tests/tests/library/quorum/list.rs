//! Clients that name different servers.

use super::setup::{Members, acquire, attempt, release};
use cotter::ErrorKind;
use cotter_testkit::bare::claim;
use cotter_testkit::history::{Kind, demand};
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(3600);
const TTL: Duration = Duration::from_secs(30);

/// Three servers become five, and one client does not know yet: two of its three are a majority, and so are the other three of
/// five.
#[tokio::test]
#[ignore = "needs redis-server"]
async fn three_of_five_servers_and_all_five_are_two_lists() {
    let members = Members::voting(5, HOUR, Duration::from_millis(250));
    members.part(2, true);
    let earlier = members.client_of(0..3).await.unwrap();
    let held = attempt(&earlier, &claim("a", TTL)).await.unwrap().expect("it is free");
    members.part(2, false);
    let later = members.client().await.unwrap();
    let granted = attempt(&later, &claim("a", TTL)).await;
    demand(!matches!(granted, Ok(Some(_))), Kind::Overlap, "two majorities without a server in common");
    let error = granted.expect_err("their list is another one");
    assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Config, false), "{error}");
    for said in ["a quorum of 3, not of 5", "cotter doctor --init"] {
        assert!(error.to_string().contains(said), "{error}");
    }
    release(&earlier, &held).await;

    // No client of the other list is left, and no lock is held.
    later.admin().unwrap().initialize().await.unwrap();
    release(&later, &acquire(&later, "a").await).await;
    let error = attempt(&earlier, &claim("a", TTL)).await.expect_err("it is of yesterday");
    assert!(error.to_string().contains("a quorum of 5, not of 3"), "{error}");
}

/// One server that was wiped may have joined the other list. Nobody knows then whose majority counts.
#[tokio::test]
#[ignore = "needs redis-server"]
async fn one_member_of_another_list_is_a_veto() {
    let members = Members::voting(5, HOUR, Duration::from_millis(250));
    let later = members.client().await.unwrap();
    release(&later, &acquire(&later, "a").await).await;
    let earlier = members.client_of(0..3).await.unwrap();
    members.servers[0].command(&["DEL", "cotter:quorum:member"]);
    let error = attempt(&earlier, &claim("a", TTL)).await.expect_err("two others are of a larger quorum");
    assert_eq!(error.kind(), ErrorKind::Config, "{error}");
    let granted = attempt(&later, &claim("a", TTL)).await;
    demand(!matches!(granted, Ok(Some(_))), Kind::Overlap, "four of five that know of another list");
    assert_eq!(granted.expect_err("one is of another list").kind(), ErrorKind::Config);
}

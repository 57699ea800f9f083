//! URLs and set-ups that cannot work.

use super::shared;
use cotter::{Client, ErrorKind, Filter};
use cotter_testkit::servers::ZooKeeper;
use std::time::Duration;

#[tokio::test]
async fn a_bad_url_says_what_is_wrong() {
    for (url, what) in [
        ("zookeeper:host", "followed by //"),
        ("zookeeper://", "names no host"),
        ("zookeeper://host?timeout=1s", "unknown option \"timeout\""),
        ("zookeeper://host?session=0s", "session= must be a duration"),
        ("zookeeper://host?session=2d", "at most a day"),
        ("zookeeper://host/a//b", "empty or reserved part"),
        ("zookeeper://host/zookeeper/quota", "empty or reserved part"),
        ("zookeeper://host?prefix=a/b", "the name of a single node"),
        ("zookeeper://host?dialect=zkcli", "own, curator and kazoo"),
        ("zookeeper://host?recipe=rwlock", "requires dialect=curator"),
        ("zookeeper://host?dialect=kazoo&recipe=rwlock", "requires dialect=curator"),
        ("zookeeper://host?dialect=curator&recipe=semaphore", "mutex and rwlock"),
        ("zookeeper://host?acl=creator", "require a user name"),
        ("zookeeper://host?acl=mine", "open or creator"),
        ("zookeeper://:secret@host", "require a user name"),
        ("zookeeper://host?tls=no&ca=/dev/null", "remove tls=no"),
    ] {
        let error = Client::connect(url).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Config, "{url}: {error}");
        assert!(error.to_string().contains(what) && !error.to_string().contains("secret"), "{url}: {error}");
    }
}

#[tokio::test]
async fn a_server_that_is_not_there_is_named() {
    let error = Client::connect("zookeeper://app:secret@127.0.0.1:1,127.0.0.1:2").await.unwrap_err();
    assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Unavailable, true));
    let text = error.to_string();
    assert!(text.contains("127.0.0.1:1,127.0.0.1:2") && !text.contains("secret"), "{text}");
}

/// The nodes of a user belong to it: another one cannot even see who holds.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs zookeeper"]
async fn the_nodes_of_a_user_are_closed_to_others() {
    let server = shared();
    let url = |user: &str| format!("zookeeper://{user}127.0.0.1:{}/of-a-user?session=5s", server.port(0));
    let (ours, theirs) =
        (Client::connect(url("app:secret@")).await.unwrap(), Client::connect(url("")).await.unwrap());
    // Whoever comes first creates what all names have in common.
    let open = theirs.mutex("b").lock().await.unwrap();
    let guard = ours.mutex("a").lock().await.unwrap();
    let error = theirs.mutex("a").try_lock().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
    let also_ours = Client::connect(url("app:secret@")).await.unwrap();
    assert!(also_ours.mutex("a").try_lock().await.unwrap().is_none());
    // They do not hide the locks of others.
    let mut listed = theirs.admin().list(Filter::default()).collect().await.unwrap();
    listed.sort_by(|one, other| one.name.cmp(&other.name));
    let problem = |at: usize| listed[at].problem.as_deref().unwrap_or_default().to_owned();
    assert_eq!((listed.len(), listed[1].holders.len()), (2, 1), "{listed:?}");
    assert!(problem(0).contains("denied access") && problem(1).is_empty(), "{listed:?}");
    let error = theirs.holder("a").await.unwrap_err();
    assert!(error.kind() == ErrorKind::Denied && error.to_string().contains("\"a\""), "{error}");
    open.finish().await.unwrap();
    guard.finish().await.unwrap();
}

/// Whoever may use a folder need not be permitted to create anything above it.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs zookeeper"]
async fn a_folder_below_one_that_is_closed_can_be_used() {
    const TO_READ: i32 = 1;
    let server = ZooKeeper::start(1);
    let mut nodes = server.nodes(0);
    assert!(nodes.create("/team", b"", false) && nodes.permit("/", TO_READ));
    let url = |path: &str| format!("zookeeper://127.0.0.1:{}{path}", server.port(0));
    let client = Client::connect(url("/team")).await.unwrap();
    client.mutex("a").lock().await.unwrap().finish().await.unwrap();
    client.swap_note("a", "key", 0, b"value").await.unwrap();
    for path in ["", "/missing"] {
        let client = Client::connect(url(path)).await.unwrap();
        let error = client.mutex("a").lock().await.unwrap_err();
        assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Denied, false), "{path}: {error}");
    }
}

/// The session lives on, and with it the node of the lock that could not be released.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs zookeeper"]
async fn a_release_that_was_denied_is_carried_out_once_it_is_permitted() {
    const ALL_BUT_TO_DELETE: i32 = 0b10111;
    const ALL: i32 = 0b11111;
    let server = ZooKeeper::start(1);
    let mut nodes = server.nodes(0);
    let client = Client::connect(server.url("")).await.unwrap();
    let guard = client.mutex("a").lock().await.unwrap();
    assert!(nodes.permit("/cotter/lock/a", ALL_BUT_TO_DELETE));
    let error = guard.finish().await.unwrap_err();
    assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Denied, false), "{error}");
    assert!(nodes.permit("/cotter/lock/a", ALL));
    let freed = tokio::time::timeout(Duration::from_secs(20), client.mutex("a").lock()).await;
    let freed =
        freed.expect("violation[left-behind]: the session keeps the node of a released lock").unwrap();
    freed.finish().await.unwrap();
}

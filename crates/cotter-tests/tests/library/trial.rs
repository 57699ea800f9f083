//! Whether locks work is found out by `doctor`, which takes one.

use cotter::{Client, Filter, Finding, Level, Severity, memory};
use cotter_testkit::generous::Pretended;
use cotter_testkit::history::{Kind, demand};

/// What doctor says about the lock that it has tried.
pub(crate) async fn tried(client: &Client) -> Finding {
    about(client, "locks").await
}

/// What doctor says about this.
pub(crate) async fn about(client: &Client, subject: &str) -> Finding {
    let findings = client.admin().diagnose().await.unwrap();
    let worst = findings.iter().filter(|f| f.subject == subject).max_by_key(|f| f.severity);
    worst.unwrap_or_else(|| panic!("nothing about {subject} in {findings:?}")).clone()
}

/// A lock was tried on this store, works, and nobody has it.
pub(crate) async fn works(client: &Client) {
    let found = tried(client).await;
    assert_eq!((found.severity, found.level), (Severity::Ok, None), "{found}");
    let guard = client.mutex("cotter:doctor").try_lock().await.unwrap();
    guard.expect("violation[left-behind]: the trial's lock").finish().await.unwrap();
}

/// No lock can be taken here: that is a problem, whatever the settings say.
pub(crate) async fn fails(client: &Client, why: &str) {
    let found = tried(client).await;
    assert_eq!((found.severity, found.level), (Severity::Problem, None), "{found}");
    assert!(found.message.contains(why), "{found}");
}

#[tokio::test]
async fn a_lock_is_taken_and_given_back() {
    let store = memory::Store::new();
    let [client, other] = [(); 2].map(|()| Client::builder().connect_to(store.clone()));
    let (client, other) = (client.await.unwrap(), other.await.unwrap());
    works(&client).await;
    let guard = other.mutex("cotter:doctor").lock().await.unwrap();
    let found = tried(&client).await;
    assert_eq!(found.severity, Severity::Warning, "another doctor is at work: {found}");
    guard.finish().await.unwrap();
}

#[tokio::test]
async fn a_store_that_only_pretends_to_lock_is_found_out() {
    let client = Client::builder().connect_to(Pretended::new(memory::Store::new())).await.unwrap();
    let found = tried(&client).await;
    let is_told = (found.severity, found.level) == (Severity::Problem, Some(Level::BestEffort));
    demand(is_told, Kind::Untrue, found.to_string());
}

/// Files of names stay, but not that of the trial.
#[cfg(unix)]
#[tokio::test]
async fn no_file_is_left() {
    let folder = tempfile::tempdir().unwrap();
    let client = Client::connect(format!("file://{}/locks", folder.path().display())).await.unwrap();
    for _ in 0..3 {
        let found = tried(&client).await;
        assert_eq!(found.severity, Severity::Ok, "{found}");
    }
    let mut left = client.admin().list(Filter::held().with_free());
    assert_eq!(left.next().await.unwrap(), None, "violation[left-behind]");
    let files = std::fs::read_dir(folder.path().join("locks")).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let of_names: Vec<_> = names.filter(|name| !name.starts_with('.')).collect();
    assert_eq!(of_names, Vec::<String>::new(), "violation[left-behind]");
}

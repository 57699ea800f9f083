//! URLs, and waiting without threads.

use super::backend::Files;
use super::kernel_queue::WaitThreads;
use super::*;
use crate::backend::{Backend, Claim, Extension, Grant, Mode, Until};
use crate::engine::Engine;
use crate::{ErrorKind, Name};
use std::time::Duration;

#[test]
fn urls_name_a_directory() {
    let at = |url: &str| match Store::from_url(url).unwrap() {
        Store { place: Where::At(path), group, .. } => (path.display().to_string(), group),
        Store { place: Where::Home, group, .. } => ("home".into(), group),
    };
    assert_eq!(at(""), ("home".into(), None));
    assert_eq!(at("///var/lib/locks"), ("/var/lib/locks".into(), None));
    assert_eq!(at("///var/my%20locks/%25?shared=staff"), ("/var/my locks/%".into(), Some("staff".into())));
}

#[test]
fn other_urls_say_which_part_is_wrong() {
    for (url, part) in [
        ("//host/var/locks", "host"),
        ("//var", "var"),
        ("//", "file:///DIR"),
        ("///", "file:///DIR"),
        ("/var/locks", "/var/locks"),
        ("locks", "locks"),
        ("///var/../etc", ".."),
        ("///var/%2", "%25"),
        ("///var/%00", "%"),
        ("///var/a#b", "#"),
        ("///var?share=x", "share"),
        ("///var?", "?shared=GROUP"),
        ("///var?shared=", "shared="),
        ("///var?shared=a&b=c", "one group"),
    ] {
        let error = Store::from_url(url).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Config, "{url}");
        let text = error.to_string();
        assert!(text.contains(part) && !text.contains('\n'), "{url}: {text}");
    }
}

fn claim() -> Claim {
    let name = Name::new("a").unwrap();
    let ttl = Duration::from_secs(10);
    Claim::new(name, Mode::Exclusive, ttl)
}

/// Two clients, as they are where the system gives no threads.
fn without_threads(place: &std::path::Path) -> (Files, Files) {
    let clock = Engine::process().unwrap().clock().clone();
    let client = || {
        let directory =
            Directory::open(&Where::At(place.join("locks")), None, crate::sys::filesystem::of).unwrap();
        let mut files = Files::new(directory, clock.clone());
        files.threads = WaitThreads::at_most(0);
        files
    };
    (client(), client())
}

async fn take(files: &Files, claim: &Claim) -> Grant {
    files.acquire(claim, Until::Now).await.unwrap().granted().expect("free")
}

#[tokio::test]
async fn without_threads_a_waiter_looks_for_itself() {
    let place = tempfile::tempdir().unwrap();
    let (one, other) = without_threads(place.path());
    let held = claim();
    let first = take(&one, &held).await;
    let wanted = claim();
    let release = async {
        tokio::time::sleep(Duration::from_millis(120)).await;
        one.release(&held, Default::default()).await.unwrap();
        std::time::Instant::now()
    };
    let wait = async {
        let grant =
            other.acquire(&wanted, Until::Forever).await.unwrap().granted().expect("waits without end");
        (grant, std::time::Instant::now())
    };
    let (freed, (second, got)) = tokio::join!(release, wait);
    assert!(second.number > first.number);
    assert!(got - freed < Duration::from_millis(500), "{:?}", got - freed);
}

#[tokio::test]
async fn a_loss_is_noticed_at_the_renewal() {
    let place = tempfile::tempdir().unwrap();
    let (one, _) = without_threads(place.path());
    let grant = take(&one, &claim()).await;
    let good = one.extend(&[&grant], Duration::from_secs(1)).await.pop().unwrap().unwrap();
    assert!(matches!(good, Extension::Extended { ttl: None, .. }));
    std::fs::remove_file(place.path().join("locks/a.lock")).unwrap();
    let gone = one.extend(&[&grant], Duration::from_secs(1)).await.pop().unwrap().unwrap();
    assert!(matches!(gone, Extension::Lost(_)));
    assert!(grant.session.unwrap().lost().is_some());
}

/// The wait is not dropped, only its claim is taken back: it must not be granted any more.
#[tokio::test]
async fn a_released_claim_is_not_granted_later() {
    let place = tempfile::tempdir().unwrap();
    let (one, other) = without_threads(place.path());
    let (held, wanted) = (claim(), claim());
    take(&one, &held).await;
    let mut waiting = Box::pin(other.acquire(&wanted, Until::Forever));
    let pending =
        std::future::poll_fn(|cx| std::task::Poll::Ready(waiting.as_mut().poll(cx).is_pending())).await;
    assert!(pending);
    assert_eq!(other.release(&wanted, Default::default()).await.unwrap(), crate::backend::Release::Freed);
    one.release(&held, Default::default()).await.unwrap();
    assert_eq!(waiting.await.unwrap_err().kind(), ErrorKind::Lost);
    take(&one, &claim()).await;
}

/// The tasks that watch and look keep nothing alive.
// There is no inotify instance.
#[cfg(not(cotter_portable))]
#[tokio::test]
async fn a_dropped_client_leaves_no_descriptor() {
    let place = tempfile::tempdir().unwrap();
    let (files, _) = without_threads(place.path());
    take(&files, &claim()).await;
    let watcher = Arc::downgrade(files.watcher().expect("the system gives an inotify instance"));
    let holds = Arc::downgrade(&files.holds);
    drop(files);
    assert!(watcher.upgrade().is_none() && holds.upgrade().is_none());
}

/// Waiting and holding leave the few that a user may have to others.
#[tokio::test]
async fn neither_holding_nor_waiting_takes_an_inotify_instance() {
    let place = tempfile::tempdir().unwrap();
    let (one, other) = without_threads(place.path());
    take(&one, &claim()).await;
    let wanted = claim();
    let waiting = other.acquire(&wanted, Until::Forever);
    assert!(tokio::time::timeout(Duration::from_millis(200), waiting).await.is_err());
    assert!([one, other].iter().all(|files| files.started_watcher().is_none()));
}

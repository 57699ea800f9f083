//! What reads the stream may panic.

use super::*;
use crate::ManualClock;
use crate::backend::{Host, Spawn};
use cotter_testkit::timing::{eventually, happens};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Runs the task that keeps the stream, and panics when that one opens the first connection.
#[derive(Default)]
struct Breaking(AtomicUsize);

impl Spawn for Breaking {
    fn spawn(&self, task: Pin<Box<dyn Future<Output = ()> + Send>>) {
        let before = self.0.fetch_add(1, Ordering::SeqCst);
        assert!(before != 1, "planted");
        tokio::spawn(task);
    }
}

#[tokio::test]
async fn after_a_panic_there_is_another_stream_and_whoever_waits_looks() {
    let tasks = Arc::new(Breaking::default());
    let host = Host::engine(Arc::new(ManualClock::new()), tasks.clone());
    let (cluster, options) = super::super::options::parse("etcd://127.0.0.1:1").unwrap();
    let watches = Arc::new(Watches::new(Arc::new(Link::new(cluster, &options, &host))));
    let follower = Arc::default();
    let _watched = watches.follow(b"key".to_vec(), &follower);
    happens("it is told that something may have been missed", follower.notified()).await;
    eventually("a connection is opened", || tasks.0.load(Ordering::SeqCst) > 2).await;
}

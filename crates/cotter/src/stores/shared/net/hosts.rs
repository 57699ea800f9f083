//! Hosts that answer and carry nothing out: a primary whose synchronous standby has gone, or what a proxy still leads to after it has
//! been replaced. They accept connections, take writes, and no commit returns.

use crate::sync::lock;
use crate::{Error, ErrorKind};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::Instant;

/// A host that has not carried out so many steps in a row is given up: each connection to it is replaced, and other hosts of the URL
/// are tried first.
const REFUSALS: u32 = 3;
/// For so long.
const LATER: Duration = Duration::from_secs(30);

/// The hosts of a URL, by their place in it.
#[derive(Debug)]
pub(crate) struct Hosts(Vec<Host>);

#[derive(Debug, Default)]
struct Host {
    refusals: AtomicU32,
    /// How often it was given up.
    times: AtomicU64,
    last: Mutex<Option<Instant>>,
}

/// The host that a connection leads to, as it was when it was opened.
#[derive(Debug)]
pub(crate) struct AtHost {
    hosts: Arc<Hosts>,
    host: usize,
    times: u64,
}

impl Hosts {
    pub(crate) fn new(many: usize) -> Arc<Self> {
        Arc::new(Self((0..many).map(|_| Host::default()).collect()))
    }

    /// In which order to try them: as in the URL, and behind them those that were given up, the last one at the end.
    pub(crate) fn order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.0.len()).collect();
        let given_up = |host: &usize| lock(&self.0[*host].last).filter(|last| last.elapsed() < LATER);
        order.sort_by_key(given_up);
        order
    }

    /// For a connection that is about to be opened.
    pub(crate) fn at(self: &Arc<Self>, host: usize) -> AtHost {
        AtHost { hosts: self.clone(), host, times: self.0[host].times.load(Ordering::Acquire) }
    }
}

impl AtHost {
    /// Whether the host was not given up since.
    pub(crate) fn is_good(&self) -> bool {
        self.host().times.load(Ordering::Acquire) == self.times
    }

    /// Counts a step that had to be carried out: whether anything was written. An answer for which nothing was says nothing about
    /// the host: it comes from one whose commits do not return, too. Where others were in the way, `commits_hang` decides: a row stays
    /// locked by a commit that does not return as it does by a transaction that somebody has left open.
    pub(crate) async fn count(
        &self,
        written: Result<bool, &Error>,
        commits_hang: impl Future<Output = bool> + Send,
    ) {
        let host = self.host();
        match written {
            Ok(written) if !written || host.refusals.load(Ordering::Relaxed) == 0 => {}
            Ok(_) => host.refusals.store(0, Ordering::Relaxed),
            Err(e) if is_refusal(e) && self.is_good() && (!e.is_contention() || commits_hang.await) => {
                if host.refusals.fetch_add(1, Ordering::Relaxed) + 1 >= REFUSALS {
                    host.refusals.store(0, Ordering::Relaxed);
                    *lock(&host.last) = Some(Instant::now());
                    host.times.fetch_add(1, Ordering::Release);
                }
            }
            Err(_) => {}
        }
    }

    fn host(&self) -> &Host {
        &self.hosts.0[self.host]
    }
}

/// An answer about the lock is none, nor is a request that was wrong.
fn is_refusal(error: &Error) -> bool {
    error.kind() == ErrorKind::Unavailable
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn is_left_after(answers: &[Option<bool>]) -> bool {
        let first = Hosts::new(2).at(0);
        for answer in answers {
            count(&first, *answer).await;
        }
        !first.is_good()
    }

    /// `None`: the step was not carried out.
    async fn count(host: &AtHost, written: Option<bool>) {
        let refused = Error::new(ErrorKind::Unavailable, "no answer");
        host.count(written.ok_or(&refused), async { false }).await;
    }

    #[tokio::test]
    async fn only_what_was_written_shows_that_a_host_carries_out_its_steps() {
        let refused = None;
        assert!(is_left_after(&[refused; 3]).await);
        assert!(
            !is_left_after(&[refused, refused, Some(true), refused, refused]).await,
            "not three in a row"
        );
        assert!(is_left_after(&[refused, refused, Some(false), refused]).await, "nothing was written");
    }

    #[tokio::test]
    async fn others_that_are_in_the_way_count_where_commits_hang() {
        let locked = Error::new(ErrorKind::Unavailable, "locked by another session").with_contention();
        for commits_hang in [false, true] {
            let first = Hosts::new(1).at(0);
            for _ in 0..REFUSALS {
                first.count(Err(&locked), async { commits_hang }).await;
            }
            assert_eq!(first.is_good(), !commits_hang);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_host_that_carries_nothing_out_is_tried_after_the_others() {
        let hosts = Hosts::new(3);
        let (first, beside) = (hosts.at(0), hosts.at(0));
        count(&first, None).await;
        count(&first, None).await;
        assert!(first.is_good() && hosts.order() == [0, 1, 2], "not three times");
        first.count(Err(&Error::new(ErrorKind::Denied, "no")), async { true }).await;
        assert!(first.is_good(), "an answer");
        count(&beside, None).await;
        assert!(!first.is_good() && !beside.is_good(), "every connection is replaced");
        assert_eq!(hosts.order(), [1, 2, 0]);
        count(&first, None).await;
        tokio::time::advance(Duration::from_secs(1)).await;
        let second = hosts.at(1);
        for _ in 0..3 {
            count(&second, None).await;
        }
        assert_eq!(hosts.order(), [2, 0, 1], "the one that was given up last is the last one");
        assert!(hosts.at(0).is_good(), "a new connection begins anew");
        tokio::time::advance(LATER).await;
        assert_eq!(hosts.order(), [0, 1, 2]);
    }
}

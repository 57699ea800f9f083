//! Who the master is, as far as this store knows, and for how long a connection leads to it.
//!
//! The time in which a server is the master is a term. With it end all connections that were opened in it, subscriptions too:
//! whoever stayed with a master that was replaced would get locks there that others get from the new one.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Mutex, MutexGuard, watch};
use tokio::time::Instant;

/// A server that a sentinel names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Named {
    pub(super) host: String,
    pub(super) port: u16,
    /// The number of the failover that has made it the master. Of two answers, the one with the larger number is the later one.
    /// Zero if the sentinel does not say.
    pub(super) epoch: u64,
}

impl Named {
    pub(super) fn is_at(&self, other: &Self) -> bool {
        (&self.host, self.port) == (&other.host, other.port)
    }
}

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "[{}]:{}", self.host, self.port),
            false => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

/// The time after which the sentinels have told each other of a failover. Until then, what a connection has confirmed is later than
/// what some of them say.
const SETTLED: Duration = Duration::from_secs(30);

/// Who the master is, as far as is known.
#[derive(Debug, Default)]
pub(super) struct Master {
    known: watch::Sender<Known>,
    /// Held by whoever listens to a sentinel: one of the connections.
    listener: Mutex<()>,
}

#[derive(Debug, Default)]
struct Known {
    term: u64,
    /// The server of this term, and when it was confirmed, unless there is doubt.
    named: Option<(Named, Option<Instant>)>,
}

/// The term in which a connection was opened.
#[derive(Debug, Clone)]
pub(crate) struct Term {
    master: Arc<Master>,
    number: u64,
}

impl Master {
    /// The term as it is now.
    pub(super) fn term(self: &Arc<Self>) -> Term {
        Term { master: self.clone(), number: self.known.borrow().term }
    }

    /// The server that was confirmed last, if that was a short time ago.
    pub(super) fn recent(&self) -> Option<Named> {
        let known = self.known.borrow();
        let is_recent = |since: &Option<Instant>| since.is_some_and(|since| since.elapsed() < SETTLED);
        known.named.as_ref().filter(|(_, since)| is_recent(since)).map(|(named, _)| named.clone())
    }

    /// The server of this term.
    pub(super) fn named(&self) -> Option<Named> {
        self.known.borrow().named.as_ref().map(|(named, _)| named.clone())
    }

    /// Enters a server that has confirmed to be the master. Sentinels were asked for it in the term `asked`: if another server was
    /// found since, `None`, and they have to be asked once more.
    pub(super) fn confirm(self: &Arc<Self>, named: Named, asked: &Term) -> Option<Term> {
        let mut confirmed = None;
        self.known.send_if_modified(|known| {
            let is_same = known.named.as_ref().is_some_and(|(now, _)| now.is_at(&named));
            let ends = !is_same && known.named.is_some();
            if !is_same && known.term != asked.number {
                return false;
            }
            known.term += u64::from(ends);
            known.named = Some((named, Some(Instant::now())));
            confirmed = Some(known.term);
            ends
        });
        confirmed.map(|number| Term { master: self.clone(), number })
    }

    /// This server says that it is not the master.
    pub(super) fn refute(&self, named: &Named) {
        self.end_if(|known| known.named.as_ref().is_some_and(|(now, _)| now.is_at(named)));
    }

    /// Another server has become the master.
    pub(super) fn end(&self) {
        self.end_if(|known| known.named.is_some());
    }

    /// This server cannot be reached just now: what it has confirmed does not count against what sentinels say. Connections that
    /// there are may be as good as before.
    pub(super) fn doubt(&self, named: &Named) {
        self.known.send_if_modified(|known| {
            known.named.iter_mut().filter(|(now, _)| now.is_at(named)).for_each(|(_, since)| *since = None);
            false
        });
    }

    /// Waits until nobody else listens to a sentinel.
    pub(super) async fn listener(&self) -> MutexGuard<'_, ()> {
        self.listener.lock().await
    }

    fn end_if(&self, is_over: impl FnOnce(&Known) -> bool) {
        self.known.send_if_modified(|known| {
            let ends = is_over(known);
            if ends {
                *known = Known { term: known.term + 1, named: None };
            }
            ends
        });
    }
}

impl Term {
    pub(crate) fn is_over(&self) -> bool {
        self.master.known.borrow().term != self.number
    }

    /// Completes when the term is over.
    pub(crate) async fn over(&self) {
        // The sender lives as long as this.
        let _ = self.master.known.subscribe().wait_for(|known| known.term != self.number).await;
    }

    /// Ends the term: the server of it is not the master any more.
    pub(crate) fn end(&self) {
        self.master.end_if(|known| known.term == self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(port: u16) -> Named {
        Named { host: "h".into(), port, epoch: 0 }
    }

    #[tokio::test(start_paused = true)]
    async fn a_term_ends_with_its_server() {
        let master = Arc::new(Master::default());
        let first = master.confirm(named(1), &master.term()).expect("nobody else was found");
        let beside = master.confirm(named(1), &master.term()).expect("the same server");
        assert!(!first.is_over() && !beside.is_over(), "one server, one term");
        let asked = master.term();
        let second = master.confirm(named(2), &master.term()).expect("a new one");
        first.over().await;
        assert!(beside.is_over() && !second.is_over());
        assert!(master.confirm(named(1), &asked).is_none(), "that was asked before the new one was found");
        assert_eq!(master.recent(), Some(named(2)));
        first.end();
        assert!(!second.is_over(), "an old term does not end a new one");
        second.end();
        assert!(second.is_over() && master.recent().is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_confirmed_long_ago_is_not_later_than_what_sentinels_say() {
        let master = Arc::new(Master::default());
        master.confirm(named(1), &master.term()).expect("nobody else was found");
        master.refute(&named(2));
        assert!(master.recent().is_some());
        tokio::time::advance(SETTLED).await;
        assert!(master.recent().is_none() && master.named().is_some());
    }

    #[tokio::test]
    async fn a_server_that_cannot_be_reached_ends_no_connection() {
        let master = Arc::new(Master::default());
        let first = master.confirm(named(1), &master.term()).expect("nobody else was found");
        master.doubt(&named(1));
        assert!(master.recent().is_none() && !first.is_over());
        master.confirm(named(2), &master.term()).expect("another one is");
        assert!(first.is_over(), "violation[overlap]: somebody stays with the old master");
        master.refute(&named(2));
        assert!(master.named().is_none());
    }
}

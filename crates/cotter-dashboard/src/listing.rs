//! What the store holds. It is asked at most once a second, however many look, and only while somebody does.

use crate::changes::Changes;
use crate::recent::{Recent, in_time};
use cotter::{Client, Filter, Finding, Name, Record};
use cotter_console::lock::list;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// The time between two listings.
pub(crate) const PERIOD: Duration = Duration::from_secs(1);
/// The time between two examinations of the store, each of which takes a lock and gives it back.
const EXAMINE_EVERY: Duration = Duration::from_secs(30);

/// All locks that are held, as of one listing.
#[derive(Debug, Clone, Default)]
pub(crate) struct View {
    pub(crate) locks: BTreeMap<Name, Record>,
    /// When the store was last heard, if ever, by this host's clock.
    pub(crate) as_of: Option<SystemTime>,
    /// Why the last listing failed; the locks are those of the last one that has not.
    pub(crate) trouble: Option<String>,
    /// What has to be said about a listing of this store.
    pub(crate) cautions: Vec<String>,
    pub(crate) changes: Changes,
}

/// What the examination of the store has found.
#[derive(Debug)]
pub(crate) struct Examined {
    pub(crate) findings: Result<Vec<Finding>, String>,
    pub(crate) at: SystemTime,
}

/// The listings of a store.
#[derive(Debug)]
pub(crate) struct Listing {
    pub(crate) client: Client,
    view: Recent<View>,
    examined: Recent<Examined>,
}

impl Listing {
    pub(crate) fn new(client: Client) -> Self {
        let nothing = Examined { findings: Ok(Vec::new()), at: SystemTime::UNIX_EPOCH };
        let (view, examined) = (Recent::new(PERIOD, View::default()), Recent::new(EXAMINE_EVERY, nothing));
        Self { client, view, examined }
    }

    /// The locks as of now, or of a second ago.
    pub(crate) async fn view(&self) -> Arc<View> {
        self.view.get(async |last| self.next(last.clone()).await).await
    }

    /// After a change.
    pub(crate) async fn is_over(&self) {
        self.view.is_over().await;
    }

    async fn next(&self, mut view: View) -> View {
        match in_time(list(&self.client, Filter::held())).await {
            Ok((locks, cautions)) => view.renew(locks, cautions),
            Err(why) => view.trouble = Some(why),
        }
        view
    }

    /// What `cotter doctor` says, as of now or of a moment ago.
    pub(crate) async fn examined(&self) -> Arc<Examined> {
        self.examined.get(async |_| self.examine().await).await
    }

    async fn examine(&self) -> Examined {
        let findings = in_time(self.client.admin().diagnose()).await;
        Examined { findings, at: SystemTime::now() }
    }
}

impl View {
    fn renew(&mut self, locks: BTreeMap<Name, Record>, cautions: Vec<String>) {
        let now = SystemTime::now();
        // Nothing is known of the time before the first listing.
        if self.as_of.is_some() {
            self.changes.note(&self.locks, &locks, now);
        }
        (self.locks, self.cautions, self.as_of, self.trouble) = (locks, cautions, Some(now), None);
    }

    /// How old what it shows is.
    pub(crate) fn age(&self) -> Duration {
        self.as_of.map(cotter_console::duration::since).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cotter::memory::{Faults, Store};

    async fn client() -> (Faults, Client) {
        let faults = Faults::new();
        let store = Store::with_faults(&faults);
        (faults, Client::builder().connect_to(store).await.unwrap())
    }

    #[tokio::test]
    async fn a_store_that_is_down_leaves_its_last_locks_with_the_reason() {
        let (faults, client) = client().await;
        let guard = client.mutex("backup").lock().await.unwrap();
        let listing = Listing::new(client.clone());
        assert_eq!(listing.view().await.locks.len(), 1);
        faults.set_down(true);
        let old = wait_for(&listing, |view| view.trouble.is_some()).await;
        assert_eq!(old.locks.len(), 1, "violation[forgotten-in-an-outage]");
        faults.set_down(false);
        drop(guard);
        let new = wait_for(&listing, |view| view.trouble.is_none() && view.locks.is_empty()).await;
        assert_eq!(new.changes.of("backup").count(), 1, "its end is told");
    }

    async fn wait_for(listing: &Listing, is_so: impl Fn(&View) -> bool) -> Arc<View> {
        loop {
            let view = listing.view().await;
            if is_so(&view) {
                return view;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    #[tokio::test]
    async fn all_who_look_share_one_listing() {
        let (_, client) = client().await;
        let listing = Arc::new(Listing::new(client));
        let looks: Vec<_> =
            (0..20).map(|_| listing.clone()).map(|l| tokio::spawn(async move { l.view().await })).collect();
        let mut views = Vec::new();
        for look in looks {
            views.push(look.await.unwrap());
        }
        let first = &views[0];
        assert!(views.iter().all(|view| Arc::ptr_eq(view, first)), "violation[a-listing-for-each]");
    }
}

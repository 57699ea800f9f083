//! Inspection and eviction of locks, for stores that support it.

use super::fixture::{Fixture, give, take, wait_in_task};
use crate::backend::{Admin, Backend, Cursor, EvictOrder};
use crate::{Eviction, Filter, Name};
use std::collections::BTreeSet;
use std::sync::Arc;

fn admin(backend: &Arc<dyn Backend>) -> Option<&dyn Admin> {
    backend.admin()
}

/// Returns the interface if the store keeps records of its holders; otherwise there is little to inspect.
fn records(backend: &Arc<dyn Backend>) -> Option<&dyn Admin> {
    backend.admin().filter(|_| backend.info().capabilities.records)
}

pub(super) async fn the_holder_is_shown(f: &Fixture) {
    let (one, other) = (f.connect().await, f.connect().await);
    let Some(admin) = records(&other) else { return };
    let mut claim = f.claim("a");
    claim.turns = 4;
    let grant = take(&one, &claim).await;
    let _waiting = wait_in_task(&one, &f.claim("a"), f.soon());
    f.queued(&other, 1).await;
    let page = admin.list(&Filter::exactly(&claim.name), None).await.expect("answers");
    let [record] = page.records.as_slice() else { panic!("one record, not {:?}", page.records) };
    let [holder] = record.holders.as_slice() else { panic!("one holder, not {:?}", record.holders) };
    assert_eq!((record.name.as_str(), holder.label.as_str()), (claim.name.as_str(), &*claim.label));
    assert_eq!((holder.token.get(), holder.mode), (grant.number, claim.mode));
    let mut block = grant.number..grant.number + u64::from(grant.turns);
    assert!(block.all(|token| holder.owns(token.into())), "the tokens of {grant:?} are those of {holder:?}");
    assert!(!holder.owns((grant.number - 1).into()), "{holder:?}");
    assert!(record.waiters.is_none_or(|n| n == 1), "{:?}", record.waiters);
    give(&one, &claim).await;
}

pub(super) async fn a_free_name_has_no_holder(f: &Fixture) {
    let backend = f.connect().await;
    let Some(admin) = admin(&backend) else { return };
    let claim = f.claim("a");
    take(&backend, &claim).await;
    give(&backend, &claim).await;
    let page = admin.list(&Filter::exactly(&claim.name), None).await.expect("answers");
    assert!(page.records.is_empty(), "{:?}", page.records);
    let page = admin.list(&Filter::exactly(&claim.name).with_free(), None).await.expect("answers");
    assert!(page.records.iter().all(|r| r.holders.is_empty()));
}

pub(super) async fn listing_goes_by_pages(f: &Fixture) {
    let backend = f.connect().await;
    let Some(admin) = records(&backend) else { return };
    let mut expected: Vec<Name> = Vec::new();
    for i in 0..f.most_held.min(250) {
        let claim = f.claim(&format!("page-{i:03}"));
        take(&backend, &claim).await;
        expected.push(claim.name);
    }
    take(&backend, &f.claim("other")).await;
    let filter = Filter::prefix(f.name("page-").as_str());
    let (mut seen, mut next): (BTreeSet<Name>, Option<Cursor>) = (BTreeSet::new(), None);
    for _ in 0..=expected.len() {
        let page = admin.list(&filter, next.as_ref()).await.expect("answers");
        seen.extend(page.records.into_iter().map(|r| r.name));
        next = page.next;
        if next.is_none() {
            break;
        }
    }
    assert_eq!(next, None, "the listing ends");
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), expected);
}

pub(super) async fn evict_takes_it_or_says_who(f: &Fixture) {
    let (one, other) = (f.connect().await, f.connect().await);
    let Some(admin) = records(&other) else { return };
    let claim = f.claim("a");
    let free = admin.evict(&claim.name, EvictOrder::default()).await.expect("answers");
    assert_eq!(free, Eviction::NotHeld);
    let grant = take(&one, &claim).await;
    let wrong = EvictOrder::new().only((grant.number + 1_000_000).into());
    assert_eq!(admin.evict(&claim.name, wrong).await.expect("answers"), Eviction::NotHeld);
    match admin.evict(&claim.name, EvictOrder::new().at_once()).await.expect("answers") {
        Eviction::HolderMustExit { pid } => assert_eq!(pid, std::process::id()),
        Eviction::Evicted { token } => {
            assert_eq!(token.get(), grant.number);
            let next = take(&other, &f.claim("a")).await;
            assert!(next.number > grant.number);
        }
        Eviction::NotHeld => panic!("it is held"),
    }
}

pub(super) async fn diagnose_says_something(f: &Fixture) {
    let backend = f.connect().await;
    let Some(admin) = admin(&backend) else { return };
    let findings = admin.diagnose().await.expect("answers");
    assert!(findings.iter().all(|f| !f.subject.is_empty() && !f.message.is_empty()) && !findings.is_empty());
}

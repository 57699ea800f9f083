//! What a holder sees while the server of its session or lease is silent, whatever the store: the states that other clients
//! call connected, suspended and lost.

use cotter::LossCause;
use cotter_testkit::bare::client;
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::servers::Proxy;
use cotter_testkit::timing::{Stopwatch, eventually, happens};
use std::time::Duration;

/// For that long the server may be silent.
pub(crate) const LENGTH: Duration = Duration::from_secs(4);
/// Whatever is left: the signal completes as soon as the answer to one sign of life is missing.
const ANY: Duration = Duration::from_secs(3600);

/// The URL leads through the proxy.
pub(crate) async fn silence_is_told_before_the_loss(url: &str, proxy: &Proxy, end: LossCause) {
    let guard = client(url, LENGTH).await.mutex("suspect").lock().await.unwrap();
    let most = guard.remaining().expect("it has a deadline");
    // Connected: each answer moves the deadline.
    let early = tokio::time::timeout(most * 4 / 5, guard.expiring(ANY)).await;
    assert!(early.is_err(), "told while the server answers: {early:?}");

    // Suspect: still held, and for how long.
    proxy.freeze(true);
    let told = happens("one or the other", guard.expiring(ANY)).await;
    let is_held = told.as_ref().is_ok_and(|told| !told.left.is_zero() && told.left < most);
    demand(is_held && guard.is_valid(), Kind::LateLoss, format!("told: {told:?}"));

    // Connected again: the same hold.
    proxy.freeze(false);
    eventually("the deadline moves", || guard.remaining() > Some(most * 2 / 3)).await;
    assert!(guard.is_valid(), "{:?}", guard.check());

    // Lost, by the deadline of which the guard knew.
    proxy.freeze(true);
    let known = guard.remaining().expect("it has a deadline");
    let since = Stopwatch::of(Kind::LateLoss);
    let lost = happens("it is lost", guard.lost()).await;
    since.at_most(known + Duration::from_secs(2), format!("lost after {known:?}"));
    assert_eq!(lost.cause, end);
    assert_eq!(guard.remaining(), Some(Duration::ZERO));
    proxy.freeze(false);
}

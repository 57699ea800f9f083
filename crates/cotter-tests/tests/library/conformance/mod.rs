//! The stores against the contract (`src/conformance`): one test for each case and store.

#[cfg(feature = "etcd")]
mod etcd;
mod file;
mod memory;
#[cfg(feature = "mysql")]
mod mysql;
#[cfg(feature = "postgres")]
mod postgres;
mod quorum;
#[cfg(feature = "redis")]
mod redis;
#[cfg(feature = "redis")]
mod redlock;
#[cfg(all(feature = "sqlite", not(cotter_portable)))]
mod sqlite;
#[cfg(feature = "zookeeper")]
mod zookeeper;

use cotter::Name;
use cotter::conformance::Waiter;
use cotter_testkit::servers::Proxy;
use cotter_testkit::waiter::{self, Costs};
use std::sync::Arc;
use std::time::Duration;

/// Not a test: the process that waits for a lock, in those cases that need one.
#[test]
fn another_process_waits() {
    waiter::wait();
}

const OTHER_PROCESS: &str = "conformance::another_process_waits";

/// Other processes that wait for locks of the store with this URL.
pub(crate) fn elsewhere(url: String, costs: Costs) -> impl Fn(&Name) -> Box<dyn Waiter> {
    move |name| Box::new(waiter::Waiter::start(OTHER_PROCESS, &url, name, None, costs))
}

/// The same, each of which can be cut off from the server with this port, because it has a URL through a proxy.
fn elsewhere_on(
    port: u16,
    url: impl Fn(&Proxy) -> String,
    costs: Costs,
) -> impl Fn(&Name) -> Box<dyn Waiter> {
    move |name| {
        let proxy = Arc::new(Proxy::start(port));
        let url = url(&proxy);
        Box::new(waiter::Waiter::start(OTHER_PROCESS, &url, name, Some(proxy), costs))
    }
}

/// Options with time for answers: on a busy machine, twenty clients that want one row of a database may wait for longer than the
/// default. Nothing here depends on it; those that wait elsewhere have the default.
#[cfg(any(feature = "mysql", feature = "postgres"))]
fn patient(options: &str) -> String {
    let more = if options.is_empty() { "" } else { "&" };
    format!("{options}{more}timeout=20s")
}

/// What the page of a store in docs/stores/ says: how long a waiter holds up the one behind it that was killed, and one that was stopped
/// or cut off.
pub(crate) fn costs(store: &str) -> Costs {
    let cell = crate::which_store::cell(store, "a waiter dies");
    let (killed, silent) = cell.split_once("; stopped ").unwrap_or((cell, cell));
    let silent = silent.trim_start_matches("or cut off ");
    let time = |said: &str| match said.strip_suffix(" s") {
        Some(seconds) => Duration::from_secs_f64(seconds.parse().expect("seconds")),
        None => Duration::from_millis(if said == "at once" { 200 } else { 0 }),
    };
    Costs { killed: time(killed), silent: time(silent) }
}

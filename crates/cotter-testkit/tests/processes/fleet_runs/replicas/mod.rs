//! Five replicas of a scheduler with jobs of all kinds, killed and stopped at random, their clocks wrong, their store restarted:
//! every slot once, and every one-shot run.

mod audit;
mod fleet;

use crate::setup::private_folder;
use audit::Audit;
use cotter::Client;
use cotter_testkit::history::{Kind, violation};
use cotter_testkit::replica::Store;
use cotter_testkit::{servers, sized};
use fleet::{Plan, Restart};
use std::sync::{Mutex, PoisonError};
use tempfile::TempDir;

/// One of these at a time; how long things took does not matter to them.
static ONE_RUN: Mutex<()> = Mutex::new(());

fn play(store: Store, folder: TempDir, plan: &Plan, restart: Restart<'_>) {
    let (_alone, work_log) =
        (ONE_RUN.lock().unwrap_or_else(PoisonError::into_inner), folder.path().join("work_log"));
    let can_restart = restart.is_some();
    let run = plan.run(&store, &work_log, restart);
    let audit = Audit::new(&work_log, &run);
    if !audit.violations().is_empty() {
        let kept = folder.keep();
        panic!("{:#?}\n{audit}\nthe work log is kept in {}", audit.violations(), kept.display());
    }
    fleet::say(&format!("{audit}"));
    if let Some(what) = run.lacks(plan, can_restart) {
        panic!("{}", violation(Kind::Void, format!("{what}: {audit}")));
    }
}

fn plan() -> Plan {
    Plan {
        slots: sized(200, 2000),
        each: sized(15, 150),
        ahead_ms: [0, 2000, -2000, 1500, 365 * 86_400_000],
        ..Plan::default()
    }
}

#[test]
fn every_slot_once_on_files() {
    let folder = private_folder();
    play(Store::Directory(folder.path().join("store")), folder, &plan(), None);
}

#[test]
#[ignore = "needs redis-server"]
fn every_slot_once_on_redis() {
    // Anything less may lose what was acknowledged, also when only the server is killed: it puts off writing while the disk is busy.
    let mut server =
        servers::Redis::builder().with("appendonly", "yes").with("appendfsync", "always").start();
    let url = server.url("");
    play(Store::Server(url), private_folder(), &plan(), Some(Box::new(|| server.restart())));
}

/// The state of the jobs and the history of their runs are with a majority; the third member comes and goes.
#[test]
#[ignore = "needs redis-server"]
fn every_slot_once_on_a_quorum() {
    let durable =
        || servers::Redis::builder().with("appendonly", "yes").with("appendfsync", "always").start();
    let mut members = [durable(), durable(), durable()];
    let url = servers::redlock_url(members.iter().map(servers::Redis::port), "timeout=500ms");
    let initialized = Client::connect(&url).wait().and_then(|client| client.admin().initialize().wait());
    initialized.expect("the members answer");
    let plan = Plan { slots: sized(100, 2000), each: sized(8, 150), ..plan() };
    play(Store::Server(url), private_folder(), &plan, Some(Box::new(|| members[2].restart())));
}

//! Five replicas of a scheduler, killed and stopped at random, their clocks wrong: every slot once.

mod audit;
mod herd;

use super::setup::{alone, private_folder};
use audit::Audit;
use cotter_testkit::replica::Store;
use cotter_testkit::{servers, sized};
use herd::Plan;
use tempfile::TempDir;

fn play(store: Store, folder: TempDir, plan: &Plan) {
    let (_alone, diary) = (alone(), folder.path().join("diary"));
    let run = plan.run(&store, &diary);
    let audit = Audit::new(&diary, &run);
    if !audit.violations().is_empty() {
        let kept = folder.keep();
        panic!("{:#?}\n{audit}\nthe diary is kept in {}", audit.violations(), kept.display());
    }
    herd::say(&format!("{audit}"));
    assert!(run.kills >= plan.least / 2 && run.stops >= plan.least / 2, "too little has happened: {audit}");
}

fn plan() -> Plan {
    Plan {
        slots: sized(200, 2000),
        least: sized(30, 300),
        ahead_ms: [0, 2000, -2000, 1500, 365 * 86_400_000],
        ..Plan::default()
    }
}

#[test]
fn every_slot_once_on_files() {
    let folder = private_folder();
    play(Store::Directory(folder.path().join("store")), folder, &plan());
}

#[test]
#[ignore = "needs redis-server"]
fn every_slot_once_on_redis() {
    let server = servers::Redis::start();
    play(Store::Server(server.url("")), private_folder(), &plan());
}

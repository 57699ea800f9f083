//! What happens to the locks of files when a process closes the file elsewhere, or has children: leases do not hang on them.

use super::place::Place;
use cotter::sqlite::Store;
use cotter::{Client, Lease, LossCause};
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::in_own_process;
use cotter_testkit::timing::{FAR, until};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::Duration;

/// Set in the other process: the database on which it tries to lock.
const OTHER: &str = "COTTER_TEST_DATABASE";
const NAME: &str = "held";

/// Files of the database.
fn files(place: &Place) -> Vec<PathBuf> {
    let path = place.path();
    let all = ["", "-wal", "-shm"].map(|end| PathBuf::from(format!("{}{end}", path.display())));
    all.into_iter().filter(|file| file.exists()).collect()
}

/// Another process, which uses the database and tries to take the lock.
fn other_process(test: &str, place: &Place) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "--nocapture", test]).env(OTHER, place.path());
    command.spawn().unwrap()
}

/// In the other process.
fn try_to_take(path: &str) {
    let client = Client::builder().connect_to(Store::at(path)).wait().unwrap();
    for count in 0..200 {
        let taken = client.mutex(NAME).try_lock().wait().unwrap();
        demand(
            taken.is_none(),
            Kind::Overlap,
            format!("held by another process, and taken at attempt {count}"),
        );
        client.mutex("of-the-other").lock().wait().unwrap().finish().wait().unwrap();
    }
    // It closes the database.
    client.close(FAR).wait().unwrap();
}

/// POSIX drops the locks that a process has on a file when it closes *any* descriptor of that file, those of SQLite too. A lease is
/// a row, so nobody else gets the lock. But whoever closes the database then believes to be the last one, and deletes the log: what
/// this process writes after that, nobody sees. It notices, loses its locks, and gets no others.
#[test]
fn closing_the_database_elsewhere_makes_no_second_holder() {
    const TEST: &str = "sqlite::descriptors::closing_the_database_elsewhere_makes_no_second_holder";
    const TTL: Duration = Duration::from_secs(2);
    if let Ok(path) = std::env::var(OTHER) {
        return try_to_take(&path);
    }
    in_own_process(
        TEST,
        |_| (),
        || {
            let place = Place::new();
            let client = place.client();
            let held = client.mutex(NAME).lease(Lease::renewed(TTL)).lock().wait().unwrap();
            let mut other = other_process(TEST, &place);
            let status = loop {
                // Without its lock on the index of the log, this process may also die of SIGBUS: SQLite cuts the index short when
                // the first process opens the database, and has it mapped. Then there is nothing left to look at here.
                let all = files(&place);
                let locked = all.iter().filter(|file| !file.to_string_lossy().ends_with("-shm"));
                locked.for_each(|file| drop(File::open(file)));
                // An error when the other one has ended.
                let _ = client.mutex("of-this-one").lock().wait().map(|guard| guard.finish().wait());
                if let Some(status) = other.try_wait().unwrap() {
                    break status;
                }
            };
            demand(status.success(), Kind::Overlap, "the other process has got the lock");
            let late = client.mutex("late").try_lock().wait();
            demand(late.is_err(), Kind::Overlap, "nobody else can see that this process holds it");
            assert!(late.unwrap_err().to_string().contains("connect again"));
            assert_eq!(held.lost().wait_for(TTL).expect("a loss").cause, LossCause::Gone);
            // Connections of one process share what they know of the log, so the old one has to go first.
            drop(held);
            client.close(FAR).wait().unwrap();
            let again = place.client();
            again.mutex(NAME).lock().wait().unwrap().finish().wait().unwrap();
            assert_eq!(sound(&place), "ok");
        },
    );
}

/// As by a program that deletes old files: the index is only mapped, so on a tmpfs its times never change. Who comes then makes
/// another one, and both write to the same log without seeing each other.
#[test]
fn a_deleted_index_of_the_log_makes_no_second_holder() {
    const TEST: &str = "sqlite::descriptors::a_deleted_index_of_the_log_makes_no_second_holder";
    const TTL: Duration = Duration::from_secs(3);
    let beside = |path: &str, what: &str| PathBuf::from(format!("{path}.{what}"));
    if let Ok(path) = std::env::var(OTHER) {
        let client = Client::builder().connect_to(Store::at(&path)).wait().unwrap();
        client.mutex("of-the-other").lock().wait().unwrap().finish().wait().unwrap();
        fs::write(beside(&path, "ready"), "").unwrap();
        wait_for(&beside(&path, "asked"));
        // Nothing is printed: the other process wants to know, and whoever reads the output of the tests does not.
        std::process::exit(i32::from(client.mutex(NAME).try_lock().wait().unwrap().is_some()));
    }
    let place = Place::new();
    let (client, path) = (place.client(), place.path().display().to_string());
    let before = client.mutex("before").lease(Lease::renewed(TTL)).lock().wait().unwrap();
    fs::remove_file(format!("{path}-shm")).unwrap();
    let mut other = other_process(TEST, &place);
    wait_for(&beside(&path, "ready"));
    let taken = client.mutex(NAME).try_lock().wait();
    fs::write(beside(&path, "asked"), "").unwrap();
    let others = !other.wait().unwrap().success();
    demand(!(others && taken.is_ok()), Kind::Overlap, "both processes have got the lock");
    let refused = taken.expect_err("nobody else can see what is written now");
    assert!(refused.to_string().contains("connect again"), "{refused}");
    assert_eq!(before.lost().wait_for(TTL).expect("a loss").cause, LossCause::Gone);
}

fn wait_for(file: &Path) {
    until(&format!("{} is there", file.display()), || file.exists());
}

fn sound(place: &Place) -> String {
    place.database().query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap()
}

/// A child has no descriptor of the database: it holds nothing, whatever becomes of its parent.
#[test]
fn a_child_inherits_nothing() {
    let place = Place::new();
    let client = place.client();
    let held = client.mutex(NAME).lock().wait().unwrap();
    let mut child = Command::new("sleep").arg("60").spawn().unwrap();
    let descriptors = fs::read_dir(format!("/proc/{}/fd", child.id())).unwrap();
    let inherited: Vec<PathBuf> = descriptors
        .filter_map(|entry| fs::read_link(entry.ok()?.path()).ok())
        .filter(|file| file.starts_with(place.path().parent().unwrap()))
        .collect();
    assert!(files(&place).len() == 3 && inherited.is_empty(), "{inherited:?}");
    held.finish().wait().unwrap();
    client.close(FAR).wait().unwrap();
    let next = place.client().mutex(NAME).try_lock().wait().unwrap();
    demand(next.is_some(), Kind::LeftBehind, "a child keeps a lock that its parent has given back");
    child.kill().unwrap();
    child.wait().unwrap();
}

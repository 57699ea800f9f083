//! Databases that are reached by more than one path.

use super::place::Place;
use cotter::sqlite::Store;
use cotter::{Client, Error, ErrorKind, Lease, LossCause};
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::timing::FAR;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::{Duration, Instant};

const MS: Duration = Duration::from_millis(1);

fn connect(path: &Path) -> Result<Client, Error> {
    Client::builder().connect_to(Store::at(path)).wait()
}

/// SQLite keeps the log beside the file that a link leads to.
#[test]
fn a_symbolic_link_leads_to_the_same_locks() {
    let (place, elsewhere) = (Place::new(), tempfile::tempdir().unwrap());
    let link = elsewhere.path().join("link.db");
    symlink(place.path(), &link).unwrap();
    let (direct, linked) = (place.client(), connect(&link).unwrap());
    let held = direct.mutex("a").lock().wait().unwrap();
    let taken = linked.mutex("a").try_lock().wait().unwrap();
    demand(taken.is_none(), Kind::Overlap, "held by a client that uses another path");
    // A wait of 20 ms is one of polls.
    let mut waits: Vec<_> = Vec::new();
    let mut held = Some(held);
    for _ in 0..9 {
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| {
                let guard = linked.mutex("a").lock().wait().unwrap();
                (Instant::now(), guard)
            });
            std::thread::sleep(50 * MS);
            let freed = Instant::now();
            held.take().unwrap().finish().wait().unwrap();
            let (got, guard) = waiter.join().unwrap();
            waits.push(got - freed);
            guard.finish().wait().unwrap();
        });
        held = Some(direct.mutex("a").lock().wait().unwrap());
    }
    waits.sort();
    assert!(waits[4] < 100 * MS, "nobody is woken: {waits:?}");
}

/// Who connects now by the link uses another database.
#[test]
fn a_link_that_leads_elsewhere_loses_the_locks() {
    let (one, other, links) = (Place::new(), Place::new(), tempfile::tempdir().unwrap());
    let link = links.path().join("link.db");
    symlink(one.path(), &link).unwrap();
    let held = connect(&link).unwrap().mutex("a").lease(Lease::renewed(900 * MS)).lock().wait().unwrap();
    std::fs::remove_file(&link).unwrap();
    symlink(other.path(), &link).unwrap();
    assert_eq!(held.lost().wait_for(FAR).expect("a loss").cause, LossCause::Gone);
    connect(&link).unwrap().mutex("a").lock().wait().unwrap().finish().wait().unwrap();
}

/// Each name of a file has a log of its own.
#[test]
fn a_file_with_several_names_is_refused() {
    let place = Place::new();
    let second = place.path().with_file_name("second.db");
    std::fs::hard_link(place.path(), &second).unwrap();
    for path in [place.path(), second.clone()] {
        let error = connect(&path).unwrap_err();
        assert!(error.kind() == ErrorKind::Denied && error.to_string().contains("hard links"), "{error}");
    }
    std::fs::remove_file(second).unwrap();
    place.client().mutex("a").lock().wait().unwrap().finish().wait().unwrap();
}

/// A directory has several links, too.
#[test]
fn a_directory_is_refused_as_what_it_is() {
    let dir = tempfile::tempdir().unwrap();
    for path in [dir.path(), Path::new("/dev/null")] {
        let error = connect(path).unwrap_err();
        let text = error.to_string();
        assert!(error.kind() == ErrorKind::Config && text.contains("not a regular file"), "{text}");
    }
}

#[test]
fn a_path_need_not_be_text() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::at(dir.path().join(OsStr::from_bytes(b"caf\xe9?mode=ro#%20.db")));
    Client::builder().migrate_store(store.clone()).wait().unwrap();
    let client = Client::builder().connect_to(store).wait().unwrap();
    client.mutex("a").lock().wait().unwrap().finish().wait().unwrap();
}

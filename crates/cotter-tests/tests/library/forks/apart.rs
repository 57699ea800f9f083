//! A child that has the number of its parent, in a pid namespace of its own.

use super::{MS, fork};
use cotter::{ErrorKind, LossCause};
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::servers::forking_library;
use std::process::Command;

/// Set in a process that is process 1, as are the first children that it makes.
const FIRST: &str = "COTTER_TEST_FORK_APART";

fn as_first(test: &str) {
    let (folder, mut command) = (tempfile::tempdir().unwrap(), Command::new("unshare"));
    if !rustix::process::geteuid().is_root() {
        command.args(["--user", "--map-root-user"]);
    }
    let library = forking_library(folder.path()).unwrap();
    // Only for the test itself: other programs ask for their parent as well.
    command.args(["--pid", "--fork", "--mount-proc", "env"]).arg(format!("LD_PRELOAD={}", library.display()));
    command.arg(std::env::current_exe().unwrap()).args(["--exact", "--nocapture", "--include-ignored", test]);
    assert!(command.env(FIRST, "1").status().unwrap().success());
}

/// Sandboxes, and containers in containers.
#[test]
#[ignore = "needs unprivileged namespaces and cc"]
fn a_child_with_the_same_number_is_a_fork() {
    const TEST: &str = "forks::apart::a_child_with_the_same_number_is_a_fork";
    if std::env::var_os(FIRST).is_none() {
        return as_first(TEST);
    }
    assert_eq!(std::process::id(), 1);
    let place = crate::file::place::Place::new();
    let client = place.client().wait().unwrap();
    let mut held = Some(client.mutex("a").lock().wait().unwrap());
    let child = fork(|| {
        assert_eq!(std::process::id(), 1);
        let copy = held.take().unwrap();
        let cause = copy.check().err().map(|lost| lost.cause);
        drop(copy);
        let other = place.client();
        demand(cause == Some(LossCause::Forked), Kind::Overlap, "parent and child both believe to hold it");
        assert_eq!(client.mutex("b").try_lock().wait().unwrap_err().kind(), ErrorKind::Misuse);
        let ours = other.wait().unwrap();
        let taken = ours.mutex("a").try_lock_for(100 * MS).wait().unwrap();
        demand(taken.is_none(), Kind::Overlap, "the parent holds it");
        ours.mutex("b").lock().wait().unwrap().finish().wait().unwrap();
    });
    child.end();
    let others = place.client().wait().unwrap().mutex("a").try_lock().wait().unwrap();
    demand(others.is_none(), Kind::Overlap, "freed by a child, and held");
    held.unwrap().finish().wait().unwrap();
}

//! Databases below mounts.

use super::place::Place;
use cotter::sqlite::Store;
use cotter::{Client, Error, ErrorKind, Lease};
use cotter_testkit::history::{Kind, demand};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

fn connect(path: &Path) -> Result<Client, Error> {
    Client::builder().connect_to(Store::at(path)).wait()
}

/// Runs a test of this program once more, among mounts of its own: `"$2"` is this program and `"$3"` the test.
fn among_other_mounts(script: &str, test: &str, path: &Path, (variable, value): (&str, &Path)) {
    let mut command = Command::new("unshare");
    if !rustix::process::geteuid().is_root() {
        command.args(["--user", "--map-root-user"]);
    }
    let run = format!(r#"{script} && exec "$2" --exact --nocapture --ignored "$3""#);
    command.args(["--mount", "sh", "-c", &run, "sh"]).arg(path).arg(std::env::current_exe().unwrap());
    assert!(command.arg(test).env(variable, value).status().unwrap().success());
}

/// Set in a process for which the file is mounted at this path, and its directory is not.
const MOUNTED: &str = "COTTER_TEST_MOUNTED";

/// As by `docker run -v /var/lib/locks.db:/locks.db`: the container would have a log of its own.
#[test]
#[ignore = "needs unprivileged namespaces"]
fn a_file_that_is_mounted_without_its_directory_is_refused() {
    const TEST: &str = "sqlite::namespaces::a_file_that_is_mounted_without_its_directory_is_refused";
    if let Some(path) = std::env::var_os(MOUNTED) {
        let path = PathBuf::from(path);
        match connect(&path) {
            Ok(client) => {
                let taken = client.mutex("a").try_lock().wait();
                demand(!matches!(taken, Ok(Some(_))), Kind::Overlap, "held by a process outside");
                panic!("not refused");
            }
            Err(error) => assert!(error.to_string().contains("mount the directory"), "{error}"),
        }
        return;
    }
    let (place, inside) = (Place::new(), tempfile::tempdir().unwrap());
    let path = inside.path().join("locks.db");
    std::fs::write(&path, "").unwrap();
    let _held = place.client().mutex("a").lock().wait().unwrap();
    let mount = format!(r#"mount --bind "$1" "${MOUNTED}""#);
    among_other_mounts(&mount, TEST, &place.path(), (MOUNTED, &path));
}

/// Set in a process that has a boot id of its own, and this database in common with the others.
const OWN_BOOT_ID: &str = "COTTER_TEST_OWN_BOOT_ID";

/// As by systemd-nspawn and LXC. The clock of the container is that of the machine.
#[test]
#[ignore = "needs unprivileged namespaces"]
fn a_container_with_a_boot_id_of_its_own_shares_the_locks() {
    const TEST: &str = "sqlite::namespaces::a_container_with_a_boot_id_of_its_own_shares_the_locks";
    let lease = Lease::fixed(Duration::from_secs(3600));
    if let Some(path) = std::env::var_os(OWN_BOOT_ID) {
        let client = connect(Path::new(&path)).unwrap();
        let taken = client.mutex("outside").try_lock().wait().unwrap();
        demand(taken.is_none(), Kind::Overlap, "held by a process outside of the container");
        // Another writer of the row, which changes nothing for its holder.
        let waited = client.mutex("outside").try_lock_for(Duration::from_millis(100)).wait().unwrap();
        demand(waited.is_none(), Kind::Overlap, "held by a process outside of the container");
        let findings = client.admin().diagnose().wait().unwrap();
        assert!(findings.iter().any(|finding| finding.subject == "boot"), "{findings:?}");
        // The process ends, and its lease does not.
        std::mem::forget(client.mutex("inside").lease(lease).lock().wait().unwrap());
        return;
    }
    let place = Place::new();
    let client = place.client();
    let held = client.mutex("outside").lease(lease).lock().wait().unwrap();
    let mount = r#"echo 01234567-89ab-cdef-0123-456789abcdef >"$1.id" &&
        mount --bind "$1.id" /proc/sys/kernel/random/boot_id"#;
    among_other_mounts(mount, TEST, &place.path(), (OWN_BOOT_ID, &place.path()));
    let taken = client.mutex("inside").try_lock().wait().unwrap();
    demand(taken.is_none(), Kind::Overlap, "held by a process inside of the container");
    assert!(client.mutex("outside").try_lock().wait().unwrap().is_none());
    held.finish().wait().unwrap();
}

/// Set in a process that has this directory on a read-only file system.
const READ_ONLY: &str = "COTTER_TEST_READ_ONLY";

#[test]
#[ignore = "needs unprivileged namespaces"]
fn a_read_only_file_system_is_named_in_the_error() {
    const TEST: &str = "sqlite::namespaces::a_read_only_file_system_is_named_in_the_error";
    if let Some(path) = std::env::var_os(READ_ONLY) {
        let error = connect(Path::new(&path)).unwrap_err();
        assert!(
            error.kind() == ErrorKind::Denied && error.to_string().contains("Read-only file system"),
            "{error}"
        );
        return;
    }
    let place = Place::new();
    let (path, mount) = (place.path(), r#"mount --bind "$1" "$1" && mount -o remount,bind,ro "$1""#);
    among_other_mounts(mount, TEST, path.parent().unwrap(), (READ_ONLY, &path));
}

mod fuse {
    use super::{among_other_mounts, connect};
    use cotter::sqlite::Store;
    use cotter::{Client, ErrorKind};
    use std::path::PathBuf;

    /// Set in a process that has such a file system here.
    const REMOTE: &str = "COTTER_TEST_REMOTE";

    /// What FUSE mounts may be on any host. No program serves this one: whoever is not its user is told no more than what it
    /// is. Only root can mount it for somebody else.
    #[test]
    #[ignore = "needs root and /dev/fuse"]
    fn a_file_system_of_other_hosts_is_refused() {
        const TEST: &str = "sqlite::namespaces::fuse::a_file_system_of_other_hosts_is_refused";
        if let Some(directory) = std::env::var_os(REMOTE) {
            let path = PathBuf::from(directory).join("locks.db");
            let migrated = Client::builder().migrate_store(Store::at(&path)).wait();
            for error in [migrated.unwrap_err(), connect(&path).unwrap_err()] {
                assert!(
                    error.kind() == ErrorKind::Denied && error.to_string().contains("is on FUSE"),
                    "{error}"
                );
            }
            return;
        }
        let directory = tempfile::tempdir().unwrap();
        let mount = r#"exec 3<>/dev/fuse &&
            mount -i -t fuse -o fd=3,rootmode=40000,user_id=65534,group_id=65534 none "$1""#;
        among_other_mounts(mount, TEST, directory.path(), (REMOTE, directory.path()));
    }
}

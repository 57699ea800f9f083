//! Which directories are refused, and why.

use super::*;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use tempfile::TempDir;

fn open_at(path: &Path) -> Result<Directory> {
    Directory::open(&Where::At(path.to_owned()), None, filesystem::of)
}

fn refused(path: &Path, why: &str) {
    let error = open_at(path).unwrap_err();
    assert!(error.to_string().contains(why), "{error}");
    assert!(matches!(error.kind(), ErrorKind::Denied | ErrorKind::Config), "{error}");
    assert!(!error.is_retryable() && !error.to_string().contains('\n'));
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

fn place() -> (TempDir, PathBuf) {
    let place = tempfile::tempdir().unwrap();
    let directory = place.path().join("locks");
    (place, directory)
}

#[test]
fn a_new_one_is_private() {
    let (_keep, path) = place();
    open_at(&path).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o700);
    open_at(&path).unwrap();
}

#[test]
fn missing_parents_are_not_made() {
    let (_keep, path) = place();
    let error = open_at(&path.join("deeper")).unwrap_err();
    assert!(error.to_string().contains("locks"), "{error}");
    assert!(!path.exists());
}

#[test]
fn others_may_look_into_it_but_not_write() {
    let (_keep, path) = place();
    fs::create_dir(&path).unwrap();
    for mode in [0o777, 0o775, 0o720, 0o702, 0o2770] {
        set_mode(&path, mode);
        refused(&path, "chmod 700");
    }
    for mode in [0o755, 0o750, 0o701, 0o700] {
        set_mode(&path, mode);
        open_at(&path).unwrap();
    }
}

/// Nobody is told to close a directory of the system.
#[test]
fn a_directory_of_others_files_is_not_for_locks() {
    let (_keep, path) = place();
    fs::create_dir(&path).unwrap();
    for (file, text) in [("passwd", "root:x:0:0"), ("other.lock", "4711")] {
        fs::write(path.join(file), text).unwrap();
    }
    for (mode, example) in
        [(0o755, path.join("cotter")), (0o1777, path.join("cotter")), (0o775, "/var/lib".into())]
    {
        set_mode(&path, mode);
        refused(&path, &format!("of its own, such as {}", example.display()));
        assert!(!open_at(&path).unwrap_err().to_string().contains("chmod"));
    }
    // What is private is nobody else's business; and once there are locks in it, it is for locks.
    set_mode(&path, 0o700);
    open_at(&path).unwrap();
    fs::write(path.join("a.lock"), "cotter lock 1\nlast=1\nend\n").unwrap();
    set_mode(&path, 0o755);
    open_at(&path).unwrap();
    set_mode(&path, 0o777);
    refused(&path, "chmod 700");
}

#[test]
fn somebody_elses() {
    let (_keep, path) = place();
    fs::create_dir(&path).unwrap();
    set_mode(&path, 0o700);
    if geteuid().is_root() {
        std::os::unix::fs::chown(&path, Some(65534), None).unwrap();
        refused(&path, "belongs to user 65534");
    } else {
        refused(Path::new("/usr"), "belongs to user 0");
    }
}

#[test]
fn links() {
    let (keep, path) = place();
    let real = keep.path().join("real");
    fs::create_dir(&real).unwrap();
    set_mode(&real, 0o700);
    symlink(&real, &path).unwrap();
    refused(&path, "symbolic link");
    // A symbolic link of ours in the path is our own choice, one of another user is theirs.
    open_at(&path.join("below")).unwrap();
    if geteuid().is_root() {
        std::os::unix::fs::lchown(&path, Some(65534), None).unwrap();
        refused(&path.join("below"), "symbolic link of user 65534");
    }
}

#[test]
fn no_directory() {
    let (_keep, path) = place();
    fs::write(&path, "").unwrap();
    for below in [path.clone(), path.join("below")] {
        refused(&below, "is not a directory");
        assert_eq!(open_at(&below).unwrap_err().kind(), ErrorKind::Config);
    }
}

#[test]
fn a_parent_that_others_write_to() {
    let (_keep, path) = place();
    let locks = path.join("deeper/locks");
    fs::create_dir_all(locks.parent().unwrap()).unwrap();
    for above in [&path, locks.parent().unwrap()] {
        for mode in [0o777, 0o757] {
            set_mode(above, mode);
            refused(&locks, "cannot be a parent");
            assert!(!locks.exists());
        }
        set_mode(above, 0o755);
    }
    open_at(&locks).unwrap();
}

/// Below a temporary directory nobody renames what is not theirs.
#[test]
fn a_sticky_parent() {
    let (_keep, path) = place();
    fs::create_dir(&path).unwrap();
    set_mode(&path, 0o1777);
    open_at(&path.join("locks")).unwrap();
    open_at(&path.join("locks")).unwrap();
    open_at(&path.join("locks/below")).unwrap();
    if geteuid().is_root() {
        std::os::unix::fs::chown(path.join("locks"), Some(65534), None).unwrap();
        refused(&path.join("locks"), "belongs to user 65534");
    }
}

#[test]
fn a_parent_of_a_group() {
    let (_keep, path) = place();
    fs::create_dir(&path).unwrap();
    if !geteuid().is_root() {
        return;
    }
    std::os::unix::fs::chown(&path, None, Some(65534)).unwrap();
    set_mode(&path, 0o775);
    refused(&path.join("locks"), "group 65534 may rename");
    set_mode(&path, 0o1775);
    open_at(&path.join("locks")).unwrap();
}

#[test]
fn a_parent_of_another_user() {
    let (_keep, path) = place();
    fs::create_dir_all(path.join("deeper")).unwrap();
    if !geteuid().is_root() {
        return;
    }
    std::os::unix::fs::chown(&path, Some(65534), None).unwrap();
    refused(&path.join("locks"), "belongs to user 65534");
    refused(&path.join("deeper/locks"), "belongs to user 65534");
    // Also by way of a link.
    let (_other, beside) = place();
    symlink(path.join("deeper"), &beside).unwrap();
    refused(&beside.join("locks"), "belongs to user 65534");
}

#[test]
fn a_parent_that_never_was() {
    let (_keep, path) = place();
    let error = open_at(&path.join("deeper")).unwrap_err().to_string();
    assert!(error.contains("locks does not exist") && error.contains("make it first"), "{error}");
}

#[test]
fn other_hosts_may_share_it() {
    let (_keep, path) = place();
    for (probe, name) in [
        ((|_| Ok(FileSystem::numbered(0x6969))) as Probe, "NFS"),
        (|_| Ok(FileSystem::numbered(0xFF53_4D42)), "CIFS"),
        (|_| Ok(FileSystem::numbered(0x6573_5546)), "FUSE"),
        (|_| Ok(FileSystem::numbered(0x0102_1997)), "9p"),
    ] {
        let error = Directory::open(&Where::At(path.clone()), None, probe).unwrap_err();
        assert!(error.kind() == ErrorKind::Denied && error.to_string().contains(name), "{error}");
    }
    Directory::open(&Where::At(path), None, |_| Ok(FileSystem::numbered(0xEF53))).unwrap();
}

#[test]
fn paths_that_are_not_plain() {
    for path in ["locks", "", "/tmp/../etc/locks", "./locks"] {
        refused(Path::new(path), "is not an absolute path");
    }
}

#[test]
fn a_group_shares_it() {
    let (keep, path) = place();
    let group = Group::from_gid(nix::unistd::getegid()).unwrap().expect("our group has a name").name;
    set_mode(keep.path(), 0o1777);
    let place = Where::At(path.clone());
    Directory::open(&place, Some(&group), filesystem::of).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o2770);
    Directory::open(&place, Some(&group), filesystem::of).unwrap();
    set_mode(&path, 0o2777);
    let error = Directory::open(&place, Some(&group), filesystem::of).unwrap_err();
    assert!(error.to_string().contains("mode 2777"), "{error}");
    let error = Directory::open(&place, Some("no-such-group"), filesystem::of).unwrap_err();
    assert!(error.kind() == ErrorKind::Config && error.to_string().contains("no-such-group"), "{error}");
}

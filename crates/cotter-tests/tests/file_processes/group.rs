//! A directory that a group shares.

use crate::copy::{Copy, GROUP, waiters};
use cotter_testkit::timing::until;
use nix::unistd::Group;
use rustix::fd::OwnedFd;
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use std::ffi::CStr;
use std::fs::Permissions;
use std::mem::MaybeUninit;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

struct Scene {
    _place: TempDir,
    exe: PathBuf,
    directory: PathBuf,
    group: Group,
}

impl Scene {
    fn new() -> Self {
        let place = tempfile::tempdir().unwrap();
        std::fs::set_permissions(place.path(), Permissions::from_mode(0o1777)).unwrap();
        let exe = place.path().join("copy");
        let copied = Command::new("cp").arg(std::env::current_exe().unwrap()).arg(&exe).status().unwrap();
        assert!(copied.success());
        // As root, a group that root is not in.
        let known = Group::from_name("games").unwrap().filter(|_| is_root());
        let group = known.or_else(|| Group::from_gid(nix::unistd::getegid()).unwrap());
        let directory = place.path().join("locks");
        Self { exe, directory, group: group.expect("our group has a name"), _place: place }
    }

    /// A process of one user of the group. Without the right to be somebody else, all are of one user.
    fn member(&self, user: u32, umask: &str) -> Copy {
        let mut command = Command::new("sh");
        command.args(["-c", &format!(r#"umask {umask}; exec "$0" "$@""#)]).arg(&self.exe);
        command.current_dir("/").env(GROUP, &self.group.name);
        if is_root() {
            command.uid(user).gid(self.group.gid.as_raw());
        }
        Copy::spawn(command, &self.directory)
    }
}

fn is_root() -> bool {
    nix::unistd::geteuid().is_root()
}

/// What one of them makes at any moment can be used by the others at once, whatever their umask.
#[test]
fn two_users_contend() {
    for umask in ["077", "022"] {
        let scene = Scene::new();
        let mut members: Vec<Copy> =
            [60_001, 60_002, 60_001, 60_002].iter().map(|user| scene.member(*user, umask)).collect();
        members.iter_mut().for_each(|member| member.order("contend"));
        let answers: Vec<String> = members.iter_mut().map(Copy::answer).collect();
        let all_well = answers.iter().all(|answer| answer.starts_with("taken "));
        assert!(all_well, "violation[shut-out]: a member of the group, umask {umask}: {answers:?}");
        let left = std::fs::read_dir(&scene.directory).unwrap().map(|e| e.unwrap().file_name());
        let unfinished: Vec<_> = left.filter(|name| name.as_encoded_bytes()[0] == b'.').collect();
        assert!(unfinished.is_empty(), "{unfinished:?}");
    }
}

/// The directories that come into another one.
struct Arrivals(OwnedFd);

impl Arrivals {
    fn into(directory: &Path) -> Self {
        let watch = inotify::init(CreateFlags::NONBLOCK).unwrap();
        inotify::add_watch(&watch, directory, WatchFlags::CREATE | WatchFlags::MOVED_TO).unwrap();
        Self(watch)
    }

    /// The name of each, and whether it was moved there: otherwise it was made there.
    fn seen(&self) -> Vec<(String, bool)> {
        let (mut buffer, mut seen) = ([MaybeUninit::uninit(); 4096], Vec::new());
        let mut events = Reader::new(&self.0, &mut buffer);
        while let Ok(event) = events.next() {
            let is_moved = event.events().contains(ReadFlags::MOVED_TO);
            let name = event.file_name().map(CStr::to_string_lossy).filter(|name| !name.starts_with('.'));
            if let Some(name) = name.filter(|_| event.events().contains(ReadFlags::ISDIR)) {
                seen.push((name.into_owned(), is_moved));
            }
        }
        seen
    }
}

/// A directory has its rights before anybody can meet it: whoever comes in between would be kept out.
#[test]
fn a_directory_is_finished_when_it_appears() {
    let scene = Scene::new();
    let above = Arrivals::into(scene.directory.parent().unwrap());
    let [mut one, mut other] = [60_001, 60_002].map(|user| scene.member(user, "077"));
    one.take("lock");
    let inside = Arrivals::into(&scene.directory);
    other.order("lock");
    until("it queues", || waiters(&scene.directory) == 1);
    let seen = [above.seen(), inside.seen()].concat();
    let all_moved = seen.iter().all(|(_, is_moved)| *is_moved);
    assert!(all_moved, "violation[shut-out]: made where others can see it: {seen:?}");
    for name in ["locks", "a.queue"] {
        assert!(seen.iter().any(|(seen, _)| seen == name), "the test would see nothing: {seen:?}");
    }
}

/// Who prunes deletes the files of the other members as well.
#[test]
fn users_prune_for_each_other() {
    let scene = Scene::new();
    let [mut one, mut other] = [60_001, 60_002].map(|user| scene.member(user, "077"));
    one.take("lock");
    assert_eq!(other.ask("prune"), "");
    assert_eq!(one.ask("release"), "Some(Ok(Yes))");
    assert_eq!(other.ask("prune"), "a deleted");
    assert_eq!(std::fs::read_dir(&scene.directory).unwrap().count(), 0);
    one.take("lock");
}

/// One waits for the other, and is woken by it.
#[test]
fn users_wait_for_each_other() {
    let scene = Scene::new();
    let [mut one, mut other] = [60_001, 60_002].map(|user| scene.member(user, "077"));
    let mut last = one.take("lock");
    for _ in 0..20 {
        other.order("lock");
        std::thread::sleep(std::time::Duration::from_millis(20));
        assert_eq!(one.ask("release"), "Some(Ok(Yes))");
        let token = other.token();
        assert!(token > last);
        last = token;
        std::mem::swap(&mut one, &mut other);
    }
}

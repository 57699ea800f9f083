//! Those who have opened a lock file that is pruned before they lock it.

use super::super::acquire::Try;
use super::super::directory::{Directory, Where};
use super::super::held::HeldAs;
use super::super::semaphore::PermitTry;
use super::*;
use crate::backend::{Backend, Claim, Mode, Until};
use crate::engine::Engine;

struct Scene {
    files: Files,
    paths: LockPaths,
    _place: tempfile::TempDir,
}

impl Scene {
    fn new() -> Self {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("locks");
        let directory = Directory::open(&Where::At(path), None, crate::sys::filesystem::of).unwrap();
        let files = Files::new(directory, Engine::process().unwrap().clock().clone());
        Self { paths: files.paths(&Name::new("a").unwrap()), files, _place: place }
    }

    fn claim(mode: Mode) -> Claim {
        Claim { label: "test".into(), ..Claim::new(Name::new("a").unwrap(), mode, Duration::from_secs(10)) }
    }

    /// Takes the name; answers the claim.
    async fn take(&self, mode: Mode) -> Claim {
        let claim = Self::claim(mode);
        self.files.acquire(&claim, Until::Now).await.unwrap().granted().expect("free");
        claim
    }

    async fn used(&self, mode: Mode) {
        let claim = self.take(mode).await;
        self.files.release(&claim, Default::default()).await.unwrap();
    }

    fn opened(&self) -> LockFile {
        LockFile::open(&self.paths.lock, &self.files.directory.access).unwrap()
    }

    async fn prune(&self) -> usize {
        self.files.prune_page(&PruneOrder::unused_for(Duration::ZERO), None).await.unwrap().names.len()
    }
}

const PERMITS: Mode = Mode::Permits { take: 1, of: 2 };

/// Whatever the name was used for: what is beside it belongs to those who have it now.
#[tokio::test]
async fn one_who_comes_too_late_leaves_the_next_users_alone() {
    for was in [Mode::Exclusive, Mode::Shared, PERMITS] {
        for now in [Mode::Shared, PERMITS] {
            for wanted in [Mode::Exclusive, Mode::Shared] {
                let scene = Scene::new();
                scene.used(was).await;
                let late = scene.opened();
                assert_eq!(scene.prune().await, 1);
                let user = scene.take(now).await;
                let beside = || {
                    let directories = [&scene.paths.readers.directory, &scene.paths.permits.directory];
                    directories.map(|path| std::fs::read_dir(path).map_or(0, Iterator::count))
                };
                let before = beside();
                assert!(late.attempt(LockKind::of(&Scene::claim(wanted))).unwrap(), "nobody else has it");
                let claim = Scene::claim(wanted);
                let tried =
                    scene.files.grant_locked(&claim, &scene.paths, false, late, scene.files.clock.now());
                assert!(matches!(tried, Ok(Try::Again)), "{was:?} {now:?} {wanted:?}");
                assert_eq!(beside(), before, "{was:?} {now:?} {wanted:?}");
                assert!(scene.files.holds.is_good(user.id));
            }
        }
    }
}

/// The same for permits, which it would count, and take, under a limit of its own.
#[tokio::test]
async fn one_who_counts_too_late_begins_anew() {
    let scene = Scene::new();
    scene.used(Mode::Exclusive).await;
    let late = scene.opened();
    assert_eq!(scene.prune().await, 1);
    assert!(late.attempt(LockKind::Exclusive).unwrap(), "nobody else has it");
    let claim = Scene::claim(PERMITS);
    let tried = scene.files.behind_gate(&claim, &scene.paths, None, &late, scene.files.clock.now());
    assert!(matches!(tried, Ok(PermitTry::Again)));
    assert!(!scene.paths.permits.directory.exists(), "violation[permits-over-limit]: permits beside no gate");
}

/// A writer that is becoming a reader may be without the kernel's lock.
#[tokio::test]
async fn a_writer_that_becomes_a_reader_stays() {
    let scene = Scene::new();
    let claim = scene.take(Mode::Exclusive).await;
    scene.files.holds.with_mut(claim.id, |held| {
        let closed = count_gate::close(held.file.fd(), &held.paths).unwrap().expect("open");
        held.access = HeldAs::Between(closed);
        super::super::lock::unlock(held.file.fd());
    });
    assert_eq!(scene.prune().await, 0);
    assert!(scene.files.holds.is_good(claim.id));
}

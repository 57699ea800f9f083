//! Pruning while others use the names.

use crate::copy::{Copy, place};
use cotter::{Client, FencingToken, Guard, PruneOrder, PruneOutcome, Pruned, file};
use cotter_testkit::timing::{FAR, until};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long the copies use their names at least.
const WORK: Duration = Duration::from_secs(3);
/// With fewer names that were pruned meanwhile, the test would see nothing.
const PRUNED: usize = 20;
/// How long they hold each.
const HOLD: Duration = Duration::from_micros(200);
const LIMIT: u32 = 2;

/// What those who hold a name leave beside the locks to be seen by the others.
struct Witness(PathBuf);

impl Witness {
    fn of(name: &str, beside: &Path) -> Self {
        Self(beside.join(name))
    }

    fn present(&self) -> usize {
        fs::read_dir(&self.0).unwrap().count()
    }

    /// Works for a moment as one of at most so many, with a token above all before. Answers what was wrong.
    fn work(&self, guard: &Guard, most: usize, ordered: bool) -> Result<(), String> {
        let ours = self.0.join(std::process::id().to_string());
        File::create_new(&ours).map_err(|e| format!("a second hold of one process: {e}"))?;
        let (before, token) = (self.present(), guard.token());
        let last = self.0.with_extension("token");
        if ordered {
            let last: FencingToken = fs::read_to_string(&last).map_or(0.into(), |text| text.parse().unwrap());
            if last >= token {
                return Err(format!("token {token} after {last}"));
            }
        }
        std::thread::sleep(HOLD);
        let present = self.present().max(before);
        if ordered {
            fs::write(&last, token.to_string()).unwrap();
        }
        fs::remove_file(&ours).unwrap();
        match present > most || !guard.is_valid() {
            true => Err(format!("{present} at a time, valid: {}", guard.is_valid())),
            false => Ok(()),
        }
    }
}

/// Beside the directory, once the copies have used their names for long enough.
fn enough(directory: &Path) -> PathBuf {
    directory.with_file_name("enough")
}

/// Takes names that others take too, until it is enough, in every mode. Answers how often, or what went wrong.
pub(crate) fn use_names(client: &Client, directory: &Path) -> String {
    let beside = directory.with_file_name("witness");
    let (mutex, rwlock) = (client.mutex("m"), client.rwlock("r"));
    let (semaphore, [m, w, p]) =
        (client.semaphore("s", LIMIT), ["m", "w", "p"].map(|name| Witness::of(name, &beside)));
    let (enough, mut rounds) = (enough(directory), 0);
    while !enough.exists() {
        let got = match rounds % 5 {
            0 => mutex.lock().wait().map(|guard| (guard, &m, 1, true)),
            1 => rwlock.write().wait().map(|guard| (guard.into(), &w, 1, true)),
            2 => semaphore.acquire().wait().map(|permit| (permit.into(), &p, LIMIT as usize, false)),
            3 => mutex.lock().wait().map(|guard| (guard, &m, 1, true)),
            _ => match rwlock.read().wait() {
                // Readers share it with each other, and with no writer.
                Ok(reader) if w.present() == 0 => {
                    drop(reader.release().wait());
                    rounds += 1;
                    continue;
                }
                Ok(_) => return "a writer beside a reader".into(),
                Err(e) => Err(e),
            },
        };
        let (guard, witness, most, ordered) = match got {
            Ok(got) => got,
            Err(e) => return format!("{:?} {e}", e.kind()),
        };
        if let Err(wrong) = witness.work(&guard, most, ordered) {
            return wrong;
        }
        match guard.release().wait() {
            Ok(cotter::Released::Yes) => {}
            other => return format!("released: {other:?}"),
        }
        rounds += 1;
    }
    format!("worked {rounds}")
}

/// What became of all names that are free.
pub(crate) fn prune(client: &Client) -> String {
    let pruned = client.admin().prune(PruneOrder::unused_for(Duration::ZERO)).collect().wait();
    let outcome = |pruned: &Pruned| format!("{} {}", pruned.name, pruned.outcome);
    match pruned {
        Ok(pruned) => pruned.iter().map(outcome).collect::<Vec<_>>().join(", "),
        Err(e) => format!("{:?} {e}", e.kind()),
    }
}

#[test]
fn names_in_use_are_pruned_without_harm() {
    let (keep, directory) = place();
    for name in ["m", "w", "p"] {
        fs::create_dir_all(keep.path().join("witness").join(name)).unwrap();
    }
    let client = Client::builder().connect_to(file::Store::at(&directory)).wait().unwrap();
    let mut copies: Vec<Copy> = (0..4).map(|_| Copy::start(&directory)).collect();
    copies.iter_mut().for_each(|copy| copy.order("use names"));
    let (start, mut deleted) = (Instant::now(), 0);
    while start.elapsed() < WORK || (deleted <= PRUNED && start.elapsed() < FAR) {
        let pruned = client.admin().prune(PruneOrder::unused_for(Duration::ZERO)).collect().wait().unwrap();
        assert!(pruned.iter().all(|pruned| pruned.outcome == PruneOutcome::Deleted), "{pruned:?}");
        deleted += pruned.len();
    }
    File::create_new(enough(&directory)).unwrap();
    let answers: Vec<String> = copies.iter_mut().map(Copy::answer).collect();
    let all_well = answers.iter().all(|answer| answer.starts_with("worked "));
    assert!(all_well, "violation[overlap]: a name was pruned while it was in use: {answers:?}");
    assert!(deleted > PRUNED, "the test would see nothing: {answers:?}, {deleted} times pruned");
}

/// A waiter that is stopped, or has come only now, keeps its place.
#[test]
fn names_that_are_waited_for_stay() {
    let (_keep, directory) = place();
    let client = Client::builder().connect_to(file::Store::at(&directory)).wait().unwrap();
    let prune = || client.admin().prune(PruneOrder::unused_for(Duration::ZERO)).collect().wait().unwrap();
    let mut holder = Copy::start(&directory);
    let first = holder.take("lock");
    assert_eq!(prune(), [], "violation[overlap]: a name was pruned while it was held");
    let mut waiter = Copy::start(&directory);
    waiter.order("lock");
    until("it queues", || crate::copy::waiters(&directory) == 1);
    assert_eq!(prune(), []);
    waiter.signal("STOP");
    until("it stops", || waiter.is_stopped());
    drop(holder);
    until("the lock is free", || client.holder("a").wait().unwrap().is_none());
    assert_eq!(prune(), []);
    waiter.signal("CONT");
    assert!(waiter.token() > first);
    assert_eq!(prune(), []);
    waiter.ask("release");
    assert_eq!(prune().len(), 1);
    assert_eq!(fs::read_dir(&directory).unwrap().count(), 0);
}

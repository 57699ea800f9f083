//! Copies of this test binary: told what to do line by line, they answer each order with a line.

use cotter::{Client, Guard, file};
use cotter_testkit::timing::{Stopwatch, until};
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Names the directory to the copy of this binary.
const DIRECTORY: &str = "COTTER_TEST_DIRECTORY";
/// Names the group that shares it.
pub(crate) const GROUP: &str = "COTTER_TEST_GROUP";
/// Before every answer, so that the test harness may print too.
const ANSWER: &str = "@";

/// Long enough for the slowest machine, short beside for ever.
const SOON: Duration = Duration::from_secs(20);

/// What a copy does: nothing in a run of the tests, orders in a run that a test started.
#[test]
fn copy() {
    let Ok(directory) = std::env::var(DIRECTORY) else { return };
    let store = file::Store::at(&directory);
    let store = std::env::var(GROUP).map_or(store.clone(), |group| store.shared(group));
    let client = Client::builder().connect_to(store).wait();
    let mut held: Option<Guard> = None;
    let mut files = Vec::new();
    for order in std::io::stdin().lines() {
        let order = order.unwrap();
        let answer = match &client {
            Ok(_) if order.starts_with("take all descriptors") => hoard(&order, &mut files),
            Ok(_) if order == "give them back" => format!("{}", files.drain(..).count()),
            Ok(client) => obey(&order, client, &mut held),
            Err(e) => format!("{:?} {e}", e.kind()),
        };
        say(&answer);
    }
}

/// All but the last so many.
fn hoard(order: &str, files: &mut Vec<File>) -> String {
    while let Ok(file) = File::open("/dev/null") {
        files.push(file);
    }
    let spare = order.rsplit(' ').next().and_then(|n| n.parse().ok()).unwrap_or(0);
    files.truncate(files.len() - spare);
    files.len().to_string()
}

fn obey(order: &str, client: &Client, held: &mut Option<Guard>) -> String {
    let lock = client.rwlock("a");
    let got = match order {
        "lock" => client.mutex("a").lock().wait().map(Some),
        "lock soon" => client.mutex("a").try_lock_for(SOON).wait(),
        "try" => client.mutex("a").try_lock().wait(),
        "try b" => client.mutex("b").try_lock().wait(),
        "read" => lock.read().wait().map(|guard| Some(guard.into())),
        "write" => lock.write().wait().map(|guard| Some(guard.into())),
        "try read" => lock.try_read().wait().map(|guard| guard.map(Into::into)),
        "try write" => lock.try_write().wait().map(|guard| guard.map(Into::into)),
        order if order.contains(" permits ") => permits(client, order),
        "saturate with reads" => saturate(|| lock.read().wait().unwrap().into()),
        "saturate with writes" => saturate(|| lock.write().wait().unwrap().into()),
        "contend" => return contend(client),
        "write a note" => return format!("{:?}", client.swap_note("noted", "", 0, "b").wait()),
        "prune" => return crate::prune::prune(client),
        "use names" => return crate::prune::use_names(client, Path::new(&std::env::var(DIRECTORY).unwrap())),
        "valid" => return held.as_ref().is_some_and(Guard::is_valid).to_string(),
        "release" => return format!("{:?}", held.take().map(|g| g.release().wait())),
        other => return format!("no such order: {other}"),
    };
    match got {
        Ok(Some(guard)) => held.insert(guard).token().to_string(),
        Ok(None) => "busy".into(),
        Err(e) => format!("{:?} {e}", e.kind()),
    }
}

/// `take 2 permits of 3`, or `try 2 permits of 3`.
fn permits(client: &Client, order: &str) -> cotter::Result<Option<Guard>> {
    let words: Vec<&str> = order.split(' ').collect();
    let (take, of) = (words[1].parse().unwrap(), words[4].parse().unwrap());
    let semaphore = client.semaphore("a", of).take(take);
    match words[0] {
        "try" => semaphore.try_acquire().wait().map(|permit| permit.map(Into::into)),
        _ => semaphore.acquire().wait().map(|permit| Some(permit.into())),
    }
}

fn say(answer: &str) {
    let mut out = std::io::stdout();
    writeln!(out, "{ANSWER}{answer}").unwrap();
}

/// How long the copies contend.
const CONTEND: Duration = Duration::from_secs(4);

/// Takes locks that others take too, for a while; some of them for the first time. Answers how often, or the first error.
fn contend(client: &Client) -> String {
    let start = Instant::now();
    let mut taken = 0;
    while start.elapsed() < CONTEND {
        // All that contend come to the next name at the same time.
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        let name = format!("{}", now.as_millis() / 40);
        let got = match taken % 3 {
            0 => client.mutex(&name).try_lock().wait(),
            1 => client.rwlock(&name).read().wait().map(|guard| Some(guard.into())),
            _ => client.mutex(&name).lock().wait().map(Some),
        };
        match got {
            Ok(Some(guard)) => drop(guard.release().wait()),
            Ok(None) => {}
            Err(e) => return format!("{:?} {e}", e.kind()),
        }
        taken += 1;
    }
    format!("taken {taken}")
}

/// Takes it again and again until it is killed.
fn saturate(take: impl Fn() -> Guard) -> ! {
    say("on");
    loop {
        let guard = take();
        std::thread::sleep(Duration::from_millis(2));
        drop(guard);
    }
}

/// A copy; killed when it is dropped.
pub(crate) struct Copy {
    pub(crate) child: Child,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Copy {
    pub(crate) fn start(directory: &Path) -> Self {
        Self::spawn(Command::new(std::env::current_exe().unwrap()), directory)
    }

    pub(crate) fn spawn(mut command: Command, directory: &Path) -> Self {
        command.args(["--exact", "copy::copy", "--nocapture"]).env(DIRECTORY, directory);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (orders, answers) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, orders, answers }
    }

    pub(crate) fn order(&mut self, what: &str) {
        writeln!(self.orders, "{what}").unwrap();
    }

    pub(crate) fn answer(&mut self) -> String {
        loop {
            let mut line = String::new();
            assert!(self.answers.read_line(&mut line).unwrap() > 0, "the copy ended");
            if let Some((_, answer)) = line.trim_end().split_once(ANSWER) {
                return answer.to_owned();
            }
        }
    }

    pub(crate) fn ask(&mut self, what: &str) -> String {
        self.order(what);
        self.answer()
    }

    pub(crate) fn token(&mut self) -> u64 {
        let answer = self.answer();
        answer.parse().unwrap_or_else(|_| panic!("a token, not {answer}"))
    }

    /// Asks for the lock and gets it.
    pub(crate) fn take(&mut self, how: &str) -> u64 {
        self.order(how);
        self.token()
    }

    pub(crate) fn signal(&self, name: &str) {
        let done = Command::new("kill").args(["-s", name, &self.child.id().to_string()]).status().unwrap();
        assert!(done.success());
    }

    /// Whether all of its threads stand still: one that still runs may take the lock.
    pub(crate) fn is_stopped(&self) -> bool {
        let threads = std::fs::read_dir(format!("/proc/{}/task", self.child.id())).unwrap();
        threads.flatten().all(|thread| {
            let stat = std::fs::read_to_string(thread.path().join("stat"));
            stat.is_ok_and(|stat| stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('T')))
        })
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn place() -> (TempDir, PathBuf) {
    let place = tempfile::tempdir().unwrap();
    let directory = place.path().join("locks");
    (place, directory)
}

pub(crate) fn waiters(directory: &Path) -> usize {
    let tickets = std::fs::read_dir(directory.join("a.queue")).into_iter().flatten();
    tickets.filter(|t| !t.as_ref().unwrap().file_name().to_string_lossy().starts_with('.')).count()
}

/// Checks that a copy that waits gets the lock at once when the last of two holders ends, in twenty rounds. `leave` lets a
/// holder go before it waits for long, if there is one to go; `end` ends the last.
pub(crate) fn demand_wake_ups(
    held: &str,
    wanted: &str,
    leave: impl Fn(&mut Copy),
    end: impl Fn(u64, &mut Copy, &mut Copy),
) {
    let (_keep, directory) = place();
    let (watch, mut waits) = (Stopwatch::start(), Vec::new());
    let mut last = 0;
    for round in 0..20 {
        let (mut one, mut other, mut next) =
            (Copy::start(&directory), Copy::start(&directory), Copy::start(&directory));
        one.take(held);
        other.take(held);
        next.order(wanted);
        until("it queues", || waiters(&directory) == 1);
        leave(&mut other);
        // Until it sleeps, at another point of the time between two looks in every round.
        std::thread::sleep(Duration::from_millis(80 + 40 * round));
        let start = Instant::now();
        end(round, &mut one, &mut other);
        let token = next.token();
        waits.push(start.elapsed());
        assert!(token > last);
        last = token;
    }
    waits.sort_unstable();
    watch.took_at_most(waits[17], Duration::from_millis(30), format!("most are woken: {waits:?}"));
    watch.took_at_most(waits[19], Duration::from_secs(2), format!("all are served: {waits:?}"));
}

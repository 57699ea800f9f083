//! A process of its own that waits for a lock, and is killed, stopped or cut off.
//!
//! It is the test program once more, with a test that does nothing else: [`wait`].

use crate::history::Kind;
use crate::servers::Proxy;
use crate::timing::{FAR, Stopwatch, until};
use cotter::conformance::Fate;
use cotter::{Client, Name};
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::thread;
use std::time::Duration;

/// Set in that process: the URL, a line feed, and the name of the lock.
const ORDERS: &str = "COTTER_TEST_WAITS_FOR";
/// After this time without the lock it has a place in any queue.
const IN_LINE_AFTER: Duration = Duration::from_millis(400);
/// The last words of the lines that it writes.
const WORDS: [&str; 2] = ["it waits", "it holds"];

/// A process that waits for a lock, and then holds it.
#[derive(Debug)]
pub struct Waiter {
    child: Child,
    /// How many of the words it has written.
    said: Arc<AtomicU8>,
    proxy: Option<Arc<Proxy>>,
    costs: Costs,
}

/// How long a waiter may hold up the one behind it.
#[derive(Debug, Clone, Copy)]
pub struct Costs {
    /// One that was killed.
    pub killed: Duration,
    /// One that was stopped or cut off.
    pub silent: Duration,
}

impl Waiter {
    /// Starts one that waits for this name, and returns when it does. `test` is the full name of the test that calls [`wait`]. If it
    /// can be cut off, the URL is that of the proxy.
    ///
    /// # Panics
    /// If it does not wait.
    pub fn start(test: &str, url: &str, name: &Name, proxy: Option<Arc<Proxy>>, costs: Costs) -> Self {
        let mut command = Command::new(std::env::current_exe().expect("this program has a path"));
        command.args(["--exact", "--include-ignored", "--nocapture", test]);
        command.env(ORDERS, format!("{url}\n{name}")).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("this program can be started again");
        let said = Arc::new(AtomicU8::new(0));
        let (out, saying) = (child.stdout.take().expect("a pipe"), said.clone());
        thread::spawn(move || {
            for line in BufReader::new(out).lines().map_while(Result::ok) {
                if WORDS.iter().any(|word| line.ends_with(word)) {
                    saying.fetch_add(1, Ordering::AcqRel);
                }
            }
        });
        let waiter = Self { child, said, proxy, costs };
        until("it waits", || waiter.said.load(Ordering::Acquire) > 0);
        waiter
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("it is there");
    }

    /// A signal is on its way for a moment, in which the waiter may be served: to each of its threads, one of which may wait in
    /// a queue of the kernel.
    fn stands_still(&self) -> bool {
        let threads = std::fs::read_dir(format!("/proc/{}/task", self.child.id())).expect("it is there");
        let is_stopped = |thread: std::io::Result<std::fs::DirEntry>| {
            let stat = std::fs::read_to_string(thread.expect("a folder").path().join("stat"));
            // A thread that has ended meanwhile waits for nothing.
            stat.map_or(true, |stat| stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('T')))
        };
        { threads }.all(is_stopped)
    }
}

impl cotter::conformance::Waiter for Waiter {
    fn suffer(&mut self, fate: Fate) -> bool {
        match (fate, &self.proxy) {
            (Fate::Killed, _) => {
                self.child.kill().expect("it is there");
                self.child.wait().expect("it has ended");
                // The kernel would tell the server at once; the proxy does when it gets to it.
                until("the server is told", || {
                    self.proxy.as_ref().is_none_or(|proxy| proxy.connections() == 0)
                });
            }
            (Fate::Stopped, _) => {
                self.signal(Signal::STOP);
                until("it stands still", || self.stands_still());
            }
            (Fate::CutOff, Some(proxy)) => proxy.freeze(true),
            (Fate::CutOff, None) => return false,
        }
        true
    }

    fn recover(&mut self) {
        self.signal(Signal::CONT);
        self.proxy.iter().for_each(|proxy| proxy.freeze(false));
    }

    fn holds(&self) -> bool {
        self.said.load(Ordering::Acquire) > 1
    }

    fn free(&self, fate: Fate) -> Box<dyn FnOnce()> {
        let watch = Stopwatch::of(Kind::SlowHandOver);
        let limit = if fate == Fate::Killed { self.costs.killed } else { self.costs.silent };
        Box::new(move || {
            let mut out = std::io::stderr().lock();
            let _ = writeln!(out, "a waiter that was {fate} costs {:?}", watch.elapsed());
            watch.at_most(limit, format!("the waiter behind one that was {fate} is served"));
        })
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The body of the test that is such a process. Does nothing in others.
///
/// # Panics
/// If the store cannot be used.
pub fn wait() {
    let Ok(orders) = std::env::var(ORDERS) else { return };
    let (url, name) = orders.split_once('\n').expect("a URL and a name");
    let client = Client::connect(url).wait().expect("the store can be reached");
    let mutex = client.mutex(name);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let _held = runtime.block_on(async {
        let mut locking = std::pin::pin!(async move { mutex.lock().await });
        let early = tokio::time::timeout(IN_LINE_AFTER, &mut locking).await;
        assert!(early.is_err(), "the lock is held: {early:?}");
        say(WORDS[0]);
        locking.await.expect("its turn comes")
    });
    say(WORDS[1]);
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
    let _ = client.close(FAR).wait();
}

fn say(words: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "\n{words}").and_then(|()| out.flush()).expect("somebody listens");
}

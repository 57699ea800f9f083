//! Another lock client in a process of its own, spoken to line by line: `KIND HOW PATH` is answered with `held`, `busy` or
//! `free`.

use cotter::backend::{Backend, Claim, Leave, Mode, Until};
use cotter_testkit::bare::claim;
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::timing::FAR;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

const TTL: Duration = Duration::from_secs(20);
const WHILE: Duration = Duration::from_millis(150);

pub(crate) struct Peer {
    child: Child,
    answers: Receiver<String>,
}

impl Peer {
    pub(crate) fn start(command: &mut Command) -> Self {
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it is installed");
        let (tell, answers) = channel();
        let out = BufReader::new(child.stdout.take().expect("piped"));
        std::thread::spawn(move || out.lines().map_while(Result::ok).try_for_each(|line| tell.send(line)));
        Self { child, answers }
    }

    /// Orders something whose answer is asked for later.
    pub(crate) fn order(&mut self, kind: &str, how: &str, path: &str) {
        let input = self.child.stdin.as_mut().expect("piped");
        writeln!(input, "{kind} {how} {path}").expect("it listens");
    }

    pub(crate) fn answer(&self) -> String {
        self.answers.recv_timeout(FAR).expect("it answers")
    }

    pub(crate) fn ask(&mut self, kind: &str, how: &str, path: &str) -> String {
        self.order(kind, how, path);
        self.answer()
    }

    pub(crate) fn is_silent(&self) -> bool {
        self.answers.recv_timeout(WHILE) == Err(RecvTimeoutError::Timeout)
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) async fn take(ours: &Arc<dyn Backend>, claim: &Claim) -> bool {
    ours.acquire(claim, Until::Now).await.unwrap().granted().is_some()
}

/// A claim of this mode and a lock of that kind are not held at once, and each wakes the other. `path` is what the other
/// client calls the name.
pub(crate) async fn exclude_each_other(
    ours: &Arc<dyn Backend>,
    theirs: &mut Peer,
    mode: Mode,
    kind: &str,
    (name, path): (&str, &str),
) {
    let of_mode = || {
        let mut claim = claim(name, TTL);
        claim.mode = mode;
        claim
    };
    let (first, second) = (of_mode(), of_mode());
    assert!(take(ours, &first).await);
    let busy = theirs.ask(kind, "try", path);
    demand(busy == "busy", Kind::Overlap, format!("{kind} is {busy} while we hold as {mode:?}"));
    theirs.order(kind, "wait", path);
    assert!(theirs.is_silent());
    ours.release(&first, Leave::used(1)).await.unwrap();
    assert_eq!(theirs.answer(), "held", "our release wakes {kind}");

    demand(!take(ours, &of_mode()).await, Kind::Overlap, format!("{kind} is held, and we hold as {mode:?}"));
    let waiting = tokio::spawn({
        let (ours, second) = (ours.clone(), second.clone());
        async move { ours.acquire(&second, Until::Forever).await.unwrap().granted().is_some() }
    });
    tokio::time::sleep(WHILE).await;
    assert!(!waiting.is_finished());
    assert_eq!(theirs.ask(kind, "release", path), "free");
    assert!(tokio::time::timeout(FAR, waiting).await.expect("their release wakes us").unwrap());
    ours.release(&second, Leave::used(1)).await.unwrap();
}

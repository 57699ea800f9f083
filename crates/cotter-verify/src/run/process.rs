//! One process, and the lines between it and this one.

use super::program::{Program, failed};
use super::slot::Slot;
use crate::client::Answer;
use cotter_console::{Exit, Failure, clean};
use rustix::process::Signal;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::rc::Rc;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout};
use tokio::time::timeout;

/// How long a process may take to end in order.
const FAREWELL: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    requests: Option<ChildStdin>,
    answers: Lines<BufReader<ChildStdout>>,
    slot: Rc<Slot>,
}

impl Process {
    pub(super) fn start(program: &Program, slot: Rc<Slot>) -> Result<Self, Failure> {
        let mut child = program.command(slot.number).spawn().map_err(|e| failed(&e))?;
        let (requests, Some(answers)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(Failure::new(Exit::CannotExecute, "cannot communicate with a process"));
        };
        slot.start(child.id());
        Ok(Self { child, requests, answers: BufReader::new(answers).lines(), slot })
    }

    /// A process that has ended says nothing more: that is found when it answers.
    pub(super) async fn ask(&mut self, request: &str) {
        if let Some(requests) = &mut self.requests {
            let _ = requests.write_all(request.as_bytes()).await;
            let _ = requests.flush().await;
        }
    }

    /// Its next line; `None` if there are no more. Can be called again if the future is dropped.
    pub(super) async fn answer(&mut self) -> Result<Option<Answer>, Failure> {
        let line = match self.answers.next_line().await {
            Ok(Some(line)) => line,
            Ok(None) => return Ok(None),
            Err(error) => return Err(broken(self.slot.number, &error.to_string())),
        };
        let refused = |why: String| broken(self.slot.number, &format!("it says {:?}: {why}", clean(&line)));
        Answer::read(&line).map(Some).map_err(refused)
    }

    /// Waits for the end of a process that said its last word. Whether it was killed.
    pub(super) async fn ended(mut self) -> Option<ExitStatus> {
        drop(self.requests.take());
        let status = timeout(FAREWELL, self.child.wait()).await;
        status.ok().and_then(Result::ok)
    }
}

/// Whatever it has started ends with it.
impl Drop for Process {
    fn drop(&mut self) {
        self.slot.signal(Signal::KILL);
        self.slot.end();
    }
}

pub(super) fn was_killed(status: Option<ExitStatus>) -> bool {
    status.is_some_and(|status| status.signal() == Some(Signal::KILL.as_raw()))
}

/// A process that does not keep to the protocol.
pub(super) fn broken(number: u32, why: &str) -> Failure {
    Failure::new(Exit::Protocol, format!("process {number} broke the protocol: {why}"))
}

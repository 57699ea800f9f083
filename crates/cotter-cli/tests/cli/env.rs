//! A store, a home and a `cotter` of their own for each test.

use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use std::ffi::{OsStr, OsString};
use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Longer than anything takes that works; what is awaited usually comes in milliseconds.
const TIMEOUT: Duration = Duration::from_secs(30);

/// A directory with a store and a home in it. The home decides where the configuration is looked for.
pub(crate) struct TestEnv {
    dir: TempDir,
    /// Instead of the directory.
    pub(crate) store: Option<String>,
}

/// What a finished `cotter` left.
#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Output {
    /// Fails unless it ended so, with all that was printed.
    #[track_caller]
    pub(crate) fn code(self, expected: i32) -> Self {
        assert_eq!(self.code, expected, "{self:?}");
        self
    }

    /// Fails unless there is exactly one line on standard error and it says all of this.
    #[track_caller]
    pub(crate) fn one_line(self, says: &[&str]) -> Self {
        assert_eq!(self.stderr.lines().count(), 1, "{self:?}");
        assert!(self.stderr.starts_with("cotter: "), "{self:?}");
        for text in says {
            assert!(self.stderr.contains(text), "no {text:?} in {self:?}");
        }
        self
    }

    /// Fails unless standard error is empty.
    #[track_caller]
    pub(crate) fn silent(self) -> Self {
        assert_eq!(self.stderr, "", "{self:?}");
        self
    }

    /// Standard output as JSON, one value for each line.
    #[track_caller]
    pub(crate) fn json(&self) -> Vec<serde_json::Value> {
        let parse = |line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {self:?}"));
        self.stdout.lines().map(parse).collect()
    }
}

impl TestEnv {
    pub(crate) fn new() -> Self {
        let dir = TempDir::with_prefix("cotter-cli-").unwrap();
        fs::create_dir(dir.path().join("locks")).unwrap();
        fs::set_permissions(dir.path().join("locks"), Permissions::from_mode(0o700)).unwrap();
        fs::create_dir_all(dir.path().join("home/.config/cotter")).unwrap();
        Self { dir, store: None }
    }

    /// The same with another store.
    pub(crate) fn on(store: String) -> Self {
        Self { store: Some(store), ..Self::new() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn url(&self) -> String {
        self.store.clone().unwrap_or_else(|| format!("file://{}", self.path("locks").display()))
    }

    /// Writes the configuration of this home.
    pub(crate) fn config(&self, text: &str) -> PathBuf {
        let path = self.path("home/.config/cotter/config.toml");
        fs::write(&path, text).unwrap();
        path
    }

    /// A `cotter` on this store, with nothing else in its environment that could matter.
    pub(crate) fn cotter<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Command {
        let mut args: Vec<_> = args.into_iter().map(|arg| arg.as_ref().to_owned()).collect();
        // A password in `--url` is refused: the URL of a user of docs/stores/redis.md goes where it belongs.
        let secret =
            |pair: &[OsString]| pair[0] == "--url" && pair[1].to_string_lossy().contains(":password@");
        let secret = args.windows(2).position(secret);
        let url = secret.and_then(|at| args.drain(at..at + 2).nth(1)).unwrap_or_else(|| self.url().into());
        let mut command = self.anywhere(Path::new(env!("CARGO_BIN_EXE_cotter")));
        command.args(args).env("COTTER_URL", url);
        command
    }

    /// Another program in the same environment, without a store.
    pub(crate) fn anywhere(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.env_clear().env("HOME", self.path("home")).env("LC_ALL", "C");
        command.env("PATH", std::env::var_os("PATH").unwrap()).stdin(Stdio::null());
        command
    }

    /// Runs `cotter` to its end.
    #[track_caller]
    pub(crate) fn run<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Output {
        Running::start(&mut self.cotter(args)).end()
    }

    /// Starts `cotter` and leaves it running.
    pub(crate) fn start<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Running {
        Running::start(&mut self.cotter(args))
    }

    /// Holds a lock until [`let_go`](Running::let_go); its first line was read and is its token.
    pub(crate) fn hold(&self, options: &[&str], name: &str) -> (Running, u64) {
        let script = "echo $COTTER_TOKEN; read line";
        let args = [&["run"], options, &[name, "--", "sh", "-c", script]].concat();
        let mut holder = self.start(args);
        let token = holder.line().parse().unwrap();
        (holder, token)
    }
}

/// A `cotter` that runs. Killed, and its command with it, when the test is done with it.
pub(crate) struct Running {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: Receiver<String>,
    stderr: Receiver<String>,
    read: (String, String),
    /// Processes of the test that `cotter` would have to stop.
    pub(crate) wards: Vec<Pid>,
}

impl Running {
    pub(crate) fn start(command: &mut Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let stdout = lines(child.stdout.take().unwrap());
        let stderr = lines(child.stderr.take().unwrap());
        let (stdin, read) = (child.stdin.take(), Default::default());
        Self { child, stdin, stdout, stderr, read, wards: Vec::new() }
    }

    /// The next line of standard output.
    #[track_caller]
    pub(crate) fn line(&mut self) -> String {
        match self.stdout.recv_timeout(TIMEOUT) {
            Ok(line) => {
                self.read.0.push_str(&line);
                line.trim_end().to_owned()
            }
            Err(e) => {
                let errors: String = self.stderr.try_iter().collect();
                panic!("no line on standard output: {e}; standard error: {errors:?}")
            }
        }
    }

    /// The next line of standard output, a process that is looked after from now on.
    #[track_caller]
    pub(crate) fn ward(&mut self) -> Pid {
        let pid = Pid::from_raw(self.line().parse().unwrap()).unwrap();
        self.wards.push(pid);
        pid
    }

    /// The next line of standard error.
    #[track_caller]
    pub(crate) fn error_line(&mut self) -> String {
        let line = self.stderr.recv_timeout(TIMEOUT).expect("a line on standard error");
        self.read.1.push_str(&line);
        line.trim_end().to_owned()
    }

    /// The line that says for whom it waits; with `-v`, or on a terminal.
    #[track_caller]
    pub(crate) fn waiting_line(&mut self) -> String {
        loop {
            let line = self.error_line();
            if line.starts_with("waiting for ") {
                return line;
            }
        }
    }

    pub(crate) fn write(&mut self, text: &str) {
        self.stdin.as_mut().unwrap().write_all(text.as_bytes()).unwrap();
    }

    /// Lets the command of [`TestEnv::hold`] end.
    #[track_caller]
    pub(crate) fn let_go(mut self) -> Output {
        self.write("\n");
        self.end()
    }

    pub(crate) fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).unwrap();
    }

    /// Closes standard input and waits for the end.
    #[track_caller]
    pub(crate) fn end(mut self) -> Output {
        self.stdin = None;
        let status = self.exited();
        let mut output = std::mem::take(&mut self.read);
        output.0.extend(rest(&self.stdout));
        output.1.extend(rest(&self.stderr));
        let code = status.code().unwrap_or_else(|| -status.signal().unwrap());
        Output { code, stdout: output.0, stderr: output.1 }
    }

    #[track_caller]
    fn exited(&mut self) -> ExitStatus {
        let late = Instant::now() + TIMEOUT;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            if Instant::now() > late {
                let errors: String = self.stderr.try_iter().collect();
                panic!("cotter does not end; standard error: {errors:?}");
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        for ward in &self.wards {
            if is_alive(*ward) {
                let _ = kill_process(*ward, Signal::KILL);
            }
        }
    }
}

/// The letter that stands for what a process does now, as proc(5) explains.
pub(crate) fn state(pid: Pid) -> Option<char> {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
    stat.rsplit_once(") ")?.1.chars().next()
}

/// Whether a process is stopped: all of its threads are, and only then its parent hears of it.
pub(crate) fn is_stopped(pid: Pid) -> bool {
    let threads = fs::read_dir(format!("/proc/{}/task", pid.as_raw_nonzero()));
    threads.is_ok_and(|threads| {
        threads.flatten().all(|thread| {
            let stat = fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
            stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('T'))
        })
    })
}

/// Whether a process runs. One that is dead and not waited for does not.
pub(crate) fn is_alive(pid: Pid) -> bool {
    test_kill_process(pid).is_ok() && !matches!(state(pid), Some('Z' | 'X') | None)
}

fn lines(stream: impl Read + Send + 'static) -> Receiver<String> {
    let (send, receive) = channel();
    std::thread::spawn(move || {
        let mut stream = BufReader::new(stream);
        let mut line = Vec::new();
        while let Ok(1..) = stream.read_until(b'\n', &mut line) {
            if send.send(String::from_utf8_lossy(&line).into_owned()).is_err() {
                break;
            }
            line.clear();
        }
    });
    receive
}

/// What comes until the stream is closed. A process that outlives cotter keeps it open: that is for the test to see.
#[track_caller]
fn rest(stream: &Receiver<String>) -> Vec<String> {
    let mut lines = Vec::new();
    loop {
        match stream.recv_timeout(TIMEOUT) {
            Ok(line) => lines.push(line),
            Err(RecvTimeoutError::Disconnected) => return lines,
            Err(RecvTimeoutError::Timeout) => panic!("something still holds the stream open after {lines:?}"),
        }
    }
}

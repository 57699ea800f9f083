//! The command on a real terminal: who reads from it, and what Ctrl-C and Ctrl-Z do.

use crate::env::{TestEnv, is_alive, is_stopped, state};
use crate::terminal::{read_until, terminal};
use cotter_testkit::timing::until;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use std::fs::File;
use std::io::Write;
use std::process::{Child, Stdio};

/// A shell script whose controlling terminal this is, and which does job control.
pub(crate) struct Session {
    keyboard: File,
    text: String,
    shell: Child,
}

impl Session {
    /// `$cotter` stands for the program.
    pub(crate) fn start(env: &TestEnv, script: &str) -> Self {
        let (keyboard, screen) = terminal(200);
        let mut command = env.anywhere("setsid".as_ref());
        command.args(["--ctty", "--wait", "bash", "-c", &format!("set -m; {script}")]);
        command.env("COTTER_URL", env.url()).env("cotter", env!("CARGO_BIN_EXE_cotter"));
        command
            .stdin(screen.try_clone().unwrap())
            .stdout(screen.try_clone().unwrap())
            .stderr(Stdio::from(screen));
        let shell = command.spawn().unwrap();
        Self { keyboard, text: String::new(), shell }
    }

    pub(crate) fn read(&mut self, what: &str) {
        read_until(&mut self.keyboard, &mut self.text, what, 1);
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn press(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
    }

    /// The number behind this word.
    pub(crate) fn pid(&mut self, word: &str) -> Pid {
        self.read(word);
        let from = self.text.find(word).unwrap() + word.len();
        while !self.text[from..].contains('\n') {
            let lines = self.text.matches('\n').count();
            read_until(&mut self.keyboard, &mut self.text, "\n", lines + 1);
        }
        Pid::from_raw(self.text[from..].lines().next().unwrap().trim().parse().unwrap()).unwrap()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = kill_process_group(Pid::from_child(&self.shell), Signal::KILL);
        let _ = self.shell.kill();
        let _ = self.shell.wait();
    }
}

#[test]
fn a_command_that_reads_from_the_terminal_at_once_is_not_stopped() {
    let env = TestEnv::new();
    for _ in 0..20 {
        let mut session = Session::start(
            &env,
            "$cotter run a -- sh -c 'read x; echo got-$x'; echo \"code=$? $(ps -o stat= -p $$)\"",
        );
        session.press("hello\n");
        session.read("got-hello");
        session.read("code=0");
        session.read("s+");
    }
}

#[test]
fn ctrl_c_reaches_the_command() {
    let env = TestEnv::new();
    let mut session = Session::start(
        &env,
        "$cotter run a -- sh -c 'trap \"echo told; exit 9\" INT; echo rea\"\"dy; while :; do sleep 0.1; done'; echo code=$?",
    );
    session.read("ready");
    session.press("\x03");
    session.read("told");
    session.read("code=9");
}

#[test]
fn ctrl_z_stops_the_job_and_fg_lets_it_go_on() {
    let env = TestEnv::new();
    let script =
        "$cotter run a -- sh -c 'echo pid=$$; read x; echo got-$x'; echo stopped=$?; fg; echo code=$?";
    let mut session = Session::start(&env, script);
    let command = session.pid("pid=");
    session.press("\x1a");
    session.read("stays held");
    session.read("stopped=");
    session.press("hello\n");
    session.read("got-hello");
    session.read("code=0");
    assert!(!is_alive(command));
}

#[test]
fn ctrl_z_stops_a_job_that_runs_cotter_within_cotter() {
    let env = TestEnv::new();
    let script = "$cotter run a -- $cotter run b -- sh -c 'echo pid=$$; read x; echo got-$x'; echo stopped=$?; fg; echo code=$?";
    let mut session = Session::start(&env, script);
    let command = session.pid("pid=");
    session.press("\x1a");
    session.read("\"a\" stays held");
    session.read("stopped=");
    session.press("hello\n");
    session.read("got-hello");
    session.read("code=0");
    assert!(!is_alive(command));
}

#[test]
fn a_stopped_job_is_killed_at_the_deadline_and_fg_says_lost() {
    let env = TestEnv::new();
    let script = "$cotter --url memory: run --ttl 1s a -- sh -c 'trap \"echo tol\"\"d\" TERM CONT; echo pid=$$; read x'; \
                  echo stopped=$?; read y; fg; echo code=$?";
    let mut session = Session::start(&env, script);
    let command = session.pid("pid=");
    session.press("\x1a");
    session.read("is not renewed");
    session.read("stopped=");
    until("the shim kills it", || !is_alive(command));
    session.press("\n");
    session.read("code=74");
    assert!(!session.text.contains("told"), "{}", session.text);
}

#[test]
fn in_a_pipeline_the_others_keep_the_terminal_and_the_command_gets_it_when_it_asks() {
    let env = TestEnv::new();
    let mut session =
        Session::start(&env, "$cotter run a -- echo piped | sh -c 'read x; read y </dev/tty; echo $x-$y'");
    session.press("typed\n");
    session.read("piped-typed");
    let mut session = Session::start(
        &env,
        "echo piped | $cotter run a -- sh -c 'read x; read y </dev/tty; echo $x-$y'; echo code=$?",
    );
    session.press("typed\n");
    session.read("piped-typed");
    session.read("code=0");
}

#[test]
fn a_job_in_the_background_that_reads_is_stopped_until_it_is_in_front() {
    let env = TestEnv::new();
    let script = "$cotter run a -- sh -c 'echo pid=$$; read x; echo got-$x' & read line; fg; echo code=$?";
    let mut session = Session::start(&env, script);
    let command = session.pid("pid=");
    until("it is stopped", || state(command) == Some('T'));
    session.read("stays held");
    // It says so and stops then: a `fg` that comes between the two would find it running.
    let cotter = parent(parent(command));
    until("cotter is stopped too", || is_stopped(cotter));
    session.press("\nhello\n");
    session.read("got-hello");
    session.read("code=0");
}

/// With `stty tostop`, whoever writes in the background is stopped. That is the command, and not cotter once more for saying so.
#[test]
fn a_job_in_the_background_that_must_not_write_needs_one_fg() {
    let env = TestEnv::new();
    let file = env.path("pid");
    let script = format!(
        "stty tostop; $cotter run a -- sh -c 'echo $$ >{0}.new; mv {0}.new {0}; echo from-\"\"behind' & read line; fg; \
         echo code=$?; stty -tostop",
        file.display()
    );
    let mut session = Session::start(&env, &script);
    until("the command runs", || file.exists());
    let command = std::fs::read_to_string(&file).unwrap().trim().parse().unwrap();
    let command = Pid::from_raw(command).unwrap();
    until("it is stopped", || state(command) == Some('T'));
    session.read("stays held");
    let cotter = parent(parent(command));
    until("cotter is stopped too", || is_stopped(cotter));
    session.press("\n");
    session.read("from-behind");
    session.read("code=0");
}

fn parent(pid: Pid) -> Pid {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).unwrap();
    let behind_the_name = stat.rsplit_once(") ").unwrap().1;
    Pid::from_raw(behind_the_name.split(' ').nth(1).unwrap().parse().unwrap()).unwrap()
}

#[test]
fn without_a_shell_that_could_go_on_a_stop_does_not_last() {
    let env = TestEnv::new();
    let script = "set +m; exec $cotter run a -- sh -c 'echo pid=$$; read x; echo got-$x'";
    let mut session = Session::start(&env, script);
    session.pid("pid=");
    session.press("\x1a");
    session.press("hello\n");
    session.read("got-hello");
    session.shell.wait().unwrap();
}

#[test]
fn a_hang_up_ends_the_command() {
    let env = TestEnv::new();
    let script = "exec $cotter run a -- sh -c 'echo pid=$$; sleep 600 & echo child=$!; wait'";
    let mut session = Session::start(&env, script);
    let (command, child) = (session.pid("pid="), session.pid("child="));
    let (closed, _) = terminal(80);
    drop(std::mem::replace(&mut session.keyboard, closed));
    until("all are gone", || !is_alive(command) && !is_alive(child));
    env.run(["run", "-q", "a", "true"]).code(0);
}

#[test]
fn the_shell_has_its_terminal_back_when_the_shim_is_killed() {
    let env = TestEnv::new();
    let script = "$cotter run a -- sh -c 'echo shim=$PPID; sleep 600'; echo code=$?; read x; echo got-$x";
    let mut session = Session::start(&env, script);
    let shim = session.pid("shim=");
    kill_process(shim, Signal::KILL).unwrap();
    session.read("the shim was killed");
    session.read("code=1");
    session.press("hello\n");
    session.read("got-hello");
}

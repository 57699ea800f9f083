//! A run inside a run.

use crate::env::{Output, Running, TestEnv};

/// Runs this script, in which `$cotter` is the program, under the lock `a`.
fn inside(env: &TestEnv, script: &str) -> Output {
    let mut command = env.cotter(["run", "a", "--", "sh", "-c", script]);
    Running::start(command.env("cotter", env!("CARGO_BIN_EXE_cotter"))).end()
}

#[test]
fn the_same_lock_is_refused_instead_of_waited_for() {
    let env = TestEnv::new();
    let says = ["\"a\"", "would be a deadlock", "another name"];
    inside(&env, "$cotter run a true").code(64).one_line(&says);
    inside(&env, "$cotter run b -- $cotter run a true").code(64).one_line(&says);
    inside(&env, "$cotter run b -- $cotter run b true").code(64);
}

#[test]
fn another_lock_or_the_same_name_elsewhere_is_not() {
    let env = TestEnv::new();
    inside(&env, "$cotter run b -- $cotter run c true").code(0).silent();
    let other = env.path("other").display().to_string();
    inside(&env, &format!("$cotter --url file://{other} run a true")).code(0).silent();
    inside(&env, "$cotter --url memory: run a true").code(0).silent();
    inside(&env, "$cotter run b true; $cotter run b true").code(0).silent();
}

#[test]
fn what_is_held_is_understood_or_refused() {
    let env = TestEnv::new();
    let mut command = env.cotter(["run", "a", "true"]);
    let output = Running::start(command.env("COTTER_HELD", "what")).end();
    output.code(64).one_line(&["COTTER_HELD", "unset it"]);
}

#[test]
fn the_same_lock_is_known_however_its_path_is_spelled() {
    let env = TestEnv::new();
    let says = ["\"b\"", "would be a deadlock"];
    std::os::unix::fs::symlink(env.path("locks"), env.path("link")).unwrap();
    let (locks, link) = (env.path("locks"), env.path("link"));
    let spelled = [locks.join("job"), locks.join("../locks/job"), link.join("job")];
    let tokens = locks.display();
    // All names of one path are one lock.
    let outer =
        ["--url", &format!("flock:{}?tokens={tokens}", spelled[0].display()), "run", "a", "--", "sh", "-c"];
    for inner in spelled {
        let script = format!("exec $cotter --url 'flock:{}?tokens={tokens}' run b true", inner.display());
        let mut command = env.cotter(outer.iter().copied().chain([&*script]));
        Running::start(command.env("cotter", env!("CARGO_BIN_EXE_cotter"))).end().code(64).one_line(&says);
    }
    for inner in [format!("{}/", locks.display()), format!("/{}", locks.display())] {
        let script = format!("exec $cotter --url 'file://{inner}' run");
        inside(&env, &format!("{script} a true")).code(64).one_line(&["\"a\"", "would be a deadlock"]);
        inside(&env, &format!("{script} b true")).code(0);
    }
}

#[test]
fn a_link_to_the_directory_is_the_directory() {
    let env = TestEnv::new();
    std::os::unix::fs::symlink(env.path("."), env.path("here")).unwrap();
    let script = format!("exec $cotter --url 'file://{}/locks' run a true", env.path("here").display());
    inside(&env, &script).code(64).one_line(&["\"a\"", "would be a deadlock"]);
}

/// As at(1) and batch(1) do with the environment that they were given.
#[test]
fn an_environment_that_outlived_its_run_refuses_nothing() {
    let env = TestEnv::new();
    let kept = env.path("kept");
    let keep = format!("export -p > {}", kept.display());
    inside(&env, &keep).code(0).silent();
    let later = format!(". {}; $cotter run a true", kept.display());
    let mut sh = env.anywhere("sh".as_ref());
    let output = Running::start(sh.args(["-c", &later])).end();
    assert_eq!(output.code, 0, "violation[refused]: nobody holds it any more: {output:?}");
    // Nor while it is held by somebody who is not above.
    let mut first = env.start(["run", "a", "--", "sh", "-c", &format!("{keep}; echo kept; read line")]);
    assert_eq!(first.line(), "kept");
    let second =
        Running::start(env.anywhere("sh".as_ref()).args([
            "-c",
            &format!(". {}; {} run -v a echo ran", kept.display(), env!("CARGO_BIN_EXE_cotter")),
        ]));
    let mut second = second;
    second.waiting_line();
    first.let_go().code(0);
    assert_eq!(second.end().code(0).stdout, "ran\n");
}

#[test]
fn without_an_environment_the_lock_file_says_who_holds_it() {
    let env = TestEnv::new();
    for options in ["", "-q", "-w 10s"] {
        let script = format!("env -i $cotter --url $COTTER_URL run {options} a true");
        inside(&env, &script).code(64).one_line(&["\"a\"", "would be a deadlock"]);
    }
}

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
    let says = ["\"a\"", "inside of", "wait for itself"];
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

//! A Redis master that is found by its sentinels, which have a password of their own.

use crate::env::TestEnv;
use cotter_testkit::servers::{Redis, Sentinels};
use std::fs;

#[test]
#[ignore = "needs redis-server"]
fn commands_find_the_master_by_its_sentinels() {
    let (env, server) = (TestEnv::new(), Redis::start());
    let sentinels = Sentinels::builder().password("sesame").watch(&server, 0);
    let (of_server, of_sentinels) = (env.path("of-server"), env.path("of-sentinels"));
    fs::write(&of_server, "password\n").unwrap();
    fs::write(&of_sentinels, "sesame\n").unwrap();
    let url = format!(
        "redis+sentinel://cotter@{}/store?sentinel_password_file={}",
        sentinels.addresses(),
        of_sentinels.display()
    );
    let file = of_server.to_str().unwrap();
    let run = |args: &[&str]| env.run([&["--url", &url, "--password-file", file], args].concat());
    run(&["run", "a", "true"]).code(0);
    let shown = run(&["run", "a", "--", "env"]).code(0);
    assert!(
        shown.stdout.contains("sentinel_password_file=") && !shown.stdout.contains("sesame"),
        "{shown:?}"
    );
    let said = run(&["doctor"]);
    let master = format!("3 of 3 answer; the master is 127.0.0.1:{}", server.port());
    assert!(said.stdout.contains(&master), "{said:?}");
    run(&["bench", "--time", "50ms", "--tasks", "8"]).code(0);
    env.config(&format!("default = \"prod\"\n[store.prod]\nurl = \"{url}\"\npassword_file = \"{file}\"\n"));
    env.run(["--store", "prod", "list"]).code(0);
}

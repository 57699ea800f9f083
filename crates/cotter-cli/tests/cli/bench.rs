//! `cotter bench`: that it measures, and leaves nothing behind. How much is for those who look.

use crate::env::{Output, Running, TestEnv, is_alive};
use crate::plays::children;
use crate::terminal::{read_until, terminal};
use cotter_testkit::servers::{Redis, acl_rule};
use cotter_testkit::timing::until;
use rustix::process::Signal;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

fn bench(env: &TestEnv, url: &str, options: &[&str]) -> Output {
    let mut command = env.cotter([&["bench", "--time", "50ms", "--tasks", "8"], options].concat());
    Running::start(command.env("COTTER_URL", url)).end()
}

/// What was measured, as (type, ratio to the raw calls).
#[track_caller]
fn figures(output: &Output) -> Vec<(String, Option<f64>)> {
    let lines = output.json();
    assert!(lines[0]["type"] == "store" && lines[0]["instance"].is_string(), "{output:?}");
    let figure = |line: &Value| {
        let said = line["per_second"].as_f64().or(line["median_micros"].as_f64()).unwrap();
        assert!(said > 0.0, "{output:?}");
        (line["type"].as_str().unwrap().to_owned(), line["ratio"].as_f64())
    };
    lines[1..].iter().map(figure).collect()
}

fn files(folder: &Path) -> usize {
    fs::read_dir(folder).map_or(0, Iterator::count)
}

#[test]
fn all_figures_of_a_directory_and_nothing_is_left() {
    let env = TestEnv::new();
    env.run(["run", "a", "true"]).code(0);
    let folder = Path::new(env.url().strip_prefix("file://").unwrap()).to_owned();
    let before = files(&folder);
    let output = bench(&env, &env.url(), &["--json"]).code(0).silent();
    let found = figures(&output);
    assert_eq!(
        found.iter().map(|(kind, _)| &**kind).collect::<Vec<_>>(),
        ["pairs", "pairs", "pairs", "one_name", "one_name", "handover"]
    );
    assert!(found[..3].iter().all(|(_, ratio)| ratio.is_some_and(|r| r > 0.0)), "{output:?}");
    assert_eq!(files(&folder), before);
}

#[test]
#[ignore = "needs redis-server"]
fn on_redis_the_keys_are_gone_soon() {
    let redis = Redis::start();
    let env = TestEnv::new();
    for mode in ["native", "plain", "getset"] {
        if mode == "native" {
            redis.command(&["ACL", "SETUSER", acl_rule(mode)[2], "~bench:*"]);
        }
        let options = if mode == "native" { String::new() } else { format!("mode={mode}") };
        let output = bench(&env, &redis.url(&options), &["--json"]).code(0);
        assert_eq!(figures(&output).len(), 6, "{output:?}");
        let several = output.json().into_iter().find(|line| line["processes"] == 4).unwrap();
        assert!(several["between_processes_per_second"].as_u64().unwrap() > 0, "{mode}: {several}");
        let parts =
            ["handed_over_min", "handed_over", "handed_over_max"].map(|f| several[f].as_f64().unwrap());
        assert!(parts.is_sorted() && parts[0] > 0.0 && parts[2] <= 1.0, "{mode}: {several}");
        until("no key is left", || redis.command(&["DBSIZE"]) == "0");
    }
}

/// On a store whose waiters stand in a line. `left` counts what it keeps.
#[track_caller]
pub(crate) fn measures_and_leaves_nothing(url: &str, left: impl Fn() -> usize) {
    let env = TestEnv::new();
    let output = bench(&env, url, &["--json"]).code(0).silent();
    assert_eq!(figures(&output).len(), 6, "{output:?}");
    let several = output.json().into_iter().find(|line| line["processes"] == 4).unwrap();
    assert!(several["between_processes_per_second"].as_u64().unwrap() > 0, "{several}");
    assert!(TestEnv::on(url.to_owned()).run(["list", "--json"]).code(0).json().is_empty());
    until("nothing is left", || left() == 0);
}

#[test]
#[ignore = "needs redis-server"]
fn a_password_stays_out_of_the_arguments() {
    let redis = Redis::builder().with("requirepass", "s3cret").start();
    let env = TestEnv::new();
    let mut command = env.cotter(["bench", "--time", "200ms", "--tasks", "2"]);
    let url = format!("redis://:s3cret@127.0.0.1:{}", redis.port());
    let running = Running::start(command.env("COTTER_URL", url));
    until("the other process is there", || !children(running.pid()).is_empty());
    for pid in children(running.pid()) {
        let arguments = fs::read(format!("/proc/{}/cmdline", pid.as_raw_nonzero())).unwrap();
        assert!(!String::from_utf8_lossy(&arguments).contains("s3cret"));
    }
    let output = running.end().code(0).silent();
    assert!(!output.stdout.contains("s3cret"), "{output:?}");
}

#[test]
fn lines_for_people() {
    let env = TestEnv::new();
    let output = bench(&env, "memory:", &[]).code(0).silent();
    let lines: Vec<_> = output.stdout.lines().collect();
    assert_eq!(lines.len(), 6, "{output:?}");
    assert!(lines[1].starts_with("lock and release, 1 task ") && lines[1].contains(" /s "), "{output:?}");
    assert!(
        lines[3].starts_with("lock and release, 8 tasks on 2 threads ") && lines[3].contains(" to "),
        "{output:?}"
    );
    assert!(lines[4].ends_with(" % of an in-process mutex") && !output.stdout.contains('█'), "{output:?}");
    assert!(lines[5].contains(" % to another task, longest wait "), "{output:?}");
}

#[test]
fn all_figures_are_drawn_into_a_file() {
    let env = TestEnv::new();
    let file = env.path("figures.svg");
    let output = bench(&env, "memory:", &["--json", "--plot", file.to_str().unwrap()]).code(0).silent();
    let svg = fs::read_to_string(&file).unwrap();
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"), "{svg}");
    // A title for each, and beside all of them the same without cotter.
    assert_eq!(svg.matches("8 tasks").count(), 3, "{svg}");
    assert_eq!(svg.matches(">an in-process mutex<").count(), figures(&output).len(), "{svg}");

    let nowhere = env.path("no/such/folder.svg");
    let refused = bench(&env, "memory:", &["--plot", nowhere.to_str().unwrap()]).code(78);
    refused.one_line(&["no/such/folder.svg cannot be written"]);
}

#[test]
fn on_a_terminal_it_shows_progress_and_bars() {
    let env = TestEnv::new();
    let (mut screen, end) = terminal(100);
    let mut command = env.cotter(["--url", "memory:", "bench", "--time", "50ms"]);
    command.env("TERM", "xterm").stdout(end.try_clone().unwrap()).stderr(end);
    let mut child = command.spawn().unwrap();
    drop(command);
    let mut text = String::new();
    read_until(&mut screen, &mut text, " % of an in-process mutex", 4);
    assert!(text.contains("measuring: one name, 64 tasks") && text.contains('·'), "{text:?}");
    assert!(child.wait().unwrap().success());
}

#[test]
fn the_lock_of_a_path_is_not_measured() {
    let env = TestEnv::new();
    let url = format!("flock:{}", env.path("x").display());
    bench(&env, &url, &[]).code(64).one_line(&["measure file:"]);
    env.run(["bench", "--time", "5"]).code(64);
    bench(&env, "redis://127.0.0.1:1", &[]).code(69);
}

#[test]
fn a_signal_ends_it_and_nothing_is_left() {
    let env = TestEnv::new();
    let folder = Path::new(env.url().strip_prefix("file://").unwrap()).to_owned();
    let running = env.start(["bench", "--time", "60s"]);
    until("it has begun", || files(&folder) > 0);
    let others = children(running.pid());
    running.signal(Signal::TERM);
    running.end().code(143).silent();
    assert_eq!(files(&folder), 0);
    until("nobody is left", || !others.iter().any(|pid| is_alive(*pid)));
}

#[test]
fn a_directory_whose_name_has_to_be_encoded_is_measured() {
    let env = TestEnv::new();
    fs::create_dir(env.path("a b%c")).unwrap();
    fs::set_permissions(env.path("a b%c"), fs::Permissions::from_mode(0o700)).unwrap();
    let url = format!("file://{}", env.path("a%20b%25c").display());
    bench(&env, &url, &["--json"]).code(0).silent();
}

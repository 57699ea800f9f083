//! `cotter prune`.

use crate::env::TestEnv;
use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, SystemTime};

/// Makes a file as old as so many days.
fn age(path: &Path, days: u64) {
    let then = SystemTime::now() - Duration::from_secs(days * 24 * 3600);
    File::options().write(true).open(path).unwrap().set_modified(then).unwrap();
}

/// Uses a name, so many days ago.
fn used(env: &TestEnv, name: &str, days: u64) {
    env.run(["run", name, "true"]).code(0);
    age(&env.path(&format!("locks/{name}.lock")), days);
}

fn names(env: &TestEnv) -> String {
    let mut names: Vec<_> =
        fs::read_dir(env.path("locks")).unwrap().map(|e| e.unwrap().file_name()).collect();
    names.sort_unstable();
    names
        .iter()
        .map(|name| name.to_str().unwrap().strip_suffix(".lock").unwrap_or("?"))
        .collect::<Vec<_>>()
        .join(" ")
}

#[test]
fn prune_removes_what_nobody_has_used_for_long() {
    let env = TestEnv::new();
    used(&env, "deploy-1", 45);
    used(&env, "deploy-2", 20);
    used(&env, "mail", 45);
    used(&env, "held", 45);
    let (holder, _) = env.hold(&[], "held");
    age(&env.path("locks/held.lock"), 45);
    let dry = env.run(["prune", "--dry-run"]).code(0).silent();
    assert_eq!(
        dry.stdout,
        "deploy-1: would be deleted, last used 45 d ago\nmail: would be deleted, last used 45 d ago\n"
    );
    assert_eq!(names(&env), "deploy-1 deploy-2 held mail");
    let some = env.run(["prune", "deploy-"]).code(0).silent();
    assert_eq!(some.stdout, "deploy-1: deleted, last used 45 d ago\n");
    let json = env.run(["prune", "--older-than", "10d", "--json"]).code(0).silent().json();
    let found: Vec<_> = json.iter().map(|line| (&line["name"], &line["result"])).collect();
    assert_eq!(found, [(&"deploy-2".into(), &"deleted".into()), (&"mail".into(), &"deleted".into())]);
    assert!(json[0]["last_used"].as_str().unwrap().ends_with('Z'));
    assert_eq!(names(&env), "held");
    let nothing = env.run(["-v", "prune", "--older-than", "0s"]).code(0);
    assert!(
        nothing.stdout.is_empty() && nothing.stderr.contains("nothing to prune in file://"),
        "{nothing:?}"
    );
    assert_eq!(env.run(["prune"]).code(0).silent().stdout, "");
    holder.let_go().code(0);
    env.run(["prune", "--older-than", "0s"]).code(0);
    assert_eq!(names(&env), "");
}

#[test]
fn prune_removes_notes_only_when_told_to() {
    let env = TestEnv::new();
    env.run(["run", "--slot", "1a2b", "deploy", "true"]).code(0);
    let kept = env.run(["-v", "prune", "--older-than", "0s"]).code(0);
    assert!(kept.stdout.is_empty() && kept.stderr.contains("1 name with notes kept; --notes"), "{kept:?}");
    assert_eq!(env.run(["prune", "--older-than", "0s", "--json"]).code(0).json()[0]["result"], "has_notes");
    env.run(["latch", "import", "create", "2"]).code(0);
    assert_eq!(env.run(["prune", "--notes"]).code(0).silent().stdout, "");
    let pruned = env.run(["prune", "--notes", "--older-than", "0s"]).code(0).silent().stdout;
    assert!(pruned.contains("deploy: deleted") && pruned.contains("import: deleted"), "{pruned}");
    assert_eq!(fs::read_dir(env.path("locks/notes")).unwrap().count(), 0);
    env.run(["run", "--slot", "1a2b", "deploy", "true"]).code(0);
    env.run(["latch", "import", "create", "2"]).code(0);
}

#[test]
fn prune_removes_nothing_from_stores_that_forget_by_themselves() {
    let env = TestEnv::on("memory:".into());
    env.run(["prune"]).code(64).one_line(&["nothing to prune", "only `file:`"]);
    env.run(["prune", "--older-than", "30"])
        .code(64)
        .one_line(&["'--older-than <DUR>'", "write 30s or 30ms"]);
}

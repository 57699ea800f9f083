//! The migration example, started as five replicas at once.

use crate::copy::place;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// `cargo test` builds the examples, but not when it is told to build a single test.
fn example() -> PathBuf {
    let built = std::env::current_exe().unwrap();
    let path = built.parent().and_then(|deps| deps.parent()).unwrap().join("examples/migration");
    assert!(path.exists(), "{} is missing; run `cargo build -p cotter --examples`", path.display());
    path
}

#[test]
fn of_five_replicas_one_migrates() {
    let (_keep, directory) = place();
    let url = format!("file://{}", directory.display());
    let start = || {
        let mut command = Command::new(example());
        command.arg(&url).stdout(Stdio::piped()).spawn().unwrap()
    };
    let replicas: Vec<_> = (0..5).map(|_| start()).collect();
    let said: String = replicas
        .into_iter()
        .map(|replica| {
            let output = replica.wait_with_output().unwrap();
            assert!(output.status.success());
            String::from_utf8(output.stdout).unwrap()
        })
        .collect();
    assert_eq!(said.matches("migrating under token").count(), 1, "{said}");
    assert_eq!(said.matches("up to date").count(), 4, "{said}");
}

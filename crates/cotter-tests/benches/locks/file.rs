//! `file:` beside its raw system calls, and from process to process.

use crate::rounds::compare;
use cotter::Client;
use rustix::fs::{FlockOperation, Mode, OFlags, flock, open};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const PAIRS: u32 = 20_000;

/// A store of its own in this folder.
pub(crate) fn private(folder: &Path) -> String {
    let dir = folder.join("locks");
    std::fs::DirBuilder::new().mode(0o700).recursive(true).create(&dir).unwrap();
    format!("file://{}", dir.display())
}

fn raw(path: &Path) -> f64 {
    let start = Instant::now();
    for i in 0..PAIRS {
        let fd =
            open(path, OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC, Mode::RUSR | Mode::WUSR).unwrap();
        flock(&fd, FlockOperation::NonBlockingLockExclusive).unwrap();
        let file = std::fs::File::from(fd);
        file.write_all_at(format!("{i:>200}").as_bytes(), 0).unwrap();
        flock(&file, FlockOperation::Unlock).unwrap();
        drop(file);
    }
    start.elapsed().as_secs_f64() / f64::from(PAIRS) * 1e6
}

pub(crate) fn pair() {
    let folder = tempfile::Builder::new().prefix("cotter-bench").tempdir().unwrap();
    let client = Client::connect(private(folder.path())).wait().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let path = folder.path().join("raw");
    let mut ours = || {
        runtime.block_on(async {
            let mutex = client.mutex("pair");
            let start = Instant::now();
            for _ in 0..PAIRS {
                mutex.lock().await.unwrap().finish().await.unwrap();
            }
            start.elapsed().as_secs_f64() / f64::from(PAIRS) * 1e6
        })
    };
    compare(
        "microseconds per pair",
        &mut [("raw: open flock write unlock close", &mut || raw(&path)), ("file: lock, release", &mut ours)],
    );
}

const CHILD: &str = "COTTER_BENCH_CHILD";
const HANDOVERS: usize = 400;

pub(crate) fn is_child() -> bool {
    std::env::var_os(CHILD).is_some()
}

/// Takes the lock whenever it is told to, and says when it had it.
pub(crate) fn child() {
    let client = Client::connect(std::env::var(CHILD).unwrap()).wait().unwrap();
    let mutex = client.mutex("hand-over");
    for line in std::io::stdin().lock().lines() {
        line.unwrap();
        println!("asking");
        let guard = mutex.lock().wait().unwrap();
        println!("{}", boot_nanos());
        drop(guard);
    }
}

fn boot_nanos() -> u64 {
    let t = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}

pub(crate) fn handover() {
    let folder = tempfile::Builder::new().prefix("cotter-bench").tempdir().unwrap();
    let store = private(folder.path());
    let client = Client::connect(&store).wait().unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .env(CHILD, &store)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut ask, mut told) =
        (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()).lines());
    let mut micros: Vec<f64> = (0..HANDOVERS)
        .map(|_| {
            let guard = client.mutex("hand-over").lock().wait().unwrap();
            writeln!(ask, "go").unwrap();
            told.next().unwrap().unwrap();
            std::thread::sleep(Duration::from_millis(5));
            let before = boot_nanos();
            drop(guard);
            let after: u64 = told.next().unwrap().unwrap().parse().unwrap();
            (after - before) as f64 / 1e3
        })
        .collect();
    drop(ask);
    child.wait().unwrap();
    micros.sort_by(f64::total_cmp);
    let at = |part: f64| micros[((micros.len() - 1) as f64 * part) as usize];
    println!("microseconds from release to holding in another process, {HANDOVERS} times");
    println!("median {:.0}   p99 {:.0}   max {:.0}", at(0.5), at(0.99), at(1.0));
}

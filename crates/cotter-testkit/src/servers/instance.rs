//! A database server: its folder, its port and its process.

use super::cluster::{self, Recipe};
use super::{free_port, logs, skew};
use crate::timing::first_within;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// How often another port is tried.
const TRIES: usize = 10;

/// The files of a certificate and its key.
pub(super) type CertificateFiles = (PathBuf, PathBuf);

#[derive(Debug)]
pub(super) struct Instance {
    pub(super) child: Option<Child>,
    pub(super) port: u16,
    dir: TempDir,
    /// Of its data alone.
    disk: TempDir,
    /// Loaded into it before all other libraries.
    preload: Option<PathBuf>,
}

impl Instance {
    /// Makes the folder. The certificate is there as `cert.pem` and `cert.key`.
    pub(super) fn make(recipe: &Recipe, tls: Option<&CertificateFiles>) -> io::Result<Self> {
        let this = Self::without_data()?;
        cluster::make(recipe, &this.data())?;
        for (from, to) in tls.iter().flat_map(|(cert, key)| [(cert, "cert.pem"), (key, "cert.key")]) {
            cluster::give_file(from, &this.data().join(to))?;
        }
        Ok(this)
    }

    /// The folder of the data is still to be made.
    pub(super) fn without_data() -> io::Result<Self> {
        let (dir, disk) = (tempfile::tempdir()?, cluster::disk()?);
        cluster::hand_over(dir.path())?;
        cluster::hand_over(disk.path())?;
        Ok(Self { child: None, port: free_port(), dir, disk, preload: None })
    }

    /// Gives it a clock that can be stepped.
    pub(super) fn skew(&mut self) -> io::Result<()> {
        self.preload = Some(skew::build(self.dir())?);
        Ok(())
    }

    /// Sets its clock ahead by this many seconds from now on, or behind.
    pub(super) fn step_clock(&self, seconds: i64) {
        assert!(self.preload.is_some(), "this server has the clock of the machine");
        skew::step(self.dir(), seconds * 1_000_000_000).expect("the file can be written");
    }

    pub(super) fn dir(&self) -> &Path {
        self.dir.path()
    }

    pub(super) fn data(&self) -> PathBuf {
        self.disk.path().join("data")
    }

    /// The server's log.
    pub(super) fn log(&self) -> String {
        fs::read_to_string(self.dir().join("log")).unwrap_or_default()
    }

    /// Tries other ports until one was still free when the server began to listen on it. `start`: false when it has ended instead.
    pub(super) fn first_start(&mut self, mut start: impl FnMut(&mut Self) -> io::Result<bool>) {
        for _ in 0..TRIES {
            if start(self).expect("it can be started") {
                return;
            }
            // Somebody else was given the same port in the meantime.
            self.port = free_port();
        }
        panic!("the server ended {TRIES} times before it listened: {}", self.log());
    }

    /// Starts a server that has run before.
    pub(super) fn restart(&mut self, start: impl FnOnce(&mut Self) -> io::Result<bool>) {
        let listens = start(self).expect("it started before");
        assert!(listens, "it ended before it listened: {}", self.log());
    }

    /// Starts the server and waits until it answers; false when it has ended instead.
    pub(super) fn start(
        &mut self,
        command: &mut Command,
        limit: Duration,
        is_ready: impl Fn(&Self) -> bool,
    ) -> io::Result<bool> {
        let log = logs::open(&self.dir().join("log"))?;
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).current_dir("/");
        if let Some(library) = &self.preload {
            command.env("LD_PRELOAD", library).env("SKEW_FILE", self.dir().join("skew"));
        }
        self.child = Some(command.spawn()?);
        let listens = first_within(limit, || {
            if self.child.as_mut().is_some_and(|child| matches!(child.try_wait(), Ok(Some(_)))) {
                return Some(false);
            }
            is_ready(self).then_some(true)
        });
        Ok(listens.unwrap_or_else(|| panic!("the server does not listen: {}", self.log())))
    }
}

/// The values that a client program prints.
///
/// # Panics
/// When the server refuses.
pub(super) fn output(client: &mut Command, statements: &str) -> String {
    let done = client.arg(statements).output().expect("the client starts");
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{statements}: {said}");
    String::from_utf8_lossy(&done.stdout).trim_end().to_owned()
}

//! A copy of the tracked files with a build directory of its own, in which bugs are planted.

use super::bug::{Bug, Verdict, with_output};
use super::selection::Selection;
use super::{FOLDER, Result};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Longer than any of the tests takes; a planted bug may make one hang.
const SECONDS: &str = "120";

pub(crate) struct Tree<'a> {
    root: &'a Path,
    scratch: PathBuf,
    build: PathBuf,
}

impl<'a> Tree<'a> {
    /// A fresh copy of what is tracked, as it stands in the tree now. What the tests themselves were built with is taken
    /// over from `target`, so that only the workspace is built again.
    pub(crate) fn copy(root: &'a Path, target: &Path, number: usize) -> Result<Self> {
        let planted = target.join("planted");
        let tree = Self {
            root,
            scratch: planted.join(format!("tree-{number}")),
            build: planted.join(format!("build-{number}")),
        };
        tree.copy_files()?;
        if !tree.build.exists() {
            // Gigabytes of libraries, which the compiler replaces and never writes into, are not copied; the rest cargo does
            // write into.
            for (folder, how) in
                [("deps", "--link"), ("build", "--reflink=auto"), (".fingerprint", "--reflink=auto")]
            {
                let (from, to) = (target.join("debug").join(folder), tree.build.join("debug").join(folder));
                take_over(&from, &to, how)?;
            }
        }
        Ok(tree)
    }

    fn copy_files(&self) -> Result<()> {
        let listed = Command::new("git").args(["ls-files", "-z"]).current_dir(self.root).output()?;
        if !listed.status.success() {
            return Err("git does not list the tracked files".into());
        }
        if self.scratch.exists() {
            fs::remove_dir_all(&self.scratch)?;
        }
        for file in String::from_utf8(listed.stdout)?.split_terminator('\0') {
            let (from, to) = (self.root.join(file), self.scratch.join(file));
            fs::create_dir_all(to.parent().ok_or("a file has a folder")?)?;
            fs::copy(from, to)?;
        }
        // What `scripts/servers` has put there besides programs: peers in other languages are started with it.
        fs::create_dir_all(self.scratch.join("target"))?;
        symlink(self.root.join("target/servers"), self.scratch.join("target/servers"))?;
        Ok(())
    }

    /// What became of each bug of a batch, in its order; they are built alike, and the test program is the same.
    pub(crate) fn try_batch(&self, bugs: &[&Bug]) -> Result<Vec<Verdict>> {
        for bug in bugs {
            self.patch(bug, "--forward")?;
        }
        let built = self.build(bugs[0])?;
        let verdicts = if built.status.success() {
            bugs.iter().map(|bug| Ok(bug.judge(&self.test(bug)?))).collect::<Result<_>>()?
        } else {
            let why = self.failure(&built.stderr);
            bugs.iter().map(|_| Err(with_output("it does not compile", &why))).collect()
        };
        for bug in bugs {
            self.patch(bug, "--reverse")?;
        }
        Ok(verdicts)
    }

    /// What the compiler has said, and how full the disk is: a linker without room on it is killed, and says no more than that.
    fn failure(&self, said: &[u8]) -> String {
        let disk = Command::new("df").arg("-h").arg(&self.build).output();
        let disk = disk.map_or_else(|e| e.to_string().into_bytes(), |df| df.stdout);
        String::from_utf8_lossy(&[said, b"\n", &disk].concat()).into_owned()
    }

    /// What is kept from one bug to the next is of no use to those that are built otherwise.
    pub(crate) fn forget_steps(&self) -> Result<()> {
        let kept = self.build.join("debug/incremental");
        if kept.exists() { Ok(fs::remove_dir_all(kept)?) } else { Ok(()) }
    }

    /// That it can be planted is known, and those of a batch change different files.
    fn patch(&self, bug: &Bug, direction: &str) -> Result<()> {
        let patch = patch_file(self.root, bug);
        run_patch(&self.scratch, &patch, &[direction, "--no-backup-if-mismatch"])?
            .map_err(|why| format!("{}: {why}", patch.display()).into())
    }

    fn cargo_test(&self, mut command: Command, bug: &Bug, more: &[&str]) -> Result<Output> {
        let program = bug.program().0;
        command.arg("test").args(Selection::of(bug).args());
        command.args(program).args(more);
        // Each bug changes a line or two of what was built for the one before.
        command.env("CARGO_TARGET_DIR", &self.build).env("CARGO_INCREMENTAL", "1").env("RUST_BACKTRACE", "0");
        Ok(command.current_dir(&self.scratch).output()?)
    }

    fn build(&self, bug: &Bug) -> Result<Output> {
        self.cargo_test(Command::new("cargo"), bug, &["--no-run"])
    }

    fn test(&self, bug: &Bug) -> Result<Output> {
        let mut limited = Command::new("timeout");
        limited.args([SECONDS, "cargo"]);
        let test = bug.program().1;
        self.cargo_test(limited, bug, &["--", "--include-ignored", "--exact", "--nocapture", test])
    }
}

fn patch_file(root: &Path, bug: &Bug) -> PathBuf {
    root.join(FOLDER).join(format!("{}.patch", bug.patch()))
}

/// What the patch says.
pub(crate) fn patch_text(root: &Path, bug: &Bug) -> Result<String> {
    Ok(fs::read_to_string(patch_file(root, bug))?)
}

/// An error unless the bug can be planted in the tree as it is, which stays as it is.
pub(crate) fn applies(root: &Path, bug: &Bug) -> Result<()> {
    let verdict = run_patch(root, &patch_file(root, bug), &["--forward", "--dry-run", "--force"])?;
    verdict.map_err(|why| format!("{}.patch does not apply any more: {why}", bug.patch()).into())
}

fn run_patch(folder: &Path, patch: &Path, how: &[&str]) -> Result<Verdict> {
    let mut command = Command::new("patch");
    command.arg("-p1").args(how).arg("-i").arg(patch);
    let output = command.current_dir(folder).output()?;
    // What was refused is in the one, that the disk is full in the other.
    let printed = [output.stdout, output.stderr].concat();
    let why = || String::from_utf8_lossy(&printed).trim().replace('\n', "; ");
    Ok(if output.status.success() { Ok(()) } else { Err(why()) })
}

/// Takes over what belongs to the dependencies from one build directory to another: no programs, and nothing of the workspace,
/// which a tree at another path builds by itself.
fn take_over(from: &Path, to: &Path, how: &str) -> Result<()> {
    let Ok(entries) = fs::read_dir(from) else { return Ok(()) };
    fs::create_dir_all(to)?;
    let mut command = Command::new("cp");
    command.args(["--archive", how, "--target-directory"]).arg(to);
    for entry in entries {
        let entry = entry?;
        let (name, is_program) = (entry.file_name(), is_program(&entry.path()));
        if !is_program && !name.to_string_lossy().trim_start_matches("lib").starts_with("cotter") {
            command.arg(entry.path());
        }
    }
    if command.status()?.success() { Ok(()) } else { Err("the dependencies cannot be copied".into()) }
}

fn is_program(path: &Path) -> bool {
    path.is_file() && path.extension().is_none()
}

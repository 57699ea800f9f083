//! The folder of a database server: made by its own program once, and copied for each server.
//!
//! PostgreSQL and MariaDB refuse to run as root, so where the tests do, their programs run as another user, to whom the folder
//! belongs.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// A file system in memory, and how much has to be free in it and in the memory behind it.
const IN_MEMORY: &str = "/dev/shm";
const ENOUGH: u64 = 8 << 30;

/// Users that the server may run as where the tests run as root: its own, or one that exists everywhere.
const SERVANTS: [&str; 2] = ["postgres", "nobody"];
/// How the folder of a kind of server is made.
pub(super) struct Recipe {
    /// The program of the server.
    pub(super) server: &'static str,
    /// The program that makes a folder, and its arguments; the last one ends with the path.
    pub(super) maker: &'static str,
    pub(super) arguments: &'static [&'static str],
    /// Part of the name of the copy that is kept, to be changed with the arguments.
    pub(super) layout: u32,
}

/// A program of a server, as the user that may run it.
pub(super) fn program(name: &str) -> io::Result<Command> {
    let path = find(name)?;
    let Some((user, group, _)) = servant()? else { return Ok(Command::new(path)) };
    let mut command = Command::new("setpriv");
    command.args([format!("--reuid={user}"), format!("--regid={group}"), "--clear-groups".into()]).arg(path);
    Ok(command)
}

/// Where a program is: in `PATH`, without the links on the way, which another user might not be able to follow.
pub(super) fn find(name: &str) -> io::Result<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|dir| dir.join(name)).find(|file| file.is_file());
    found
        .ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, format!("{name} is not in PATH")))?
        .canonicalize()
}

/// User and group ids, and the name, of the user that the server runs as instead of root.
fn servant() -> io::Result<Option<(u32, u32, String)>> {
    if !rustix::process::geteuid().is_root() {
        return Ok(None);
    }
    let users = fs::read_to_string("/etc/passwd")?;
    let entry = |name: &str| {
        let fields: Vec<_> = users
            .lines()
            .map(|l| l.split(':'))
            .find_map(|mut f| (f.next() == Some(name)).then(|| f.collect()))?;
        Some((fields.get(1)?.parse().ok()?, fields.get(2)?.parse().ok()?, name.to_owned()))
    };
    let found = SERVANTS.iter().find_map(|name| entry(name));
    found.map(Some).ok_or_else(|| io::Error::other("there is no user that the server could run as"))
}

/// Gives the folder to the user of the server.
pub(super) fn hand_over(dir: &Path) -> io::Result<()> {
    match servant()? {
        Some((user, group, _)) => chown(dir, Some(user), Some(group)),
        None => Ok(()),
    }
}

/// Copies a file that only the server may read.
pub(super) fn give_file(from: &Path, to: &Path) -> io::Result<()> {
    fs::copy(from, to)?;
    fs::set_permissions(to, fs::Permissions::from_mode(0o600))?;
    hand_over(to)
}

/// A folder for the data of one server, in memory if there is enough: a thousand files are written before it listens, and the disk
/// is waited for at each commit. What it has written outlives its process on either.
pub(super) fn disk() -> io::Result<TempDir> {
    let has_room = rustix::fs::statvfs(IN_MEMORY).is_ok_and(|s| s.f_bavail * s.f_frsize >= ENOUGH);
    match has_room && available_memory() >= ENOUGH {
        true => tempfile::tempdir_in(IN_MEMORY),
        false => tempfile::tempdir(),
    }
}

/// In bytes; 0 if the system does not tell.
fn available_memory() -> u64 {
    let all = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = all.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok()).unwrap_or(0) << 10
}

/// Makes a new folder at `data`, whose parent belongs to the user of the server.
pub(super) fn make(recipe: &Recipe, data: &Path) -> io::Result<()> {
    let template = template(recipe)?;
    run(Command::new("cp").arg("-a").arg(template).arg(data))
}

/// The folder that all others are copies of.
fn template(Recipe { server, maker, arguments, layout }: &Recipe) -> io::Result<PathBuf> {
    let version = find(server)?.metadata()?.mtime();
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/servers");
    fs::create_dir_all(&place)?;
    let user = servant()?.map_or_else(|| rustix::process::geteuid().as_raw(), |(user, ..)| user);
    let template = place.join(format!("{server}-{version}-{user}-{layout}"));
    let alone = File::create(place.join(format!("{server}.lock")))?;
    rustix::fs::flock(&alone, rustix::fs::FlockOperation::LockExclusive)?;
    if template.exists() {
        return Ok(template);
    }
    let made = tempfile::tempdir()?;
    hand_over(made.path())?;
    let data = made.path().join("data");
    let mut arguments: Vec<_> = arguments.iter().map(OsString::from).collect();
    arguments.last_mut().expect("the path").push(&data);
    run(program(maker)?.args(arguments))?;
    // A copy that was interrupted must not be taken for the whole.
    let copy = template.with_extension("part");
    let _ = fs::remove_dir_all(&copy);
    run(Command::new("cp").arg("-a").arg(&data).arg(&copy))?;
    fs::rename(&copy, &template)?;
    Ok(template)
}

/// Runs it to its end, which has to be a good one.
pub(super) fn run(command: &mut Command) -> io::Result<()> {
    let done = command.stdin(Stdio::null()).current_dir("/").output()?;
    if done.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    Err(io::Error::other(format!("{:?} failed: {said}", command.get_program())))
}

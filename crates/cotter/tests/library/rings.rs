//! The shape of the source: which ring imports which, where tasks and pauses are made, and that every folder's table is true.
//!
//! The contract, time, errors, names and all stores import nothing that reaches the engine, and no store imports another: so
//! each of them could become a crate of its own.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// What the lower ring is made of, besides the stores.
const LOWER: &[&str] = &[
    "backend",
    "clock",
    "error",
    "join",
    "lock_state",
    "loss",
    "name",
    "net",
    "queue",
    "random",
    "serialize",
    "sql",
    "sync",
    "sys",
    "token",
];
const STORES: &[&str] =
    &["memory", "file", "etcd", "redis", "mysql", "postgres", "quorum", "sqlite", "zookeeper"];

/// Where tasks and pauses are made outside of the engine, which has its own clock and its own runtime.
const TIMED: &[&str] = &[
    // A client and its guards start work on the engine.
    "builder.rs",
    "client.rs",
    "guard/release.rs",
    "signal.rs",
    // The polling loop, and the place where backends put tasks.
    "backend/host.rs",
    "backend/poll.rs",
    "clock/",
    "net/link.rs",
    "net/tcp.rs",
    // The thread that owns the connection to a database.
    "sqlite/connection.rs",
    "sys/",
    "conformance/",
    // The kernel's queue, and looking again at what is held.
    "file/acquire.rs",
    "file/count_gate.rs",
    "file/semaphore.rs",
    "file/flock/backend.rs",
    "file/kernel_queue.rs",
    "file/recheck.rs",
    // The connection to a cluster, and the stream of its watches.
    "etcd/connection.rs",
    "etcd/connector.rs",
    "etcd/live.rs",
    "etcd/watches.rs",
    // Members of a quorum: how long to wait for them, and looking for those that are silent.
    "quorum/seats.rs",
    "quorum/waiting.rs",
    "url/redlock.rs",
    // The connection to a server, and its subscription.
    "redis/connector.rs",
    "redis/live.rs",
    "redis/wake.rs",
    "redis/watched.rs",
    // The connection to an ensemble, and the session that goes on over several of them.
    "zookeeper/connector.rs",
    "zookeeper/link.rs",
    "zookeeper/live.rs",
    "zookeeper/session.rs",
    "mysql/bell.rs",
    "mysql/bells.rs",
    "mysql/connector.rs",
    "mysql/live.rs",
    "mysql/session.rs",
    // The sessions that hold locks, and the tasks that keep them alive.
    "mysql/sessions/",
    "postgres/connector.rs",
    "postgres/listening.rs",
    "postgres/live.rs",
    "postgres/sessions/",
    "sql/sessions/",
    "postgres/wake.rs",
];

/// A file of the library, without its tests and comments.
struct Source {
    /// From `src/` on.
    path: String,
    code: String,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

fn files(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
}

fn sources() -> Vec<Source> {
    let mut found = Vec::new();
    files(&root(), &mut found);
    let is_test = |path: &Path| path.file_name().is_some_and(|n| n == "tests.rs");
    found.retain(|path| !is_test(path));
    found.into_iter().map(Source::read).collect()
}

impl Source {
    fn read(path: PathBuf) -> Self {
        let text = fs::read_to_string(&path).unwrap();
        let text = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
        let code = text.lines().filter(|l| !l.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n");
        let path = path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned();
        Self { path, code }
    }

    /// The module below the root that the file belongs to.
    fn module(&self) -> &str {
        self.path.split(['/', '.']).next().unwrap()
    }

    /// Every name that directly follows `crate::`, in paths and in groups of imports.
    fn imports(&self) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        for rest in self.code.split("crate::").skip(1) {
            match rest.strip_prefix('{') {
                Some(group) => found.extend(top_level(group)),
                None => _ = found.insert(word(rest)),
            }
        }
        found
    }
}

fn word(text: &str) -> String {
    text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}

/// The first word of each item of a group, up to its closing brace.
fn top_level(group: &str) -> Vec<String> {
    let (mut depth, mut item, mut items) = (0, String::new(), Vec::new());
    for c in group.chars() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => items.push(std::mem::take(&mut item)),
            _ if depth == 0 => item.push(c),
            _ => {}
        }
    }
    items.push(item);
    items.iter().map(|i| word(i.trim())).filter(|w| !w.is_empty()).collect()
}

/// The names at the root of the crate, and the module that each comes from.
fn root_names() -> Vec<(String, String)> {
    let lib = Source::read(root().join("lib.rs"));
    let mut names = Vec::new();
    for line in lib.code.replace('\n', " ").split(';') {
        let Some(from) = line.split("use ").nth(1) else { continue };
        let Some((module, rest)) = from.split_once("::") else { continue };
        let items = rest.strip_prefix('{').map_or_else(|| vec![word(rest)], top_level);
        names.extend(items.into_iter().map(|item| (item, module.to_owned())));
    }
    names
}

#[test]
fn stores_and_contract_import_nothing_that_reaches_the_engine() {
    let names = root_names();
    assert!(names.len() > 30, "the root has its names");
    let origin = |import: &str| {
        names.iter().find(|(n, _)| n == import).map_or_else(|| import.to_owned(), |(_, m)| m.clone())
    };
    let mut wrong = Vec::new();
    let mut seen = 0;
    for source in sources() {
        let module = source.module();
        if !LOWER.contains(&module) && !STORES.contains(&module) {
            continue;
        }
        seen += 1;
        for import in source.imports() {
            let from = origin(&import);
            // A contract that names a store would not be one.
            let itself = from == module;
            if !itself && !LOWER.contains(&&*from) {
                wrong.push(format!("{} imports crate::{import}", source.path));
            }
        }
    }
    assert!(seen > 80, "only {seen} files were looked at");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn tasks_and_pauses_are_made_in_known_places_only() {
    let calls = ["sleep(", "sleep_until(", "spawn(", "spawn_blocking(", "interval(", "timeout("];
    // These only say how long: `link.timeout()`, and options of a session and of a driver.
    let only_say = [".timeout()", ".wait_timeout(", ".get_connect_timeout()"];
    let ours = |line: &str| only_say.iter().fold(line.to_owned(), |line, call| line.replace(call, ""));
    let makes = |code: &str| {
        calls.iter().any(|c| code.lines().any(|line| ours(line).contains(c) && !line.contains("fn ")))
    };
    let (mut wrong, mut used) = (Vec::new(), BTreeSet::new());
    for source in sources().into_iter().filter(|s| s.module() != "engine" && makes(&s.code)) {
        match TIMED.iter().find(|place| source.path.starts_with(**place)) {
            Some(place) => _ = used.insert(*place),
            None => wrong.push(source.path),
        }
    }
    assert!(wrong.is_empty(), "use poll::until, Host::spawn or the engine instead: {wrong:?}");
    let unused: Vec<_> = TIMED.iter().filter(|place| !used.contains(*place)).collect();
    // Without a feature its files are read all the same.
    assert!(unused.is_empty(), "strike these from the list: {unused:?}");
}

/// Names of files in the first column of the table in a module's head.
fn table(text: &str) -> BTreeSet<String> {
    let rows = text.lines().filter_map(|l| l.trim_start_matches(['/', '!', ' ']).strip_prefix("| `"));
    rows.filter_map(|row| row.split('|').next())
        .flat_map(|cell| cell.split('`').filter(|w| !w.trim().is_empty() && !w.contains(',')))
        .map(|w| w.trim_end_matches('/').to_owned())
        .collect()
}

#[test]
fn the_table_of_every_folder_is_true() {
    let mut heads = Vec::new();
    files(&root(), &mut heads);
    let mut wrong = Vec::new();
    let mut seen = 0;
    for head in heads.iter().filter(|p| p.file_name().is_some_and(|n| n == "mod.rs")) {
        let text = fs::read_to_string(head).unwrap();
        let has_table = text.contains("| file |") || text.contains("| module |");
        let folder = head.parent().unwrap();
        let stem = |p: PathBuf| p.file_stem().unwrap().to_str().unwrap().to_owned();
        let mut there: BTreeSet<String> =
            fs::read_dir(folder).unwrap().map(|e| stem(e.unwrap().path())).collect();
        for silent in ["mod", "tests"] {
            there.remove(silent);
        }
        // The twins have the table of the folder that they are in.
        let is_twin = ["linux", "portable"].iter().any(|twin| folder.ends_with(twin));
        if !has_table {
            if there.len() > 3 && !is_twin {
                wrong.push(format!("{} has no table", head.display()));
            }
            continue;
        }
        seen += 1;
        let told: BTreeSet<String> =
            table(&text).into_iter().filter(|w| !w.contains(['=', '.', ':'])).collect();
        let missing: Vec<_> = there.difference(&told).collect();
        if !missing.is_empty() {
            wrong.push(format!("{} does not name {missing:?}", head.display()));
        }
    }
    assert!(seen > 5, "only {seen} tables were found");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

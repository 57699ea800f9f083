//! The shape of the sources: which ring imports which, where tasks and pauses are made, that no test
//! compares an elapsed time by itself, that the table of every folder is true, and how large a circle of modules may be.
//!
//! In the library the contract, time, errors, names and all stores import nothing that reaches the engine, and no store imports
//! another: so each of them could become a crate of its own.

mod circles;
mod measured;
mod source;
mod tables;
mod timed;

use source::{Package, sources};

/// The modules of a lower ring, which import only each other.
struct Ring {
    package: Package,
    modules: &'static [&'static str],
    /// Modules that may import the ring and themselves, but not each other.
    leaves: &'static [&'static str],
    /// The ring and its leaves have at least this many files.
    files: usize,
}

/// The contract, and the stores.
const LIBRARY: Ring = Ring {
    package: Package::LIBRARY,
    modules: &[
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
    ],
    leaves: &["memory", "file", "etcd", "redis", "mysql", "postgres", "quorum", "sqlite", "zookeeper"],
    files: 80,
};

/// Cron expressions can be used without the rest of the scheduler.
const CRON: Ring = Ring { package: Package::SCHEDULER, modules: &["cron"], leaves: &[], files: 20 };

/// Definitions, notes, decisions and operators' commands do not reach the runner.
const SCHEDULER: Ring = Ring {
    package: Package::SCHEDULER,
    modules: &[
        "calendar",
        "cron",
        "decide",
        "definition",
        "error",
        "event",
        "hash",
        "job",
        "jobs",
        "notes",
        "one_shot",
        "policy",
        "run",
        "trigger",
    ],
    leaves: &[],
    files: 40,
};

/// What commands of the CLI share imports none of them.
const CLI: Ring = Ring {
    package: Package::CLI,
    modules: &["command", "config", "exit_codes", "global", "nearest", "password", "raise", "store", "table"],
    leaves: &[],
    files: 20,
};

/// Demonstrations and measurements do without each other.
const DEMO: Ring = Ring {
    package: Package::DEMO,
    modules: &["bare_redis", "sibling", "stop_signals", "store"],
    leaves: &["bench", "demo"],
    files: 30,
};

/// Histories, clocks, servers and faults know nothing of the processes and storms that use them.
const TESTKIT: Ring = Ring {
    package: Package::TESTKIT,
    modules: &["altered", "clock", "faulty", "history", "servers", "shifted_clock", "skewed", "timing"],
    leaves: &[],
    files: 20,
};

impl Ring {
    fn violations(&self) -> Vec<String> {
        let names = self.package.root_names();
        let origin = |import: &str| {
            names.iter().find(|(n, _)| n == import).map_or_else(|| import.to_owned(), |(_, m)| m.clone())
        };
        let (mut wrong, mut seen) = (Vec::new(), 0);
        for source in sources(&self.package) {
            let module = source.module();
            if !self.modules.contains(&module) && !self.leaves.contains(&module) {
                continue;
            }
            seen += 1;
            for import in source.imports(&self.package) {
                let from = origin(&import);
                // A contract that names a store would not be one.
                if from != module && !self.modules.contains(&&*from) {
                    wrong.push(format!("{}/src/{} imports {import}", self.package.name, source.path));
                }
            }
        }
        assert!(seen >= self.files, "{}: only {seen} files were looked at", self.package.name);
        wrong
    }
}

#[test]
fn stores_and_contract_import_nothing_that_reaches_the_engine() {
    let wrong = LIBRARY.violations();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn the_lower_rings_of_the_other_packages_are_closed() {
    for ring in [CRON, SCHEDULER, CLI, DEMO, TESTKIT] {
        let wrong = ring.violations();
        assert!(wrong.is_empty(), "{wrong:#?}");
    }
}

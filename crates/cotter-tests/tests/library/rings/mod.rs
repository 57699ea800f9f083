//! The shape of the sources: which ring imports which, where tasks and pauses are made, that no test
//! compares an elapsed time by itself or needs what is not installed, that the table of every folder is true, and how large a circle of modules may be.
//!
//! The folders of the library are its rings: `api/` and `engine/`, which makes guards, over the rest, which is the contract, time,
//! errors, names and `stores/`. No store imports another, only `stores/shared/`: so each of them could become a crate of its own.

mod circles;
mod measured;
mod needs;
mod source;
mod tables;
mod timed;

use source::{PACKAGES, Package, Source, sources};
use std::collections::BTreeSet;

/// The modules of a lower ring, which import only each other.
struct Ring {
    package: Package,
    modules: Vec<String>,
    /// Modules that may import the ring and themselves, but not each other.
    leaves: Vec<String>,
    /// The ring and its leaves have at least this many files.
    files: usize,
}

/// What may import everything below it.
const UPPER: [&str; 3] = ["api", "engine", "conformance"];

/// The contract, and the stores.
fn library() -> Ring {
    let all: BTreeSet<String> = sources(&Package::LIBRARY).iter().map(Source::module).collect();
    let lower = all.into_iter().filter(|module| !UPPER.contains(&&**module) && *module != "lib");
    let is_leaf = |module: &String| module.starts_with("stores/") && module != "stores/shared";
    let (leaves, modules) = lower.partition(is_leaf);
    Ring { package: Package::LIBRARY, modules, leaves, files: 300 }
}

/// Cron expressions can be used without the rest of the scheduler.
fn cron() -> Ring {
    Ring { package: Package::SCHEDULER, modules: names(&["cron"]), leaves: Vec::new(), files: 20 }
}

/// Definitions, notes, decisions and operators' commands do not reach the runner.
fn scheduler() -> Ring {
    Ring {
        package: Package::SCHEDULER,
        modules: names(&[
            "calendar",
            "cron",
            "decide",
            "definition",
            "error",
            "event",
            "hash",
            "host",
            "job",
            "jobs",
            "label",
            "log",
            "notes",
            "one_shot",
            "pausing",
            "policy",
            "run",
            "status",
            "trigger",
        ]),
        leaves: Vec::new(),
        files: 40,
    }
}

/// What commands of the CLI share imports none of them.
fn cli() -> Ring {
    let modules = names(&[
        "command",
        "config",
        "exit_codes",
        "global",
        "nearest",
        "password",
        "prometheus",
        "raise",
        "store",
        "table",
        "watching",
    ]);
    Ring { package: Package::CLI, modules, leaves: Vec::new(), files: 20 }
}

/// Demonstrations and measurements do without each other.
fn demo() -> Ring {
    let (modules, leaves) =
        (names(&["bare_redis", "server_url", "sibling", "store"]), names(&["bench", "demo"]));
    Ring { package: Package::DEMO, modules, leaves, files: 30 }
}

/// A history is judged, told and drawn without the run that made it.
fn verify() -> Ring {
    let modules = names(&["clock", "history", "judge", "plot", "report"]);
    Ring { package: Package::VERIFY, modules, leaves: names(&["client"]), files: 15 }
}

/// Histories, clocks, servers and faults know nothing of the processes and storms that use them.
fn testkit() -> Ring {
    Ring {
        package: Package::TESTKIT,
        modules: names(&[
            "altered",
            "clock",
            "faulty",
            "history",
            "servers",
            "shifted_clock",
            "skewed",
            "timing",
        ]),
        leaves: Vec::new(),
        files: 20,
    }
}

/// The module that a name at the root of the package comes from.
fn origin(names: &[(String, String)], import: &str) -> String {
    names
        .iter()
        .find(|(name, _)| name == import)
        .map_or_else(|| import.to_owned(), |(_, module)| module.clone())
}

fn names(all: &[&str]) -> Vec<String> {
    all.iter().map(|name| (*name).to_owned()).collect()
}

impl Ring {
    fn violations(&self) -> Vec<String> {
        let names = self.package.root_names();
        let (mut wrong, mut seen) = (Vec::new(), 0);
        for source in sources(&self.package) {
            let module = source.module();
            if !self.modules.contains(&module) && !self.leaves.contains(&module) {
                continue;
            }
            seen += 1;
            for import in source.imports(&self.package) {
                let from = origin(&names, &import);
                // A contract that names a store would not be one.
                if from != module && !self.modules.contains(&from) {
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
    let ring = library();
    assert!(ring.leaves.len() == 9 && ring.modules.contains(&"stores/shared".into()), "{:?}", ring.leaves);
    let wrong = ring.violations();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn the_engine_imports_no_store() {
    let (names, mut seen) = (Package::LIBRARY.root_names(), 0);
    for source in sources(&Package::LIBRARY).into_iter().filter(|source| source.module() == "engine") {
        seen += 1;
        for import in source.imports(&Package::LIBRARY) {
            assert!(!origin(&names, &import).starts_with("stores"), "{} imports {import}", source.path);
        }
    }
    assert!(seen > 50, "only {seen} files were looked at");
}

/// Where the lint against unsafe code is lifted.
#[test]
fn one_file_has_unsafe_code() {
    let allows = |package| sources(package).into_iter().filter(|source| source.code.contains("unsafe_code"));
    let found: Vec<String> = PACKAGES.iter().flat_map(allows).map(|source| source.path).collect();
    assert_eq!(found, ["sys/linux/identity/mod.rs"]);
}

#[test]
fn the_lower_rings_of_the_other_packages_are_closed() {
    for ring in [cron(), scheduler(), cli(), demo(), verify(), testkit()] {
        let wrong = ring.violations();
        assert!(wrong.is_empty(), "{wrong:#?}");
    }
}

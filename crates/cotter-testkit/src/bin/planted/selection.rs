//! What is compiled for a bug: one store, where its test needs no other, and the whole workspace otherwise.

use super::bug::Bug;

/// The features of `cotter-tests`, and the modules of its tests that need that feature and no other.
const STORES: [(&str, &[&str]); 6] = [
    ("etcd", &["etcd"]),
    ("mysql", &["mysql"]),
    ("postgres", &["postgres"]),
    ("redis", &["redis", "redlock", "quorum"]),
    ("sqlite", &["sqlite"]),
    ("zookeeper", &["zookeeper"]),
];
/// The modules that need none.
const NO_STORE: [&str; 10] =
    ["election", "file", "flock", "generous", "kept", "latch", "memory", "multi", "mutex", "tickets"];

/// Arguments of `cargo test`; those with the same ones share a build.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Selection(Vec<String>);

impl Selection {
    pub(crate) fn of(bug: &Bug) -> Self {
        let (program, test) = bug.program();
        let words: Vec<String> = match program.last() {
            Some(&"library") => match needs(test) {
                Some(Some(store)) => package("cotter-tests", &[store]),
                Some(None) => package("cotter-tests", &[]),
                None => workspace(),
            },
            Some(&"file_processes") => package("cotter-tests", &[]),
            Some(&"simulation") if test.starts_with("etcd::") => {
                package("cotter-testkit", &["etcd-in-memory"])
            }
            Some(&"simulation") if test.starts_with("zookeeper::") => {
                package("cotter-testkit", &["zookeeper-in-memory"])
            }
            Some(&"faulty" | &"simulation") => package("cotter-testkit", &["redis"]),
            _ => workspace(),
        };
        Self(words)
    }

    /// Whether it is made for this store; `file` and `memory` are what needs no feature.
    pub(crate) fn is_of(&self, store: &str) -> bool {
        let features: &[&str] = if matches!(store, "file" | "memory") { &[] } else { &[store] };
        self.0 == package("cotter-tests", features)
    }

    pub(crate) fn args(&self) -> &[String] {
        &self.0
    }
}

/// The store that a test of the library needs, if it is one or none.
fn needs(test: &str) -> Option<Option<&'static str>> {
    let mut segments = test.split("::");
    let module = segments.next().filter(|module| *module != "conformance").or_else(|| segments.next())?;
    if NO_STORE.contains(&module) {
        return Some(None);
    }
    STORES.iter().find(|(_, modules)| modules.contains(&module)).map(|(store, _)| Some(*store))
}

fn package(name: &str, features: &[&str]) -> Vec<String> {
    let features = features.iter().flat_map(|feature| ["--features".into(), format!("{name}/{feature}")]);
    ["-p".into(), name.into()].into_iter().chain(features).collect()
}

fn workspace() -> Vec<String> {
    ["--workspace".into(), "--all-features".into()].into()
}

#[cfg(test)]
mod tests {
    use super::needs;

    #[test]
    fn the_module_of_a_test_says_what_it_needs() {
        assert_eq!(needs("redis::shares::a"), Some(Some("redis")));
        assert_eq!(needs("conformance::redlock::of_three::a"), Some(Some("redis")));
        assert_eq!(needs("conformance::file::a"), Some(None));
        assert_eq!(needs("tickets::a"), Some(None));
        assert_eq!(needs("stepped::a"), None, "several stores");
    }
}

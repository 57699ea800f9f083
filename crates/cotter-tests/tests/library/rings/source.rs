//! The sources of the packages, and what each file imports.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// A package of this workspace.
pub(super) struct Package {
    pub(super) name: &'static str,
    /// It has at least this many folders with a head.
    pub(super) folders: usize,
    head: &'static str,
}

impl Package {
    pub(super) const LIBRARY: Self = Self { name: "cotter", folders: 33, head: "lib.rs" };
    pub(super) const SCHEDULER: Self = Self { name: "cotter-scheduler", folders: 4, head: "lib.rs" };
    pub(super) const CLI: Self = Self { name: "cotter-cli", folders: 10, head: "main.rs" };
    pub(super) const CONSOLE: Self = Self { name: "cotter-console", folders: 0, head: "lib.rs" };
    pub(super) const DEMO: Self = Self { name: "cotter-demo", folders: 5, head: "lib.rs" };
    pub(super) const VERIFY: Self = Self { name: "cotter-verify", folders: 4, head: "lib.rs" };
    pub(super) const TESTKIT: Self = Self { name: "cotter-testkit", folders: 8, head: "lib.rs" };
    pub(super) const TESTS: Self = Self { name: "cotter-tests", folders: 0, head: "lib.rs" };
    pub(super) const MODELS: Self = Self { name: "cotter-models", folders: 0, head: "lib.rs" };

    pub(super) fn root(&self) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join(self.name).join("src")
    }

    /// The names at the root of the package, and the module that each comes from.
    pub(super) fn root_names(&self) -> Vec<(String, String)> {
        let head = Source::read(self.root().join(self.head), &self.root());
        let mut names = Vec::new();
        for line in head.code.replace('\n', " ").split(';') {
            let Some(from) = line.split("use ").nth(1) else { continue };
            let Some((module, rest)) = from.split_once("::") else { continue };
            let (module, rest) = within(module, rest);
            let items = rest.strip_prefix('{').map_or_else(|| vec![word(rest)], top_level);
            names.extend(items.into_iter().map(|item| (item, module.clone())));
        }
        names
    }
}

/// The folder whose folders are modules of their own.
const STORES: &str = "stores";

pub(super) const PACKAGES: [Package; 9] = [
    Package::LIBRARY,
    Package::SCHEDULER,
    Package::CONSOLE,
    Package::DEMO,
    Package::VERIFY,
    Package::CLI,
    Package::TESTKIT,
    Package::TESTS,
    Package::MODELS,
];

/// A file, without its tests and comments.
pub(super) struct Source {
    /// From `src/` on.
    pub(super) path: String,
    pub(super) code: String,
}

/// Collects the Rust files below a folder.
pub(super) fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
}

pub(super) fn sources(package: &Package) -> Vec<Source> {
    let (root, mut found) = (package.root(), Vec::new());
    files(&root, &mut found);
    let is_test = |path: &Path| {
        path.components().any(|part| ["tests", "tests.rs"].iter().any(|t| part.as_os_str() == *t))
    };
    found.retain(|path| !is_test(path.strip_prefix(&root).unwrap()));
    found.into_iter().map(|path| Source::read(path, &root)).collect()
}

impl Source {
    fn read(path: PathBuf, root: &Path) -> Self {
        let text = fs::read_to_string(&path).unwrap();
        Self::new(path.strip_prefix(root).unwrap().to_str().unwrap(), &text)
    }

    pub(super) fn new(path: &str, text: &str) -> Self {
        let text = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
        let code = text.lines().filter(|l| !l.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n");
        Self { path: path.to_owned(), code }
    }

    /// The module below the root that the file belongs to; a store counts as one.
    pub(super) fn module(&self) -> String {
        let mut parts = self.path.trim_end_matches(".rs").split('/');
        let first = parts.next().unwrap_or_default();
        match parts.next().filter(|part| first == STORES && *part != "mod") {
            Some(store) => format!("{first}/{store}"),
            None => first.to_owned(),
        }
    }

    /// The number of modules from the root to the one in this file.
    fn depth(&self) -> usize {
        let is_head = ["mod.rs", "lib.rs", "main.rs"].iter().any(|head| self.path.ends_with(head));
        self.path.split('/').count() - usize::from(is_head)
    }

    /// Every name at the root of the package that the file uses: those that follow `crate::`, as many `super::` as lead to the
    /// root, or the name of the package itself.
    pub(super) fn imports(&self, package: &Package) -> BTreeSet<String> {
        let up = "super::".repeat(self.depth());
        let beside = "super::".repeat(self.depth().saturating_sub(1));
        let own = format!("{}::", package.name.replace('-', "_"));
        let mut found = names_after(&self.code, "crate::");
        if !up.is_empty() {
            found.extend(names_after(&self.code, &up));
        }
        if self.depth() > 0 {
            found.extend(names_after(&self.code, &own));
        }
        if found.remove(STORES) {
            let stores = names_after(&self.code, &format!("crate::{STORES}::"));
            found.extend(stores.into_iter().map(|store| format!("{STORES}/{store}")));
        }
        if self.path.starts_with(STORES) && !beside.is_empty() {
            let stores = names_after(&self.code, &beside);
            found.extend(stores.into_iter().map(|store| format!("{STORES}/{store}")));
        }
        found
    }
}

/// The module that a public name comes from, and what follows.
fn within<'a>(module: &str, rest: &'a str) -> (String, &'a str) {
    match rest.split_once("::").filter(|_| module == STORES) {
        Some((store, rest)) => (format!("{module}/{store}"), rest),
        None => (module.to_owned(), rest),
    }
}

/// The names that directly follow a path, alone and in groups of imports.
fn names_after(code: &str, path: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (at, _) in code.match_indices(path) {
        // The end of a longer path, or of a longer word.
        if code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':') {
            continue;
        }
        let rest = &code[at + path.len()..];
        match rest.strip_prefix('{') {
            // It leads past the root, in a file that is deeper than this one.
            _ if rest.starts_with("super::") => {}
            Some(group) => found.extend(top_level(group)),
            None => _ = found.insert(word(rest)),
        }
    }
    found
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

#[test]
fn every_way_to_import_from_the_root_is_seen() {
    let code = "use super::super::{api, engine::{self, Core}};\nuse super::state;\nuse crate::{Guard, sys::Link};\n\
        fn f() { cotter::join::g(); pub(crate) fn h() {} super::super::super::no(); my_cotter::no(); }\n// crate::comment";
    let found = |path| Source::new(path, code).imports(&Package::LIBRARY);
    assert_eq!(Vec::from_iter(found("engine/wake.rs")), ["Guard", "api", "engine", "join", "sys"]);
    // `super` leads from the head of a folder to the root at once, and never from a deeper file.
    assert_eq!(Vec::from_iter(found("engine/mod.rs")), ["Guard", "join", "state", "sys"]);
    assert_eq!(Vec::from_iter(found("engine/older/mod.rs")), ["Guard", "api", "engine", "join", "sys"]);
    let code = "use super::super::shared::net::Link;\nuse super::state;\nuse crate::stores::etcd::Live;\nuse crate::stores::{file};";
    let redis = Source::new("stores/redis/wake.rs", code);
    assert_eq!(redis.module(), "stores/redis");
    let imports = redis.imports(&Package::LIBRARY);
    assert_eq!(Vec::from_iter(imports), ["stores/etcd", "stores/file", "stores/shared"]);
}

//! Circles of modules: what is in one can only be understood, tested and changed together.
//!
//! An import is a `use`, or a path that is written out. Names that a module only passes on count for the module that they come
//! from, and calls of methods do not count: a type may have methods in files that know more than its own.

use super::source::{Package, Source, sources};
use std::collections::{BTreeMap, BTreeSet};

/// The largest circle with a part of the engine in it. It had 26 modules before the line had a state of its own.
const ENGINE: usize = 12;
/// The largest of all: `mysql`, whose files import its head and are imported by it.
const LARGEST: usize = 18;

type Path = Vec<String>;

/// What the modules of a package import.
struct Modules {
    imports: BTreeMap<Path, Vec<Path>>,
    /// Names that are passed on, and where each comes from.
    passed_on: BTreeMap<Path, Path>,
}

impl Modules {
    fn of(sources: &[Source]) -> Self {
        let known: BTreeSet<Path> = sources.iter().map(|source| path_of(&source.path)).collect();
        let mut modules = Self { imports: BTreeMap::new(), passed_on: BTreeMap::new() };
        for source in sources {
            let module = path_of(&source.path);
            let absolute = |path: Path| from_the_root(&module, path, &known);
            let (uses, rest) = uses(&source.code);
            for path in uses.iter().filter(|(is_public, _)| *is_public).map(|(_, path)| path.clone()) {
                let name = path.last().cloned().into_iter();
                let name = module.iter().cloned().chain(name).collect();
                absolute(path).map(|from| modules.passed_on.insert(name, from));
            }
            let uses = uses.into_iter().map(|(_, path)| path);
            modules
                .imports
                .insert(module.clone(), uses.chain(written_out(&rest)).filter_map(absolute).collect());
        }
        modules
    }

    /// The module that a name comes from; the root of the package if it is none of these.
    fn origin(&self, path: &[String]) -> Path {
        for length in (1..=path.len()).rev() {
            let start = &path[..length];
            if self.imports.contains_key(start) {
                return start.to_vec();
            }
            if let Some(from) = self.passed_on.get(start).filter(|from| *from != start) {
                return self.origin(&[from, &path[length..]].concat());
            }
        }
        Vec::new()
    }

    /// The modules that each of them cannot do without.
    fn reached(&self) -> BTreeMap<&Path, BTreeSet<Path>> {
        let origins = |paths: &Vec<Path>| paths.iter().map(|path| self.origin(path)).collect::<BTreeSet<_>>();
        let direct: BTreeMap<&Path, BTreeSet<Path>> =
            self.imports.iter().map(|(module, paths)| (module, origins(paths))).collect();
        let all = |module: &Path| {
            let (mut reached, mut next) = (BTreeSet::new(), vec![module]);
            while let Some(module) = next.pop() {
                next.extend(direct[module].iter().filter(|m| !m.is_empty() && reached.insert((*m).clone())));
            }
            reached
        };
        direct.keys().map(|module| (*module, all(module))).collect()
    }

    /// The circle that each module is in, by itself in most cases.
    fn circles(&self) -> BTreeSet<Vec<String>> {
        let reached = self.reached();
        let circle = |module: &Path| {
            let with_it = reached[module].iter().filter(|other| reached[other].contains(module));
            with_it.map(|other| other.join("/")).collect()
        };
        reached.keys().filter(|module| !module.is_empty()).map(|module| circle(module)).collect()
    }
}

fn path_of(file: &str) -> Path {
    let mut path: Path = file.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    path.pop_if(|last| last == "mod" || last == "lib");
    path
}

/// Where a path leads from a module; `None` out of the package.
fn from_the_root(module: &[String], mut path: Path, known: &BTreeSet<Path>) -> Option<Path> {
    let up = path.iter().take_while(|part| *part == "super").count();
    let child = [module, &path[..1]].concat();
    let start = match path[0].as_str() {
        "crate" => &[],
        "self" | "super" => &module[..module.len().checked_sub(up)?],
        _ if known.contains(&child) => return Some([module, &path].concat()),
        _ => return None,
    };
    let rest = path.split_off(up.max(1));
    Some([start, &rest].concat())
}

/// The paths of all `use`, with whether the name is passed on, and the code without them.
fn uses(code: &str) -> (Vec<(bool, Path)>, String) {
    let (mut found, mut rest) = (Vec::new(), String::new());
    for statement in code.split_inclusive(';') {
        let begins = |at: &usize| statement[..*at].ends_with(['\n', ' ', ')']) || *at == 0;
        match statement.match_indices("use ").map(|(at, _)| at).find(begins) {
            Some(at) if !statement[at..].contains(['(', '=', '"']) => {
                let (before, tree) = statement.split_at(at);
                let is_public = before.trim_end().ends_with("pub") || before.trim_end().ends_with(')');
                let mut paths = Vec::new();
                expand(&[], tree.trim_start_matches("use ").trim_end_matches(';'), &mut paths);
                found.extend(paths.into_iter().map(|path| (is_public, path)));
                rest.push_str(before);
            }
            _ => rest.push_str(statement),
        }
    }
    (found, rest)
}

/// Adds the paths of a tree of imports.
fn expand(before: &[String], tree: &str, paths: &mut Vec<Path>) {
    let (start, group) = tree.split_once('{').map_or((tree, None), |(start, group)| (start, Some(group)));
    let name = start.split(" as ").next().unwrap_or_default();
    let parts = name.split("::").map(|part| part.trim().to_owned()).filter(|part| !part.is_empty());
    let path: Path = before.iter().cloned().chain(parts).collect();
    let Some(group) = group else { return paths.extend((!path.is_empty()).then_some(path)) };
    let (mut depth, mut begin) = (0, 0);
    let inside = &group[..group.rfind('}').unwrap_or(group.len())];
    for (at, c) in inside.char_indices().chain([(inside.len(), ',')]) {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                expand(&path, &inside[begin..at], paths);
                begin = at + 1;
            }
            _ => {}
        }
    }
}

/// Paths in the code itself.
fn written_out(code: &str) -> Vec<Path> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    let words = code.split(|c: char| !is_part(c)).map(|word| word.trim_end_matches(':'));
    let inner = words.filter(|word| ["crate::", "super::"].iter().any(|start| word.starts_with(start)));
    inner.map(|word| word.split("::").map(str::to_owned).collect()).collect()
}

#[test]
fn circles_of_modules_stay_small() {
    let found = Modules::of(&sources(&Package::LIBRARY)).circles();
    assert!(found.iter().any(|circle| circle.len() > 2), "none was found: are the imports read?");
    for circle in found {
        let is_of_the_engine = circle.iter().any(|module| module.starts_with("engine"));
        let most = if is_of_the_engine { ENGINE } else { LARGEST };
        assert!(circle.len() <= most, "{} modules in a circle, {most} at most: {circle:#?}", circle.len());
    }
}

#[test]
fn a_circle_is_found_whatever_its_imports_look_like() {
    let sources = [
        ("lib.rs", "mod a;\npub use a::{A, b::B as Other};\nmod c;"),
        (
            "a/mod.rs",
            "pub(crate) mod b;\npub(crate) use b::{\n    B,\n};\nuse std::fmt;\nfn f() { crate::c::g() }",
        ),
        ("a/b.rs", "use super::super::d::{self, D};\n"),
        ("c.rs", "use crate::A;"),
        ("d.rs", "use crate::{Error, a::B};\nfn no() { because(\"of no use \"); }"),
        ("e.rs", "use crate::c::{C, f::G};"),
    ];
    let sources: Vec<_> = sources.iter().map(|(path, code)| Source::new(path, code)).collect();
    let found: Vec<_> =
        Modules::of(&sources).circles().into_iter().filter(|circle| !circle.is_empty()).collect();
    assert_eq!(found, [vec!["a", "c"], vec!["a/b", "d"]]);
}

//! Where the test of a bug stands in the source. A test that was moved or renamed finds nothing any more, and that shows at
//! once, whichever bugs are tried.

use super::Result;
use super::bug::Bug;
use std::fs;
use std::path::{Path, PathBuf};

/// The tests of all crates: the modules that their file stands for, and its text.
pub(crate) struct Sources(Vec<(Vec<String>, String)>);

impl Sources {
    pub(crate) fn read(root: &Path) -> Result<Self> {
        let mut sources = Vec::new();
        for krate in folders(&root.join("crates"))? {
            let programs = folders(&krate.join("tests")).unwrap_or_default();
            for base in programs.iter().chain([&krate.join("src")]) {
                read_all(base, base, &mut sources)?;
            }
        }
        Ok(Self(sources))
    }

    /// An error unless there is a test of this name. The cases of the contract get theirs from a macro.
    pub(crate) fn has(&self, bug: &Bug) -> Result<()> {
        let path = bug.program().1;
        let (modules, test) = path.rsplit_once("::").unwrap_or(("", path));
        let modules: Vec<&str> = modules.split("::").filter(|module| !module.is_empty()).collect();
        let (from_macro, function) = (modules.first() == Some(&"conformance"), format!("fn {test}("));
        let is_it = |(file, text): &(Vec<String>, String)| {
            text.contains(&function) && (from_macro || is_within(&modules, file, text))
        };
        match self.0.iter().any(is_it) {
            true => Ok(()),
            false => Err(format!("{}: there is no test {path}", bug.name).into()),
        }
    }
}

/// Whether modules are those of a file, and such as stand in it.
fn is_within(modules: &[&str], file: &[String], text: &str) -> bool {
    let inner = modules.get(file.len()..);
    modules.iter().zip(file).all(|(one, other)| one == other)
        && inner.is_some_and(|inner| inner.iter().all(|module| text.contains(&format!("mod {module} {{"))))
}

fn folders(of: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(of)?.collect::<Result<Vec<_>, _>>()?;
    Ok(entries.into_iter().map(|entry| entry.path()).filter(|path| path.is_dir()).collect())
}

fn read_all(base: &Path, folder: &Path, sources: &mut Vec<(Vec<String>, String)>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            read_all(base, &path, sources)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            sources.push((modules(path.strip_prefix(base)?), fs::read_to_string(&path)?));
        }
    }
    Ok(())
}

/// `stores/file/mod.rs` is `stores::file`, `main.rs` and `lib.rs` are the root.
fn modules(file: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        file.with_extension("").iter().map(|name| name.to_string_lossy().into_owned()).collect();
    if names.last().is_some_and(|last| ["mod", "main", "lib"].contains(&&**last)) {
        names.pop();
    }
    names
}

#[cfg(test)]
mod tests {
    use super::{is_within, modules};
    use std::path::Path;

    #[test]
    fn a_module_stands_in_its_file_or_in_one_above() {
        let (file, text) = (modules(Path::new("stores/file/prune.rs")), "mod tests {");
        assert!(is_within(&["stores", "file", "prune", "tests"], &file, text));
        assert!(!is_within(&["file", "prune", "tests"], &file, text), "it was moved");
        assert!(!is_within(&["stores", "file", "prune", "other"], &file, text));
        assert!(is_within(&["stores", "file"], &modules(Path::new("stores/file/mod.rs")), ""));
        assert!(!is_within(&["stores"], &file, text));
    }
}

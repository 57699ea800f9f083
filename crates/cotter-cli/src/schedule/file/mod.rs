//! The file of jobs, read as a whole: every mistake is found, and told with its line.
//!
//! | file | concept |
//! |---|---|
//! | `section` | a table of the file, its known keys, what is wrong with their values |
//! | `value` | values as they are written |
//! | `job` | one job, and what it has from `[defaults]` |

mod job;
mod section;
#[cfg(test)]
mod tests;
mod value;

pub(crate) use job::Spec;

use crate::output::{Failure, clean};
use crate::store::Place;
use section::{Mistakes, Section};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;
use toml::de::{DeTable, DeValue};

/// What can stand at the top.
const KEYS: &[&str] = &[
    "group",
    "store",
    "url",
    "workers",
    "timezone",
    "grace",
    "max_clock_offset",
    "history",
    "generation",
    "at_least",
    "defaults",
    "job",
];
/// Keys of a job that may stand at the top too, for all jobs.
const FOR_ALL: &[&str] = &["timezone", "generation", "at_least"];

/// A file without a mistake.
#[derive(Debug)]
pub(crate) struct File {
    pub(crate) path: PathBuf,
    pub(crate) group: String,
    pub(crate) place: Option<Place>,
    pub(crate) workers: Option<usize>,
    pub(crate) grace: Duration,
    pub(crate) max_clock_offset: Option<Duration>,
    pub(crate) history: Option<usize>,
    pub(crate) jobs: Vec<Spec>,
}

impl File {
    /// The keys that differ in the other one and that a running scheduler cannot change.
    pub(crate) fn needs_restart(&self, other: &Self) -> Vec<&'static str> {
        let same = [
            ("group", self.group == other.group),
            ("store", self.place == other.place),
            ("workers", self.workers == other.workers),
            ("grace", self.grace == other.grace),
            ("max_clock_offset", self.max_clock_offset == other.max_clock_offset),
            ("history", self.history == other.history),
        ];
        same.into_iter().filter(|(_, same)| !same).map(|(key, _)| key).collect()
    }
}

/// How long running jobs may take to end, without a choice.
const GRACE: Duration = Duration::from_secs(30);

/// What is wrong, and in which line.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Mistake {
    pub(crate) line: usize,
    pub(crate) message: String,
}

impl Mistake {
    pub(crate) fn of(&self, path: &Path) -> String {
        format!("{}, line {}: {}", clean(&path.to_string_lossy()), self.line, clean(&self.message))
    }
}

/// Reads it; all mistakes in order of their lines.
pub(crate) fn read(path: &Path) -> Result<Result<File, Vec<Mistake>>, Failure> {
    let text = fs::read_to_string(path)
        .map_err(|e| Failure::config(format!("{}: cannot be read: {e}", clean(&path.to_string_lossy()))))?;
    Ok(parse(path, &text))
}

fn parse(path: &Path, text: &str) -> Result<File, Vec<Mistake>> {
    let (root, broken) = DeTable::parse_recoverable(text);
    let mut mistakes = Mistakes::new(text);
    for error in &broken {
        mistakes.add(error.span().map_or(0, |span| span.start), error.message());
    }
    if !broken.is_empty() {
        return Err(mistakes.all());
    }
    let file = understand(path, root.get_ref(), &mut mistakes);
    let found = mistakes.all();
    match file {
        Some(file) if found.is_empty() => Ok(file),
        _ => Err(found),
    }
}

/// `None` only after a mistake was noted.
fn understand(path: &Path, root: &DeTable<'_>, mistakes: &mut Mistakes<'_>) -> Option<File> {
    let top = Section::new(root, 0, "");
    top.check_keys(KEYS, mistakes);
    let defaults = match root.get("defaults").map(|value| (value.span().start, value.get_ref())) {
        Some((at, DeValue::Table(table))) => Some(Section::new(table, at, "[defaults]: ")),
        Some((at, _)) => {
            mistakes.add(at, "`defaults` is a table: write [defaults]");
            None
        }
        None => None,
    };
    if let Some(defaults) = &defaults {
        defaults.check_keys(job::SHARED, mistakes);
    }
    let jobs = jobs(root, &top, defaults.as_ref(), mistakes);
    let group = top.get("group", mistakes, value::text);
    if root.get("group").is_none() {
        mistakes.add(0, "`group` is missing: the locks of the jobs are called \"<group>/<job>\"");
    }
    if let (Some(group), Some(at)) = (&group, root.get("group")) {
        check_names(group, at.span().start, &jobs, mistakes);
    }
    let place = place(&top, mistakes);
    let workers = top.get("workers", mistakes, value::count);
    let grace = top.get("grace", mistakes, value::duration).unwrap_or(GRACE);
    let max_clock_offset = top.get("max_clock_offset", mistakes, value::positive);
    let history = top.get("history", mistakes, value::count);
    Some(File { path: path.into(), group: group?, place, workers, grace, max_clock_offset, history, jobs })
}

fn jobs(
    root: &DeTable<'_>,
    top: &Section<'_>,
    defaults: Option<&Section<'_>>,
    mistakes: &mut Mistakes<'_>,
) -> Vec<Spec> {
    let Some(value) = root.get("job") else {
        mistakes.add(0, "there is no job: write [job.NAME]");
        return Vec::new();
    };
    let DeValue::Table(all) = value.get_ref() else {
        mistakes.add(value.span().start, "`job` is a table of jobs: write [job.NAME]");
        return Vec::new();
    };
    let mut found = Vec::new();
    for (name, value) in all {
        let at = name.span().start;
        let DeValue::Table(table) = value.get_ref() else {
            mistakes.add(at, format!("job {:?} is a table: write [job.{}]", name.get_ref(), name.get_ref()));
            continue;
        };
        let section = Section::new(table, at, format!("job {:?}: ", name.get_ref()))
            .or(defaults, job::SHARED)
            .or(Some(top), FOR_ALL);
        found.extend(Spec::read(name.get_ref(), &section, mistakes));
    }
    found
}

/// The names of the locks, before anything runs.
fn check_names(group: &str, at: usize, jobs: &[Spec], mistakes: &mut Mistakes<'_>) {
    if let Err(error) = cotter::Name::new(group) {
        mistakes.add(at, format!("`group`: {error}"));
        return;
    }
    for job in jobs {
        if let Err(error) = cotter::Name::new(format!("{group}/{}", job.name)) {
            mistakes.add(job.at, format!("job {:?}: {error}", job.name));
        }
    }
}

fn place(top: &Section<'_>, mistakes: &mut Mistakes<'_>) -> Option<Place> {
    let store = top.get("store", mistakes, value::text);
    let url = top.get("url", mistakes, value::text);
    match (store, url) {
        (Some(_), Some(_)) => {
            mistakes.add(top.at_key("url"), "`url` and `store` are both given: leave one of them out");
            None
        }
        (Some(name), None) => Some(Place::Named(name)),
        (None, url) => url.map(Place::Url),
    }
}

//! The job file. It is parsed completely, so that every mistake is reported with its line.
//!
//! | file | concept |
//! |---|---|
//! | `section` | a table of the file, its known keys, and mistakes |
//! | `value` | parsing of values |
//! | `job` | a job, with its `[defaults]` |
//! | `env`, `trigger` | the environment of a job; its trigger |
//! | `chain` | jobs that run after others of the file |
//! | `doubts` | what is allowed and probably a mistake |
//! | `example` | the example in `docs/jobs.md` |

mod chain;
mod doubts;
mod env;
mod job;
mod section;
#[cfg(test)]
mod tests;
mod trigger;
mod value;

pub(crate) use job::Spec;

use crate::store::StoreRef;
use cotter::Client;
use cotter_console::{Failure, clean};
use cotter_scheduler::Label;
use section::{Mistakes, Section};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;
use toml::de::{DeTable, DeValue};

/// The keys at the top level.
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
/// Keys of a job that are also allowed at the top level.
const FOR_ALL: &[&str] = &["timezone", "generation", "at_least"];

/// A valid job file.
#[derive(Debug)]
pub(crate) struct File {
    pub(crate) path: PathBuf,
    pub(crate) group: String,
    pub(crate) place: Option<StoreRef>,
    pub(crate) workers: Option<usize>,
    pub(crate) grace: Duration,
    pub(crate) max_clock_offset: Option<Duration>,
    pub(crate) history: Option<usize>,
    pub(crate) jobs: Vec<Spec>,
    /// The jobs that were [left](Self::settle) to others, but for those of which each host has its own.
    pub(crate) others: Vec<Spec>,
    /// What is said of those that were left.
    pub(crate) left: String,
}

impl File {
    /// Makes this the file of one host: leaves those jobs to others that need labels which it does not have, and gives it its
    /// own of those that run on each host.
    pub(crate) fn settle(&mut self, host: &str, labels: &BTreeSet<Label>) {
        // Hosts that have not been given a name would share a job.
        let own = Label::of_host(host).ok().filter(|_| host != "localhost");
        let labels: BTreeSet<_> = labels.iter().chain(&own).collect();
        let is_ours = |job: &Spec| {
            job.on().iter().all(|label| labels.contains(label)) && (own.is_some() || !job.is_for_each())
        };
        let (mut ours, others): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.jobs).into_iter().partition(is_ours);
        let mut on_each = ours.iter_mut().filter(|job| job.is_for_each());
        own.iter().for_each(|own| on_each.by_ref().for_each(|job| job.settle(host, own)));
        self.jobs = ours;
        let (Some(first), count) = (others.first(), others.len()) else { return };
        let needs = |job: &Spec| {
            let name = (job.is_for_each() && own.is_none()).then_some("a name of their own");
            job.on().iter().map(Label::as_str).chain(name).collect::<Vec<_>>().join(" and ")
        };
        let needs: BTreeSet<_> = others.iter().map(needs).collect();
        let needs = needs.into_iter().collect::<Vec<_>>().join(" or ");
        self.left = match count {
            1 => format!("; {:?} is left to hosts with {needs}", clean(&first.name)),
            _ => format!("; {count} others are left to hosts with {needs}"),
        };
        self.others = others.into_iter().filter(|job| !job.is_for_each()).collect();
    }

    /// The jobs of all hosts: of one that runs on each host, that of this host, if it has the labels, and those of the hosts that
    /// the store knows by these names of jobs.
    pub(crate) fn of_all_hosts(
        &self,
        host: &str,
        labels: &BTreeSet<Label>,
        known: &BTreeSet<String>,
    ) -> Vec<Spec> {
        let mut all = Vec::new();
        for job in &self.jobs {
            if !job.is_for_each() {
                all.push(job.clone());
                continue;
            }
            let own = job.on().is_subset(labels).then_some(host).filter(|host| *host != "localhost");
            let prefix = format!("{}@", job.name);
            let others = known.iter().filter_map(|name| name.strip_prefix(&prefix));
            for host in own.into_iter().chain(others).collect::<BTreeSet<_>>() {
                let Ok(label) = Label::of_host(host) else { continue };
                let mut job = job.clone();
                job.settle(host, &label);
                all.push(job);
            }
        }
        all
    }

    /// The keys that differ and cannot be changed without a restart.
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

/// The default grace period of the shutdown.
const GRACE: Duration = Duration::from_secs(30);

/// A mistake and its line.
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

/// Reads a job file. Mistakes are in the order of their lines.
pub(crate) fn read(path: &Path) -> Result<Result<File, Vec<Mistake>>, Failure> {
    Ok(parse(path, &text(path)?))
}

/// What stands in a file.
pub(crate) fn text(path: &Path) -> Result<String, Failure> {
    fs::read_to_string(path)
        .map_err(|e| Failure::config(format!("{}: cannot be read: {e}", clean(&path.to_string_lossy()))))
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
    let file = parse_tables(path, root.get_ref(), &mut mistakes);
    let found = mistakes.all();
    match file {
        Some(file) if found.is_empty() => Ok(file),
        _ => Err(found),
    }
}

/// Returns `None` only after recording a mistake.
fn parse_tables(path: &Path, root: &DeTable<'_>, mistakes: &mut Mistakes) -> Option<File> {
    let top = Section::new(root, 0, "");
    top.check_keys(KEYS, mistakes);
    let defaults = match root.get("defaults").map(|value| (value.span().start, value.get_ref())) {
        Some((at, DeValue::Table(table))) => Some(Section::new(table, at, "[defaults]: ")),
        Some((at, _)) => {
            mistakes.add(at, "`defaults` has to be a table: write [defaults]");
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
        mistakes.add(0, "`group` is missing: the locks of the jobs are named \"<group>/<job>\"");
    }
    check_names(group.as_deref(), top.at_key("group"), &jobs, mistakes);
    chain::check(&jobs, mistakes);
    let place = place(&top, mistakes);
    if let Some(StoreRef::Url(url)) = &place
        && let Err(error) = Client::builder().schema(url)
    {
        mistakes.add(top.at_key("url"), format!("`url`: {error}"));
    }
    let workers = top.get("workers", mistakes, value::count);
    let grace = top.get("grace", mistakes, value::duration).unwrap_or(GRACE);
    let max_clock_offset = top.get("max_clock_offset", mistakes, value::positive);
    let history = top.get("history", mistakes, value::history);
    let (path, group, others, left) = (path.into(), group?, Vec::new(), String::new());
    Some(File { path, group, place, workers, grace, max_clock_offset, history, jobs, others, left })
}

fn jobs(
    root: &DeTable<'_>,
    top: &Section<'_>,
    defaults: Option<&Section<'_>>,
    mistakes: &mut Mistakes,
) -> Vec<Spec> {
    let Some(value) = root.get("job") else {
        mistakes.add(0, "there is no job: add [job.NAME]");
        return Vec::new();
    };
    let DeValue::Table(all) = value.get_ref() else {
        mistakes.add(value.span().start, "`job` has to be a table of jobs: write [job.NAME]");
        return Vec::new();
    };
    let mut found = Vec::new();
    for (name, value) in all {
        let at = name.span().start;
        let DeValue::Table(table) = value.get_ref() else {
            mistakes.add(
                at,
                format!("job {:?} has to be a table: write [job.{}]", name.get_ref(), name.get_ref()),
            );
            continue;
        };
        let section = Section::new(table, at, format!("job {:?}: ", name.get_ref()))
            .or(defaults, job::SHARED)
            .or(Some(top), FOR_ALL);
        found.push(Spec::read(name.get_ref(), &section, mistakes));
    }
    found
}

/// Stands for a group that has no name, or a wrong one: no lock of a job is named after it.
const NO_GROUP: &str = "\u{e000}";

/// Checks the name of the group, and what the scheduler would refuse.
fn check_names(group: Option<&str>, at: usize, jobs: &[Spec], mistakes: &mut Mistakes) {
    let wrong = group.and_then(|group| cotter::Name::new(group).err());
    wrong.iter().for_each(|error| mistakes.add(at, format!("`group`: {error}")));
    let group = group.filter(|_| wrong.is_none()).unwrap_or(NO_GROUP);
    for spec in jobs {
        let wrong = spec.job(|_| async {}).mistakes(group);
        wrong.iter().for_each(|error| mistakes.add(spec.at, error.to_string()));
    }
}

fn place(top: &Section<'_>, mistakes: &mut Mistakes) -> Option<StoreRef> {
    let store = top.get("store", mistakes, value::text);
    let url = top.get("url", mistakes, value::text);
    match (store, url) {
        (Some(_), Some(_)) => {
            mistakes.add(top.at_key("url"), "`url` and `store` cannot both be set: leave one of them out");
            None
        }
        (Some(name), None) => Some(StoreRef::Named(name)),
        (None, url) => url.map(StoreRef::Url),
    }
}

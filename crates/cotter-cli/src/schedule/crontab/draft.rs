//! The job file for a crontab, with a comment for everything that is not as it was.

use super::line::{Entry, Line};
use super::{flock, name, shell};
use cotter_console::clean;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use toml::Value;

/// What cron does and a job does not, or the other way round.
const HEAD: &str = "\
# - cron ran each line on every host that had it; cotter runs each slot on one of those with this file.
# - cron did not wait for the run before; here a slot that becomes due during a run of its job is left out.
# - cron mailed all output; here it goes to the output of the scheduler, and a failure to `on_failure`.
# - cron started commands in the home of the user, with PATH=/usr/bin:/bin unless the crontab set it; here they have the
#   folder and the environment of the scheduler, unless `cwd` and `env` say otherwise.
";

/// They tell cron itself something.
const OF_CRON: [&str; 3] = ["MAILFROM", "CONTENT_TYPE", "CONTENT_TRANSFER_ENCODING"];

/// The jobs of a crontab.
pub(super) struct Draft<'a> {
    jobs: Vec<Job<'a>>,
    at_boot: Vec<&'a Entry>,
}

struct Job<'a> {
    entry: &'a Entry,
    name: String,
    script: String,
    note: Option<String>,
    variables: Variables,
}

/// Those that were set above a line.
#[derive(Debug, Clone, Default)]
struct Variables {
    env: BTreeMap<String, String>,
    shell: Option<String>,
    mail_to: Option<String>,
    zone: Option<String>,
}

impl Variables {
    fn set(&mut self, name: &str, value: &str) {
        let value = value.to_owned();
        match name {
            "SHELL" => self.shell = Some(value).filter(|shell| shell != "/bin/sh"),
            "MAILTO" => self.mail_to = Some(value).filter(|to| !to.is_empty()),
            "CRON_TZ" => self.zone = Some(value),
            name if OF_CRON.contains(&name) => {}
            name => drop(self.env.insert(name.into(), value)),
        }
    }

    fn on_failure(&self) -> Option<String> {
        let to = shell::quoted(self.mail_to.as_deref()?);
        Some(format!(r#"printf '%s\n' "$COTTER_OUTPUT" | mail -s "$COTTER_JOB: $COTTER_REASON" {to}"#))
    }
}

impl<'a> Draft<'a> {
    pub(super) fn of(lines: &'a [Line]) -> Self {
        let (mut variables, mut draft) =
            (Variables::default(), Self { jobs: Vec::new(), at_boot: Vec::new() });
        for line in lines {
            match line {
                Line::Variable { name, value } => variables.set(name, value),
                Line::Entry(entry) if entry.is_at_boot() => draft.at_boot.push(entry),
                Line::Entry(entry) => {
                    let job = draft.job(entry, variables.clone(), lines);
                    draft.jobs.push(job);
                }
            }
        }
        draft
    }

    /// The job for an entry, without a flock(1) whose file no other line has.
    fn job(&self, entry: &'a Entry, variables: Variables, lines: &[Line]) -> Job<'a> {
        let wrapped = flock::of(&entry.command);
        let is_shared = wrapped.is_some_and(|wrapped| has_file_of_others(lines, wrapped.file));
        let note = wrapped.map(|flock::Wrapped { file, .. }| match is_shared {
            true => format!(
                "`flock` stays: other lines have {file}, too. `lock = \"…\"` in each of them does it on all hosts."
            ),
            false => format!("`flock -n {file}` is gone: the lock of the job does it, on all hosts."),
        });
        let command = wrapped.map_or(&*entry.command, |wrapped| wrapped.command);
        let name = name::unique(command, |name| self.jobs.iter().any(|job| job.name == name));
        let script = shell::script(if is_shared { &entry.command } else { command });
        Job { entry, name, script, note, variables }
    }

    pub(super) fn jobs(&self) -> usize {
        self.jobs.len()
    }

    /// What is probably not what was meant.
    pub(super) fn doubts(&self, has_users: bool) -> Vec<String> {
        let (mut doubts, entries) = (Vec::new(), self.jobs.iter().map(|job| job.entry));
        if self.jobs() == 0 {
            doubts.push("no line has a time and a command, so the file has no job".into());
        }
        if !has_users && self.jobs() > 0 && entries.clone().all(|entry| entry.command.starts_with("root ")) {
            doubts.push("each command begins with `root`; if that is the user, add --user-column".into());
        }
        if entries.filter_map(|entry| entry.user.as_deref()).any(|user| user != "root") {
            doubts
                .push("`runuser` needs a scheduler that runs as root; or write a file for each user".into());
        }
        for entry in &self.at_boot {
            doubts.push(format!("line {}: `@reboot` has no counterpart and is left out", entry.number));
        }
        doubts
    }

    /// The file. A zone without a name is left to the reader.
    pub(super) fn text(&self, path: &Path, zone: Option<&str>) -> String {
        let mut out = format!(
            "# From {}. Look at each job before several hosts run it:\n{HEAD}",
            clean(&path.to_string_lossy())
        );
        key(&mut out, "group", "crontab");
        match zone {
            Some(zone) => key(&mut out, "timezone", zone),
            None => {
                out.push_str("# timezone = \"…\"   # that of this host has no name; without this it is UTC\n")
            }
        }
        let (env, on_failure) = (self.common_env(), self.common_on_failure());
        if !env.is_empty() || on_failure.is_some() {
            out.push_str("\n[defaults]\n");
            table(&mut out, &env);
            on_failure.iter().for_each(|script| key(&mut out, "on_failure", script));
        }
        for entry in &self.at_boot {
            let _ = write!(out, "\n# Line {}: {}\n", entry.number, clean(&entry.text));
            out.push_str("# Left out: no slot of a job belongs to the start of a host. Its service manager can start the command.\n");
        }
        for job in &self.jobs {
            job.write(&mut out, &env, on_failure.as_ref());
        }
        out
    }

    /// The variables that are the same for all jobs.
    fn common_env(&self) -> BTreeMap<String, String> {
        let mut jobs = self.jobs.iter().map(|job| &job.variables.env);
        let mut common = jobs.next().cloned().unwrap_or_default();
        jobs.for_each(|env| common.retain(|name, value| env.get(name) == Some(value)));
        common
    }

    fn common_on_failure(&self) -> Option<String> {
        let mut jobs = self.jobs.iter().map(|job| job.variables.on_failure());
        let first = jobs.next()??;
        jobs.all(|other| other.as_ref() == Some(&first)).then_some(first)
    }
}

impl Job<'_> {
    fn write(&self, out: &mut String, common: &BTreeMap<String, String>, on_failure: Option<&String>) {
        let _ = write!(out, "\n# Line {}: {}\n", self.entry.number, clean(&self.entry.text));
        if let Some(note) = &self.note {
            let _ = writeln!(out, "# {}", clean(note));
        }
        let _ = writeln!(out, "[job.{}]", self.name);
        key(out, "crontab", &self.entry.times);
        self.variables.zone.iter().for_each(|zone| key(out, "timezone", zone));
        match self.words() {
            None => key(out, "shell", &self.script),
            Some(words) => {
                let words = words.into_iter().map(|word| Value::String(word.into())).collect();
                let _ = writeln!(out, "command = {}", Value::Array(words));
            }
        }
        let mut own = self.variables.env.clone();
        own.retain(|name, _| !common.contains_key(name));
        table(out, &own);
        let script = self.variables.on_failure().filter(|script| Some(script) != on_failure);
        script.iter().for_each(|script| key(out, "on_failure", script));
    }

    /// Where it is not the shell of the scheduler's user that runs the script.
    fn words(&self) -> Option<Vec<&str>> {
        let user = self.entry.user.as_deref().filter(|user| *user != "root");
        let shell = self.variables.shell.as_deref();
        if user.is_none() && shell.is_none() {
            return None;
        }
        let mut words = user.map_or_else(Vec::new, |user| vec!["runuser", "-u", user, "--"]);
        words.extend([shell.unwrap_or("/bin/sh"), "-c", &self.script]);
        Some(words)
    }
}

/// Whether more than one line takes this file's flock(1).
fn has_file_of_others(lines: &[Line], file: &str) -> bool {
    let takes = |line: &&Line| matches!(line, Line::Entry(entry) if flock::of(&entry.command).is_some_and(|wrapped| wrapped.file == file));
    lines.iter().filter(takes).count() > 1
}

fn key(out: &mut String, key: &str, value: &str) {
    let _ = writeln!(out, "{key} = {}", Value::String(value.into()));
}

fn table(out: &mut String, env: &BTreeMap<String, String>) {
    if !env.is_empty() {
        let pairs: Vec<_> =
            env.iter().map(|(name, value)| format!("{name} = {}", Value::String(value.clone()))).collect();
        let _ = writeln!(out, "env = {{ {} }}", pairs.join(", "));
    }
}

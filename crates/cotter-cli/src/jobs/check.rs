//! `cotter jobs check`: whether all is well, for monitoring.

use super::unseen::OnEach;
use clap::Args;
use cotter_console::duration::{parse, parse_positive, words};
use cotter_console::job::{failure, held, no_worker, nobody_has};
use cotter_console::requests::nobody;
use cotter_console::{Console, Exit, Failure, clean};
use cotter_scheduler::{Ending, JobStatus, Jobs, UnixTime, WaitsFor};
use serde_json::{Value, json};
use std::io::Write;
use std::time::Duration;

/// Which jobs, and what is tolerated.
#[derive(Debug, Args)]
pub(super) struct Check {
    /// Only these jobs; default: all jobs of the group
    #[arg(value_name = "JOB")]
    jobs: Vec<String>,
    /// Tolerate that a job is started this much too late
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = parse)]
    max_overdue: Duration,
    /// Also report jobs that have not succeeded for this long, unless they are paused
    #[arg(long, value_name = "DURATION", value_parser = parse_positive)]
    max_age: Option<Duration>,
}

/// Something that somebody has to look at.
#[derive(Debug, PartialEq, Eq)]
struct Problem {
    /// None: it concerns the whole group.
    job: Option<String>,
    kind: Kind,
    since: Option<UnixTime>,
    message: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    NoScheduler,
    Orphaned,
    Overdue,
    Failed,
    Stale,
}

impl Kind {
    fn as_str(self) -> &'static str {
        match self {
            Self::NoScheduler => "no_scheduler",
            Self::Orphaned => "orphaned",
            Self::Overdue => "overdue",
            Self::Failed => "failed",
            Self::Stale => "stale",
        }
    }
}

/// Prints what is wrong, or one line that all is well.
pub(super) async fn run(
    jobs: &Jobs,
    which: &Check,
    on_each: &[OnEach],
    console: &Console,
) -> Result<Exit, Failure> {
    let hosts = jobs.hosts().await?;
    let all = jobs.list().await?;
    let now = jobs.now().await?;
    let is_chosen =
        |job: &&OnEach| job.is_unseen(&all) && (which.jobs.is_empty() || which.jobs.contains(&job.name));
    let unseen: Vec<_> = on_each.iter().filter(is_chosen).collect();
    let chosen = chosen(all, which, &unseen)?;
    let mut problems = Vec::new();
    if hosts.is_empty() {
        problems.push(Problem { job: None, kind: Kind::NoScheduler, since: None, message: nobody() });
    }
    for job in &chosen {
        problems.extend(which.problems(job, now, !hosts.is_empty()));
    }
    for job in unseen.into_iter().filter(|_| !hosts.is_empty()) {
        let (job, message) = (Some(job.name.clone()), job.message());
        problems.push(Problem { job, kind: Kind::Orphaned, since: None, message });
    }
    for problem in &problems {
        match console.json {
            true => writeln!(console.out(), "{}", problem.object())?,
            false => writeln!(console.out(), "{}", problem.line())?,
        }
    }
    if !problems.is_empty() {
        return Ok(Exit::Unclean);
    }
    if !console.json {
        writeln!(console.out(), "{}", all_well(&chosen, hosts.len()))?;
    }
    Ok(Exit::Done)
}

fn chosen(all: Vec<JobStatus>, which: &Check, unseen: &[&OnEach]) -> Result<Vec<JobStatus>, Failure> {
    // One that runs on each host has the host behind its name.
    let is_one_of = |job: &JobStatus, name: &String| {
        job.name.strip_prefix(&**name).is_some_and(|rest| rest.is_empty() || rest.starts_with('@'))
    };
    let is_known = |name: &String| {
        all.iter().any(|job| is_one_of(job, name)) || unseen.iter().any(|job| job.name == *name)
    };
    if let Some(unknown) = which.jobs.iter().find(|name| !is_known(name)) {
        let why =
            format!("this group has no job {unknown:?}; only jobs that have already been started are known");
        return Err(Failure::usage(why));
    }
    let is_chosen =
        |job: &JobStatus| which.jobs.is_empty() || which.jobs.iter().any(|name| is_one_of(job, name));
    Ok(all.into_iter().filter(is_chosen).collect())
}

fn all_well(jobs: &[JobStatus], hosts: usize) -> String {
    let count = |n, one: &str| if n == 1 { format!("1 {one}") } else { format!("{n} {one}s") };
    let paused = jobs.iter().filter(|job| job.paused).count();
    let paused = if paused > 0 { format!(", {paused} of them paused") } else { String::new() };
    format!("ok: {}{paused}; {}", count(jobs.len(), "job"), count(hosts, "scheduler"))
}

impl Check {
    /// What is wrong with a job. If no scheduler runs, that is said once and not of each job.
    fn problems(&self, job: &JobStatus, now: UnixTime, has_hosts: bool) -> Vec<Problem> {
        let problem = |kind, since, message| Problem { job: Some(job.name.clone()), kind, since, message };
        let overdue = job.overdue_since.filter(|since| now.since(*since) > self.max_overdue).map(|since| {
            let waits_for = |wait: &WaitsFor| format!("; waits for {}{}", clean(&wait.lock), held(wait));
            let waits: String = job.waits.iter().map(waits_for).collect();
            let (late, workers) = (words(now.since(since)), no_worker(job));
            problem(Kind::Overdue, Some(since), format!("overdue for {late}{waits}{workers}"))
        });
        let orphaned = (job.orphaned && has_hosts).then(|| problem(Kind::Orphaned, None, nobody_has(job)));
        let failed = failure(job).map(|ending| {
            let how = match ending {
                Ending::Stopped => "was stopped with its scheduler".to_owned(),
                Ending::Lost => "lost its lock".to_owned(),
                by @ Ending::StoppedBy(_) => format!("was {}", clean(&by.to_string())),
                other => clean(&other.to_string()),
            };
            problem(Kind::Failed, job.ended, format!("its last run {how}"))
        });
        [overdue, orphaned, failed, self.stale(job, now)].into_iter().flatten().collect()
    }

    /// A job that has never succeeded counts from its first start on.
    fn stale(&self, job: &JobStatus, now: UnixTime) -> Option<Problem> {
        let since = job.succeeded.unwrap_or(job.first_started);
        let age = now.since(since);
        let is_stale = self.max_age.is_some_and(|most| age > most) && !job.paused;
        is_stale.then(|| Problem {
            job: Some(job.name.clone()),
            kind: Kind::Stale,
            since: Some(since),
            message: match job.succeeded {
                Some(_) => format!("its last success was {} ago", words(age)),
                None => format!("it has never succeeded, and was first started {} ago", words(age)),
            },
        })
    }
}

impl Problem {
    fn line(&self) -> String {
        match &self.job {
            Some(job) => format!("{}: {}", clean(job), self.message),
            None => self.message.clone(),
        }
    }

    fn object(&self) -> Value {
        json!({
            "job": self.job,
            "problem": self.kind.as_str(),
            "since": self.since.map(|since| format!("{since:.3}")),
            "message": self.message,
        })
    }
}

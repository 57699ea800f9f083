//! All figures as text. docs/jobs.md lists them; a test compares.

use super::Status;
use super::figures::{BOUNDS, Histogram, JobFigures};
use super::health::Health;
use super::locks::AllLocks;
use super::locks_page;
use crate::prometheus::Page;
use cotter_scheduler::{Ending, JobStatus, UnixTime, Workers};
use std::collections::BTreeMap;

type All = BTreeMap<String, JobFigures>;

/// What this process has seen itself.
pub(super) struct Own {
    pub(super) jobs: All,
    pub(super) locks: AllLocks,
    /// None before the scheduler has started.
    pub(super) workers: Option<Workers>,
}

/// The page.
pub(super) fn page(group: &str, own: &Own, health: &Health, status: Option<&Status>) -> String {
    let (mut page, all) = (Page::default(), &own.jobs);
    runs(&mut page, group, all);
    if let Some(count) = own.workers {
        workers(&mut page, group, count);
    }
    let lateness = "Delay from slot to start of run, or from the request for the slot, by the store's clock; first attempts only.";
    histograms(&mut page, group, all, "cotter_job_lateness_seconds", lateness, |job| &job.lateness);
    histograms(&mut page, group, all, "cotter_job_duration_seconds", "Duration of runs.", |job| {
        &job.duration
    });
    locks_page::locks(&mut page, group, &own.locks);
    store(&mut page, group, health, status.is_some());
    if let Some(status) = status {
        shared(&mut page, group, status);
    }
    page.finish()
}

/// Counters of this process.
fn runs(page: &mut Page, group: &str, all: &All) {
    let name = "cotter_job_runs_total";
    page.metric(name, "counter", "Runs and attempts that have ended in this process, by outcome.");
    for (job, figures) in all {
        // These are there from the beginning, so that a first failure is an increase.
        let usual = [Ending::Ok.word(), Ending::Failed(String::new()).word()].map(|word| (word, 0));
        let mut runs = BTreeMap::from(usual);
        runs.extend(&figures.runs);
        for (outcome, count) in runs {
            page.sample(name, &[("group", group), ("job", job), ("outcome", outcome)], count);
        }
    }
    let name = "cotter_job_slots_dropped_total";
    page.metric(
        name,
        "counter",
        "Slots that were not run: passed during a run, missed, or merged in a long backlog.",
    );
    for (job, figures) in all {
        let reasons = [("skipped", figures.skipped), ("missed", figures.missed), ("merged", figures.merged)];
        for (reason, count) in reasons {
            page.sample(name, &[("group", group), ("job", job), ("reason", reason)], count);
        }
    }
    let retries = "cotter_job_retries_total";
    page.metric(retries, "counter", "Failed runs that are retried.");
    for (job, figures) in all {
        page.sample(retries, &[("group", group), ("job", job)], figures.retries);
    }
    let running = "cotter_job_running";
    page.metric(running, "gauge", "Runs in progress in this process.");
    for (job, figures) in all {
        page.sample(running, &[("group", group), ("job", job)], figures.running);
    }
}

fn workers(page: &mut Page, group: &str, count: Workers) {
    let mut gauge = |name: &str, help: &str, value: usize| {
        page.metric(name, "gauge", help);
        page.sample(name, &[("group", group)], value as u64);
    };
    gauge("cotter_scheduler_workers", "Workers of this process.", count.all);
    gauge("cotter_scheduler_workers_busy", "Workers of this process that run jobs.", count.busy);
}

fn histograms(
    page: &mut Page,
    group: &str,
    all: &All,
    name: &str,
    help: &str,
    of: fn(&JobFigures) -> &Histogram,
) {
    page.metric(name, "histogram", help);
    for (job, figures) in all {
        histogram(page, name, [("group", group), ("job", job)], of(figures));
    }
}

pub(super) fn histogram(page: &mut Page, name: &str, labels: [(&str, &str); 2], of: &Histogram) {
    let (bucket, [group, what], mut below) = (format!("{name}_bucket"), labels, 0);
    for (bound, count) in BOUNDS.iter().zip(of.buckets) {
        below += count;
        page.sample(&bucket, &[group, what, ("le", &bound.to_string())], below);
    }
    page.sample(&bucket, &[group, what, ("le", "+Inf")], of.count);
    page.sample(&format!("{name}_sum"), &labels, of.sum);
    page.sample(&format!("{name}_count"), &labels, of.count);
}

fn store(page: &mut Page, group: &str, health: &Health, is_up: bool) {
    page.metric("cotter_store_up", "gauge", "Whether the store has answered for this page.");
    page.sample("cotter_store_up", &[("group", group)], u8::from(is_up));
    if let Some(silence) = health.silence() {
        let name = "cotter_store_last_answer_age_seconds";
        page.metric(name, "gauge", "Time since the store last answered.");
        page.sample(name, &[("group", group)], silence.as_secs_f64());
    }
}

/// The figures from the store, which are the same on all hosts.
fn shared(page: &mut Page, group: &str, status: &Status) {
    let seconds = |at: UnixTime| at.seconds() as f64 + f64::from(at.subsec_nanos()) / 1e9;
    let mut gauge = |name: &str, help: &str, value: &dyn Fn(&JobStatus) -> Option<f64>| {
        page.metric(name, "gauge", help);
        for (job, value) in status.jobs.iter().filter_map(|job| Some((job, value(job)?))) {
            page.sample(name, &[("group", group), ("job", &job.name)], value);
        }
    };
    let success = "End of the last successful run on any host.";
    gauge("cotter_job_last_success_timestamp_seconds", success, &|job| job.succeeded.map(seconds));
    let age = "Time since the last successful run on any host; as long as there was none, since the first start of the job.";
    gauge("cotter_job_last_success_age_seconds", age, &|job| {
        Some(status.now.since(job.succeeded.unwrap_or(job.first_started)).as_secs_f64())
    });
    let overdue =
        "Time for which something has been due that no host has started; 0 if there is no such thing.";
    gauge("cotter_job_overdue_seconds", overdue, &|job| {
        Some(job.overdue_since.map_or(0.0, |at| status.now.since(at).as_secs_f64()))
    });
    let waiting = "Time for which the next run has waited for a lock or a limit that it shares with others; 0 if it does not.";
    gauge("cotter_job_waiting_seconds", waiting, &|job| {
        let longest = job.waits.iter().map(|wait| status.now.since(wait.since)).max();
        Some(longest.map_or(0.0, |longest| longest.as_secs_f64()))
    });
    let standby = "Hosts that stand by because another definition of the job is in effect.";
    gauge("cotter_job_standing_by", standby, &|job| Some(job.standby.len() as f64));
    let orphaned = "Whether no scheduler that runs has the job.";
    gauge("cotter_job_orphaned", orphaned, &|job| Some(f64::from(u8::from(job.orphaned))));
    gauge("cotter_job_paused", "Whether the job is paused.", &|job| Some(f64::from(u8::from(job.paused))));
}

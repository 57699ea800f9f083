//! Jobs that run after others of the file.

use super::job::Spec;
use super::section::Mistakes;
use std::collections::BTreeSet;

/// Rejects chains that could not go on: after a job that is not there, or that is in a circle.
pub(super) fn check(jobs: &[Spec], mistakes: &mut Mistakes) {
    for spec in jobs {
        for name in &spec.settings.after {
            if let Some(why) = mistake(jobs, name) {
                mistakes.add(spec.at, format!("job {:?}: `after`: {why}", spec.name));
            }
        }
        // A job after itself is refused by the scheduler.
        if !spec.settings.after.contains(&spec.name) && comes_before(jobs, spec).contains(&*spec.name) {
            let why = "it would run after itself, by way of others, and so never begin";
            mistakes.add(spec.at, format!("job {:?}: `after`: {why}", spec.name));
        }
    }
}

/// One that runs on each host has the host behind its name.
fn mistake(jobs: &[Spec], name: &str) -> Option<String> {
    let of_host = name.rsplit_once('@').map(|(job, _)| job);
    match jobs.iter().find(|job| job.name == name) {
        Some(job) if job.is_for_each() => {
            Some(format!("each host has {name:?} by itself; name that of one host, such as {name}@web-1"))
        }
        Some(_) => None,
        None if jobs.iter().any(|job| job.is_for_each() && Some(&*job.name) == of_host) => None,
        None => Some(format!("there is no job {name:?} in this file")),
    }
}

/// All jobs that have to succeed before it, however many there are between.
fn comes_before<'a>(jobs: &'a [Spec], of: &'a Spec) -> BTreeSet<&'a str> {
    let mut found = BTreeSet::new();
    let mut next = vec![of];
    while let Some(spec) = next.pop() {
        for name in &spec.settings.after {
            if found.insert(&**name) {
                next.extend(jobs.iter().find(|job| job.name == *name));
            }
        }
    }
    found
}

//! The part of a job that replicas must agree on.

use crate::decide::{DOUBT, OVERDUE};
use crate::hash::{Length, later, usual};
use crate::job::Policy;
use crate::notes::State;
use crate::{Job, Trigger, UnixTime};
use cotter::Lease;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// The settings of a job that are not the default ones, and a fingerprint of its work, by name.
pub(crate) type Settings = BTreeMap<String, String>;

/// A job without its work, as defined by one replica.
#[derive(Debug, Clone)]
pub(crate) struct Definition {
    pub(crate) trigger: Trigger,
    pub(crate) policy: Policy,
    pub(crate) hash: String,
    /// The trigger as written in the note.
    pub(crate) text: String,
    pub(crate) settings: Settings,
    /// The host of the defining replica; may be empty.
    pub(crate) host: String,
    /// When the defining replica was started, by the store's clock.
    pub(crate) defined_at: UnixTime,
    /// The jitter of the job: how much later than its slots it starts.
    pub(crate) shift: Duration,
}

/// A difference between two definitions of a job.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// `trigger`, `generation`, the name of a setting, or `work`, of which there are only fingerprints.
    pub name: String,
    /// What is in effect.
    pub stored: String,
    /// What the job has.
    pub here: String,
}

impl Definition {
    pub(crate) fn of(job: &Job, group: &str, host: &str, defined_at: UnixTime) -> Self {
        Self {
            trigger: job.trigger.clone(),
            policy: job.policy.clone(),
            hash: job.hash(),
            text: job.trigger_text(),
            settings: job.settings(),
            host: host.to_owned(),
            defined_at,
            shift: job.shift(group),
        }
    }

    /// Precedence over other definitions: the larger one is in effect. It is never later than now, in case the store's clock
    /// went backwards.
    pub(crate) fn rank(&self, now: UnixTime) -> (u64, UnixTime) {
        (self.policy.generation, self.defined_at.min(now))
    }

    /// Why this replica stands by while the definition in this note is in effect, and what to do about it.
    pub(crate) fn why_not(&self, theirs: &State) -> String {
        let (who, at, generation) = (owner(theirs), theirs.defined_at, theirs.generation);
        let lapse = match (theirs.is_disabled(), self.policy.enabled) {
            (true, _) => "It switches the job off, and stays in effect".to_owned(),
            (false, false) => "It stays in effect, because this one switches the job off".to_owned(),
            (false, true) => {
                let within = (OVERDUE + DOUBT).as_secs();
                format!("If no host runs it, this one takes over {within} s after a run was due")
            }
        };
        format!(
            "{who} wrote another definition at {at}, which is in effect: {}. Give all hosts the same definition; to put this one in \
             effect, raise its generation from {} to {} and reload. {lapse}",
            self.difference(theirs),
            self.policy.generation,
            generation.saturating_add(1),
        )
    }

    /// Says that nobody runs the definition in this note, which this one therefore replaces.
    pub(crate) fn why_taken_over(&self, theirs: &State, due: UnixTime) -> String {
        format!(
            "no host runs the definition that {} wrote at {}: what was due at {due} was not started. This host takes over \
             with its own definition: {}",
            owner(theirs),
            theirs.defined_at,
            self.difference(theirs),
        )
    }

    /// The first difference to the definition in this note.
    fn difference(&self, theirs: &State) -> String {
        match self.differences(theirs).first() {
            Some(Difference { name, .. }) if name == WORK => {
                "its work is another one, such as the command or its environment".to_owned()
            }
            Some(Difference { name, stored, here }) if name == TRIGGER => {
                format!("its {name} is {stored:?}, here {here:?}")
            }
            Some(Difference { name, stored, here }) => format!("its {name} is {stored}, here {here}"),
            None => "a setting or the work is another one".to_owned(),
        }
    }

    /// The differences to the definition in this note, as far as it tells: the trigger, settings, and the work.
    pub(crate) fn differences(&self, theirs: &State) -> Vec<Difference> {
        let difference =
            |name: &str, stored: String, here| Difference { name: name.to_owned(), stored, here };
        let trigger = (theirs.trigger != self.text)
            .then(|| difference(TRIGGER, theirs.trigger.clone(), self.text.clone()));
        let names: BTreeSet<_> =
            theirs.settings.iter().flat_map(|there| there.keys().chain(self.settings.keys())).collect();
        let value = |of: &Settings, name| of.get(name).map_or("the default", String::as_str).to_owned();
        let there = |name| theirs.settings.as_ref().map(|there| value(there, name)).unwrap_or_default();
        let settings =
            names.into_iter().map(|name| difference(name, there(name), value(&self.settings, name)));
        trigger.into_iter().chain(settings.filter(|setting| setting.stored != setting.here)).collect()
    }
}

/// The settings that differ from the default ones, for people. That a job is disabled is part of the text of its trigger.
pub(crate) fn unusual(policy: &Policy) -> Settings {
    let fields = usual(policy).into_iter().zip(usual(&Policy::default()));
    let fields = fields.filter(|(ours, default)| ours != default && !["enabled", "lease"].contains(&ours.0));
    let fields = fields.map(|(ours, _)| ours).chain(later(policy)).chain(policy.lease.map(lease));
    let plain = |value: String| match value.strip_prefix("Some(").and_then(|value| value.strip_suffix(')')) {
        Some(value) => value.to_owned(),
        None => value,
    };
    fields.map(|(key, value)| (key.to_owned(), plain(value))).collect()
}

fn lease(lease: Lease) -> (&'static str, String) {
    let fixed = if lease.is_renewed() { "" } else { ", not renewed" };
    let most = lease.longest_hold().map(|most| format!(", at most {}", Length(most)));
    ("lease", format!("{}{fixed}{}", Length(lease.ttl()), most.unwrap_or_default()))
}

/// The name of the fingerprint of the work. It is the last one in order, so that settings are named first.
pub(crate) const WORK: &str = "work";

/// What the trigger is called among them.
const TRIGGER: &str = "trigger";

fn owner(state: &State) -> String {
    if state.by.is_empty() { "another host".to_owned() } else { format!("host {:?}", state.by) }
}

//! What jobs would change about the definitions that are in effect.

use crate::definition::{Definition, Difference};
use crate::notes::State;
use crate::{Job, Jobs, Result};

/// How a job compares with the definition of its name that is in effect.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Comparison {
    /// It is the same.
    Same,
    /// There is none.
    New,
    /// It is another one.
    Differs {
        /// What is different, as far as the store tells; empty if an earlier version wrote it.
        differences: Vec<Difference>,
        /// The host that wrote the definition in effect; `None` if that is not known.
        by: Option<String>,
        /// Its generation.
        generation: u64,
        /// Whether a scheduler that is started with the job now puts it in effect: unless that generation is larger.
        takes_effect: bool,
    },
}

impl Jobs {
    /// Compares jobs with the definitions in effect, in their order: what starting a scheduler with them would change. Changes
    /// nothing.
    ///
    /// Needs a tokio runtime.
    ///
    /// # Errors
    /// As [`list`](Self::list).
    pub async fn compare(&self, jobs: &[Job]) -> Result<Vec<Comparison>> {
        let names: Vec<_> = jobs.iter().map(|job| job.name().to_owned()).collect();
        let (states, now) = (self.states(&names).await?, self.now().await?);
        let compared = |(job, state): (&Job, Option<State>)| {
            let definition = Definition::of(job, &self.group, "", now);
            state.map_or(Comparison::New, |state| compare(&definition, &state))
        };
        Ok(jobs.iter().zip(states).map(compared).collect())
    }
}

fn compare(ours: &Definition, theirs: &State) -> Comparison {
    let (generation, own) = (theirs.generation, ours.policy.generation);
    let mut differences = ours.differences(theirs);
    if own > generation {
        let (stored, here) = (generation.to_string(), own.to_string());
        differences.push(Difference { name: "generation".to_owned(), stored, here });
    } else if ours.hash == theirs.hash {
        return Comparison::Same;
    }
    let by = (!theirs.by.is_empty()).then(|| theirs.by.clone());
    Comparison::Differs { differences, by, generation, takes_effect: own >= generation }
}

//! Reading the histories of several jobs at once: first the runs of all of them, then the outputs of those that have failed.

use super::{Entry, MAX_RUNS, OUTPUTS, Output, key, ring};
use crate::notes::{LastRun, State, foreign};
use crate::{Ending, Result, UnixTime};
use cotter::{Client, Note};
use serde::de::DeserializeOwned;
use std::collections::HashMap;

/// What is kept of the runs of a job.
#[derive(Debug)]
pub(crate) struct Kept {
    /// Oldest first.
    pub(crate) runs: Vec<Entry>,
    /// When the oldest one started that is kept, if there were others before it.
    pub(crate) from: Option<UnixTime>,
}

/// The runs of a job as they are stored, without their outputs.
struct Stored {
    runs: Vec<LastRun>,
    from: Option<UnixTime>,
}

/// The runs of the jobs with these locks and states that have ended since then.
pub(crate) async fn load(
    client: &Client,
    jobs: &[(String, State)],
    since: Option<UnixTime>,
) -> Result<Vec<Kept>> {
    let stored = load_runs(client, jobs, since).await?;
    let outputs = load_outputs(client, jobs, &stored).await?;
    let kept = |(of, mut outputs): (Stored, HashMap<_, _>)| Kept {
        runs: of.runs.into_iter().map(|run| entry(run, &mut outputs)).collect(),
        from: of.from,
    };
    Ok(stored.into_iter().zip(outputs).map(kept).collect())
}

async fn load_runs(
    client: &Client,
    jobs: &[(String, State)],
    since: Option<UnixTime>,
) -> Result<Vec<Stored>> {
    let is_asked = |state: &State| since.is_none_or(|since| may_reach(state, since));
    let keys = |state: &State| if is_asked(state) { segment_keys(state) } else { Vec::new() };
    let notes = notes(client, jobs.iter().map(|(lock, state)| (lock, keys(state)))).await?;
    let stored = |((lock, state), segments): (&(String, State), Vec<Note>)| {
        if !is_asked(state) {
            return Ok(Stored { runs: Vec::new(), from: None });
        }
        let segments: Vec<Vec<LastRun>> = parsed(lock, &segments)?;
        Ok(stored(state, segments.into_iter().flatten().collect(), since))
    };
    jobs.iter().zip(notes).map(stored).collect()
}

/// By the tokens of their runs.
async fn load_outputs(
    client: &Client,
    jobs: &[(String, State)],
    stored: &[Stored],
) -> Result<Vec<HashMap<u64, String>>> {
    let has_failed = |of: &Stored| of.runs.iter().any(|run| run.ending() != Some(Ending::Ok));
    let keys = |of: &Stored| match has_failed(of) {
        true => (0..OUTPUTS).map(Output::key).collect(),
        false => Vec::new(),
    };
    let notes = notes(client, jobs.iter().zip(stored).map(|((lock, _), of)| (lock, keys(of)))).await?;
    let by_token = |((lock, _), notes): (&(String, State), Vec<Note>)| {
        let outputs: Vec<Output> = parsed(lock, &notes)?;
        Ok(outputs.into_iter().map(|output| (output.token, output.text)).collect())
    };
    jobs.iter().zip(notes).map(by_token).collect()
}

/// Whether a run may have ended since then: the newest one that has ended is usually in the state.
fn may_reach(state: &State, since: UnixTime) -> bool {
    state.recent().last().is_none_or(|newest| ended(newest) >= since)
}

/// Of the segments that were written. A history that was longer once has further ones.
fn segment_keys(state: &State) -> Vec<String> {
    (0..ring(state.kept()).unwrap_or_default().min(state.segments())).map(key).collect()
}

/// The notes under these keys of these locks that are not empty, lock by lock.
async fn notes<'a>(
    client: &Client,
    keys: impl Iterator<Item = (&'a String, Vec<String>)>,
) -> Result<Vec<Vec<Note>>> {
    let (mut places, mut counts) = (Vec::new(), Vec::new());
    for (lock, keys) in keys {
        counts.push(keys.len());
        places.extend(keys.into_iter().map(|key| (lock.clone(), key)));
    }
    let mut notes = client.notes_at(places).await?.into_iter();
    let mut take =
        |count| notes.by_ref().take(count).flatten().filter(|note| !note.bytes.is_empty()).collect();
    Ok(counts.into_iter().map(&mut take).collect())
}

fn parsed<T: DeserializeOwned>(lock: &str, notes: &[Note]) -> Result<Vec<T>> {
    let parse = |note: &Note| serde_json::from_slice(&note.bytes);
    notes
        .iter()
        .map(parse)
        .collect::<serde_json::Result<_>>()
        .map_err(|e| foreign(&format!("history of job {lock:?}"), &e))
}

/// The runs that are kept and have ended since then, and when the oldest one started that is kept, if others were before it.
fn stored(state: &State, mut runs: Vec<LastRun>, since: Option<UnixTime>) -> Stored {
    runs.extend(state.recent().cloned());
    runs.sort_by_key(|run| run.token);
    // A segment may have been written by a process that died before it updated the state.
    runs.dedup_by_key(|run| (run.token, run.slot, run.attempt));
    let kept = if state.kept() > 0 { state.kept() } else { MAX_RUNS };
    runs.drain(..runs.len().saturating_sub(kept));
    let is_cut = state.ended_runs() > runs.len() as u64;
    let from = runs.first().or(state.run.as_ref()).filter(|_| is_cut).map(|oldest| oldest.started);
    runs.retain(|run| since.is_none_or(|since| ended(run) >= since));
    Stored { runs, from }
}

fn ended(run: &LastRun) -> UnixTime {
    run.ended.unwrap_or(run.started)
}

fn entry(run: LastRun, outputs: &mut HashMap<u64, String>) -> Entry {
    Entry {
        ending: run.ending().unwrap_or(Ending::Crashed),
        ended: ended(&run),
        slot: run.slot,
        asked: run.asked,
        one_shot: run.one_shot.as_ref().filter(|_| run.request.is_none()).map(|key| key.id.clone()),
        attempt: run.attempt,
        token: run.token,
        output: outputs.remove(&run.token),
        host: run.host,
        started: run.started,
        code: run.code,
        request: run.request,
        key: run.one_shot,
    }
}

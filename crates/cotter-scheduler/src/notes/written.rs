//! A run as it is written in a note. Each run is in four notes or more on its way, so that every byte counts: the keys are
//! short, defaults are left out, and most numbers are differences.

use super::run::is_default;
use super::{Arguments, LastRun, OneShotKey, instant};
use crate::{Ending, UnixTime};
use serde::{Deserialize, Serialize};

#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Written {
    #[serde(rename = "s", with = "instant")]
    slot: UnixTime,
    #[serde(rename = "q", default, skip_serializing_if = "is_default")]
    asked: bool,
    #[serde(rename = "n", default = "first", skip_serializing_if = "is_first")]
    attempt: u32,
    #[serde(rename = "c", default, skip_serializing_if = "is_default")]
    crashes: u32,
    #[serde(rename = "p", default, skip_serializing_if = "is_default")]
    stops: u32,
    /// The token, less the microseconds of the slot: tokens are microseconds, unless the counter is ahead of the clock.
    #[serde(rename = "k", default)]
    token: i64,
    /// These three as an earlier version wrote them, not as differences.
    #[serde(rename = "t", default, skip_serializing)]
    whole_token: Option<u64>,
    #[serde(rename = "b", with = "instant::maybe", default, skip_serializing)]
    started_at: Option<UnixTime>,
    #[serde(rename = "e", with = "instant::maybe", default, skip_serializing)]
    ended_at: Option<UnixTime>,
    #[serde(rename = "h", default, skip_serializing_if = "is_default")]
    host: String,
    /// Microseconds from the slot to the start.
    #[serde(rename = "u", default)]
    started: i64,
    /// Microseconds from the start to the end.
    #[serde(rename = "f", default, skip_serializing_if = "is_default")]
    took: Option<i64>,
    /// Left out for a run that has succeeded.
    #[serde(rename = "o", default, skip_serializing_if = "is_default")]
    outcome: Option<String>,
    #[serde(rename = "w", default, skip_serializing_if = "is_default")]
    reason: Option<String>,
    #[serde(rename = "x", default, skip_serializing_if = "is_default")]
    code: Option<i32>,
    #[serde(rename = "y", with = "instant::maybe", default, skip_serializing_if = "is_default")]
    retry_at: Option<UnixTime>,
    #[serde(rename = "a", default, skip_serializing_if = "is_default")]
    arguments: Arguments,
    #[serde(rename = "z", default, skip_serializing_if = "is_default")]
    one_shot: Option<OneShotKey>,
    #[serde(rename = "r", default, skip_serializing_if = "is_default")]
    request: Option<u64>,
}

fn first() -> u32 {
    1
}

fn is_first(attempt: &u32) -> bool {
    *attempt == first()
}

impl From<LastRun> for Written {
    fn from(run: LastRun) -> Self {
        let outcome = run.outcome.filter(|word| word != Ending::Ok.word());
        Self {
            slot: run.slot,
            asked: run.asked,
            attempt: run.attempt,
            crashes: run.crashes,
            stops: run.stops,
            token: run.token.wrapping_sub(micros(run.slot)).cast_signed(),
            whole_token: None,
            started_at: None,
            ended_at: None,
            host: run.host,
            started: between(run.slot, run.started),
            took: run.ended.map(|at| between(run.started, at)),
            outcome,
            reason: run.reason,
            code: run.code,
            retry_at: run.retry_at,
            arguments: run.arguments,
            one_shot: run.one_shot,
            request: run.request,
        }
    }
}

impl From<Written> for LastRun {
    fn from(run: Written) -> Self {
        let started = run.started_at.unwrap_or_else(|| later(run.slot, run.started));
        let ended = run.ended_at.or(run.took.map(|took| later(started, took)));
        let token = || run.token.cast_unsigned().wrapping_add(micros(run.slot));
        let succeeded = || ended.map(|_| Ending::Ok.word().to_owned());
        Self {
            slot: run.slot,
            asked: run.asked,
            attempt: run.attempt,
            crashes: run.crashes,
            stops: run.stops,
            token: run.whole_token.unwrap_or_else(token),
            host: run.host,
            started,
            ended,
            outcome: run.outcome.or_else(succeeded),
            reason: run.reason,
            code: run.code,
            retry_at: run.retry_at,
            arguments: run.arguments,
            one_shot: run.one_shot,
            request: run.request,
        }
    }
}

fn micros(at: UnixTime) -> u64 {
    (instant::nanos(at) / 1000).cast_unsigned()
}

fn between(from: UnixTime, to: UnixTime) -> i64 {
    instant::nanos(to).wrapping_sub(instant::nanos(from)).div_euclid(1000)
}

fn later(at: UnixTime, micros: i64) -> UnixTime {
    instant::time(instant::nanos(at).wrapping_add(micros.wrapping_mul(1000)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::DueRun;
    use std::time::Duration;

    #[test]
    fn a_run_is_read_as_it_was_written() {
        let slot = UnixTime::new(1_795_388_449, 356_790_491);
        let one_shot = Some(OneShotKey { id: "order-17".to_owned(), number: u64::MAX });
        let due = DueRun { request: Some(3), asked: true, stops: 2, one_shot, ..DueRun::first(slot) };
        let arguments = Arguments::from([("a".to_owned(), "b".to_owned())]);
        for token in [0, 1, 1_795_388_449_358_555, u64::MAX] {
            for started in [slot, slot - Duration::from_secs(1), UnixTime::new(1_795_388_449, 359_905_491)] {
                let mut run = LastRun::new(&due, token, "host", started);
                let again = |run: &LastRun| -> LastRun {
                    serde_json::from_slice(&serde_json::to_vec(run).unwrap()).unwrap()
                };
                assert_eq!(again(&run), run);
                for ending in [Ending::Ok, Ending::Failed("no".into()), Ending::Crashed] {
                    run.end(started, &ending);
                    run.arguments.clone_from(&arguments);
                    assert_eq!(again(&run), run);
                }
            }
        }
        let run = LastRun::new(&DueRun::first(slot), 1_795_388_449_358_555, "", slot);
        let text = serde_json::to_string(&run).unwrap();
        assert_eq!(text, r#"{"s":1795388449356790491,"k":1765,"u":0}"#);
    }

    #[test]
    fn a_run_of_an_earlier_version_is_read() {
        let text = r#"{"s":1795388449356790491,"t":1795388449358555,"b":1795388449359905259,"e":1795388449360849031,"o":"ok"}"#;
        let run: LastRun = serde_json::from_str(text).unwrap();
        assert_eq!((run.token, run.started.subsec_nanos()), (1_795_388_449_358_555, 359_905_259));
        assert_eq!((run.ended.unwrap().subsec_nanos(), run.ending()), (360_849_031, Some(Ending::Ok)));
    }
}

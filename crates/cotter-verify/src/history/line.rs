//! An event as a line of JSON. docs/verify.md describes the format.

use super::{Bounds, Event, What};
use cotter_console::duration::millis;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::time::Duration;

/// A mistake in a history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    /// The number of the line, from 1 on.
    pub line: usize,
    /// What is wrong with it.
    pub text: String,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.text)
    }
}

/// All fields that a line may have; which of them it needs depends on the event.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    at_ns: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    process: u32,
    event: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    token: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    until_ns: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    succeeded: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ttl_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    patience_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    permits: Option<NonZeroUsize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    faults_planned: Option<usize>,
}

// The signature is serde's.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_zero(process: &u32) -> bool {
    *process == 0
}

/// Writes an event as one line.
///
/// # Errors
/// It cannot be written.
pub fn write(event: &Event, to: &mut impl Write) -> io::Result<()> {
    let mut line = serde_json::to_vec(&Line::of(event)).map_err(io::Error::other)?;
    line.push(b'\n');
    to.write_all(&line)
}

/// Reads a history: the events with the numbers of their lines, in the order of their times.
///
/// # Errors
/// The first line that is no event.
pub fn read(text: &str) -> Result<Vec<(usize, Event)>, Mistake> {
    let lines = text.lines().enumerate().map(|(at, text)| (at + 1, text));
    let event = |(line, text): (usize, &str)| match event(text) {
        Ok(event) => Ok((line, event)),
        Err(text) => Err(Mistake { line, text }),
    };
    let mut events =
        lines.filter(|(_, text)| !text.trim().is_empty()).map(event).collect::<Result<Vec<_>, _>>()?;
    events.sort_by_key(|(_, event)| event.at);
    Ok(events)
}

fn event(text: &str) -> Result<Event, String> {
    let line: Line = serde_json::from_str(text).map_err(|e| {
        let why = e.to_string();
        let why = why.split(" at line 1 column ").next().unwrap_or_default();
        format!("not an event: {why}, at column {}", e.column())
    })?;
    let (at, process) = (line.at_ns, line.process);
    let what = line.what()?;
    let of_the_run = matches!(
        what,
        What::Run(_) | What::During { .. } | What::DuringEnded { .. } | What::Left { .. } | What::Done { .. }
    );
    match (of_the_run, process) {
        (false, 0) => Err("`process` is missing: the number of the process, from 1 on".to_owned()),
        (true, 1..) => Err("this event is not one of a process: leave `process` out".to_owned()),
        _ => Ok(Event { at, process, what }),
    }
}

impl Line {
    fn what(self) -> Result<What, String> {
        let event = self.event.clone();
        let missing = move |field: &str| format!("`{event}` needs the field `{field}`");
        Ok(match &*self.event {
            "run" => {
                let ttl = Duration::from_millis(self.ttl_ms.ok_or_else(|| missing("ttl_ms"))?);
                let patience = self.patience_ms.map_or(Bounds::patience(ttl), Duration::from_millis);
                What::Run(Bounds { ttl, patience, permits: self.permits.map_or(1, NonZeroUsize::get) })
            }
            "started" => What::Started,
            "asked" => What::Asked { name: self.name.ok_or_else(|| missing("name"))? },
            "acquired" => What::Acquired { token: self.token.map(token).transpose()?, until: self.until_ns },
            "renewed" => What::Renewed { until: self.until_ns.ok_or_else(|| missing("until_ns"))? },
            "lost" => What::Lost { until: self.until_ns },
            "releasing" => What::Releasing,
            "released" => What::Released,
            "failed" => What::Failed { text: self.text.unwrap_or_default() },
            "paused" => What::Paused,
            "continued" => What::Continued,
            "killed" => What::Killed,
            "ended" => What::Ended,
            "during" => What::During { text: self.text.unwrap_or_default() },
            "during-ended" => {
                What::DuringEnded { succeeded: self.succeeded.ok_or_else(|| missing("succeeded"))? }
            }
            "left" => {
                let name = self.name.ok_or_else(|| missing("name"))?;
                What::Left { name, text: self.text.unwrap_or_default() }
            }
            "done" => What::Done { planned: self.faults_planned.unwrap_or_default() },
            other => return Err(format!("there is no event {other:?}; docs/verify.md lists them")),
        })
    }

    fn of(event: &Event) -> Self {
        let line = Self { at_ns: event.at, process: event.process, ..Self::default() };
        let called = |name: &str| Self { event: name.to_owned(), ..line };
        match event.what.clone() {
            What::Run(Bounds { ttl, patience, permits }) => Self {
                ttl_ms: Some(millis(ttl)),
                patience_ms: Some(millis(patience)),
                permits: NonZeroUsize::new(permits).filter(|permits| permits.get() > 1),
                ..called("run")
            },
            What::Started => called("started"),
            What::Asked { name } => Self { name: Some(name), ..called("asked") },
            What::Acquired { token, until } => {
                Self { token: token.map(|token| token.to_string()), until_ns: until, ..called("acquired") }
            }
            What::Renewed { until } => Self { until_ns: Some(until), ..called("renewed") },
            What::Lost { until } => Self { until_ns: until, ..called("lost") },
            What::Releasing => called("releasing"),
            What::Released => called("released"),
            What::Failed { text } => Self { text: Some(text), ..called("failed") },
            What::Paused => called("paused"),
            What::Continued => called("continued"),
            What::Killed => called("killed"),
            What::Ended => called("ended"),
            What::During { text } => Self { text: Some(text), ..called("during") },
            What::DuringEnded { succeeded } => Self { succeeded: Some(succeeded), ..called("during-ended") },
            What::Left { name, text } => Self { name: Some(name), text: Some(text), ..called("left") },
            What::Done { planned } => Self { faults_planned: Some(planned), ..called("done") },
        }
    }
}

fn token(text: String) -> Result<u64, String> {
    text.parse().map_err(|_| format!("the token {text:?} is not a whole number in a string, such as \"17\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let whats = [
            What::Run(Bounds { permits: 3, ..Bounds::default() }),
            What::Started,
            What::Asked { name: "a \"b\"".into() },
            What::Acquired { token: Some(u64::MAX), until: Some(7) },
            What::Acquired { token: None, until: None },
            What::Renewed { until: 9 },
            What::Lost { until: None },
            What::Releasing,
            What::Released,
            What::Failed { text: "no\nroom".into() },
            What::Paused,
            What::Continued,
            What::Killed,
            What::Ended,
            What::During { text: "failover".into() },
            What::DuringEnded { succeeded: false },
            What::Left { name: "a".into(), text: "held".into() },
            What::Done { planned: 3 },
        ];
        let of_the_run = [0, 14, 15, 16, 17];
        let events = whats.into_iter().enumerate().map(|(at, what)| {
            let process = u32::from(!of_the_run.contains(&at));
            Event { at: at as u64, process, what }
        });
        let (events, mut text): (Vec<_>, _) = (events.collect(), Vec::new());
        events.iter().for_each(|event| write(event, &mut text).unwrap());
        let text = String::from_utf8(text).unwrap();
        assert_eq!(text.lines().count(), events.len());
        assert_eq!(read(&text).unwrap().into_iter().map(|(_, event)| event).collect::<Vec<_>>(), events);
    }

    #[test]
    fn a_mistake_is_told_with_its_line() {
        let good = r#"{"at_ns":1,"process":1,"event":"started"}"#;
        for (bad, says) in [
            ("nonsense", "not an event"),
            (r#"{"at_ns":1,"process":1,"event":"begun"}"#, "no event \"begun\""),
            (r#"{"at_ns":1,"process":1,"event":"asked"}"#, "`asked` needs the field `name`"),
            (r#"{"at_ns":1,"event":"paused"}"#, "`process` is missing"),
            (r#"{"at_ns":1,"process":1,"event":"done"}"#, "leave `process` out"),
            (r#"{"at_ns":1,"process":1,"event":"acquired","token":"x"}"#, "\"x\" is not a whole number"),
            (r#"{"at_ns":1,"event":"run","ttl_ms":1,"permits":0}"#, "invalid value: integer `0`"),
            (r#"{"at_ns":-1,"process":1,"event":"paused"}"#, "invalid value"),
            (r#"{"at_ns":1,"process":1,"event":"paused","util_ns":1}"#, "unknown field `util_ns`"),
        ] {
            let mistake = read(&format!("{good}\n\n{bad}\n{good}\n")).unwrap_err();
            assert!(mistake.line == 3 && mistake.text.contains(says), "{bad}: {mistake}");
        }
    }
}

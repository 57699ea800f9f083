//! What is held above this process: a nested run of the same lock would wait for itself for ever.

use crate::output::{Failure, clean};
use cotter::{Client, Name};
use std::ffi::OsString;

/// The variable: a JSON list of `[store, name]`, the outermost first.
pub(crate) const KEY: &str = "COTTER_HELD";

/// All pairs of store and name that are held here.
#[derive(Debug)]
pub(crate) struct Held(Vec<(String, String)>);

impl Held {
    pub(crate) fn above(env: impl Fn(&str) -> Option<OsString>) -> Result<Self, Failure> {
        let Some(text) = env(KEY) else { return Ok(Self(Vec::new())) };
        let pairs = text.to_str().and_then(|text| serde_json::from_str(text).ok());
        pairs.map(Self).ok_or_else(|| {
            Failure::usage(format!(
                "{KEY} is not what cotter writes into it: unset it outside of `cotter run`"
            ))
        })
    }

    /// With this lock, unless it is there already. A store within a process has nothing to do with that of another.
    pub(crate) fn with(mut self, client: &Client, name: &Name) -> Result<Self, Failure> {
        let info = client.info();
        if info.scheme == "memory" {
            return Ok(self);
        }
        let pair = (info.instance.clone(), name.to_string());
        if self.0.contains(&pair) {
            let (store, name) = (clean(&pair.0), clean(&pair.1));
            return Err(Failure::usage(format!(
                "{name:?} in {store} is held by a `cotter run` that this one runs inside of, and would wait for itself: \
                 leave one of the two out, or take another name"
            )));
        }
        self.0.push(pair);
        Ok(self)
    }

    pub(crate) fn text(&self) -> String {
        serde_json::to_string(&self.0).unwrap_or_default()
    }
}

//! The fields of every request to a member of a quorum.

use super::Shared;
use super::errors::{Sent, explain, unexpected};
use super::live::Live;
use super::names::Keys;
use super::options::Options;
use super::script::Script;
use super::state::{digits, micros, text};
use crate::{Error, ErrorKind, Result};
use redis::Value;
use std::time::Duration;

/// The fields that are the same in all requests to a member.
#[derive(Debug)]
pub(super) struct Voting {
    /// The key in which the server keeps which run of it has voted, see `lua/voting.lua`.
    pub(super) marker: String,
    /// The longest lease of the quorum, as the scripts take it.
    pub(super) longest: [u8; 14],
    pub(super) keys: Keys,
    /// The time for which a free name is remembered, in milliseconds, as the scripts take it.
    pub(super) retain: String,
}

impl Voting {
    /// `None` if the server is used alone.
    pub(super) fn of(options: &Options) -> Option<Self> {
        Some(Self {
            marker: format!("{}:member", options.prefix),
            longest: micros(options.votes?),
            keys: Keys::new(options),
            retain: options.retain.as_millis().to_string(),
        })
    }
}

impl Shared {
    /// For a server that votes; no other is asked.
    pub(super) fn voting(&self) -> &Voting {
        self.voting.as_ref().expect("it is a member")
    }

    /// The error for a lease that would outlive the abstinence of a server that votes: after that, it grants what it has
    /// forgotten to others. An extension is checked here, because the script for it knows nothing of votes.
    pub(super) fn refuses(&self, ttl: Duration) -> Option<Error> {
        self.options.votes.filter(|longest| ttl > *longest).map(|longest| too_long(ttl, longest))
    }
}

pub(super) fn too_long(ttl: Duration, longest: Duration) -> Error {
    let why = format!(
        "a lease of {ttl:?} is longer than {longest:?}, the longest that the member was set up for; shorten it, or raise \
         max_ttl= for all clients and run `cotter doctor --init`"
    );
    Error::new(ErrorKind::InvalidInput, why)
}

/// Runs a script that votes, and answers with a text.
pub(super) async fn vote(
    live: &Live,
    shared: &Shared,
    script: &Script,
    keys: &[&str],
    args: &[&[u8]],
    at_least: u64,
) -> Result<String> {
    text(vote_for(live, shared, script, keys, args, at_least).await?)
}

/// Runs a script that votes.
pub(super) async fn vote_for(
    live: &Live,
    shared: &Shared,
    script: &Script,
    keys: &[&str],
    args: &[&[u8]],
    at_least: u64,
) -> Result<Value> {
    let (run, Voting { marker, longest, .. }) = (run(live).await?, shared.voting());
    let at_least = digits::<16>(at_least);
    let (keys, args) =
        ([keys, &[&**marker]].concat(), [args, &[run.as_bytes(), &at_least, longest]].concat());
    script.run(live, &keys, &args).await.map_err(|e| explain(e, Sent::Yes))
}

/// The id of the run of the server. It is requested once for each connection, because a connection ends with the run: it
/// would cost the server as much as the rest of a vote.
pub(super) async fn run(live: &Live) -> Result<&str> {
    let ask = async {
        let info = live.query(redis::cmd("INFO").arg("server")).await.map_err(|e| explain(e, Sent::No))?;
        let info = text(info)?;
        let run = info.lines().find_map(|line| line.strip_prefix("run_id:"));
        run.map(|run| run.trim().to_owned()).ok_or_else(|| unexpected("INFO without a run_id"))
    };
    live.run.get_or_try_init(|| ask).await.map(String::as_str)
}

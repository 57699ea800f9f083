//! The fields of every request to a member of a quorum.

use super::Shared;
use super::errors::{Sent, explain, unexpected};
use super::live::Live;
use super::names::Keys;
use super::options::Options;
use super::script::Script;
use super::state::{digits, micros, text};
use crate::error::config;
use crate::{Error, ErrorKind, Result};
use redis::Value;
use std::sync::OnceLock;
use std::time::Duration;

/// The fields that are the same in all requests to a member.
#[derive(Debug)]
pub(super) struct Voting {
    /// The key in which the server keeps which run of it has voted, see `lua/voting.lua`.
    pub(super) marker: String,
    /// The longest lease of the quorum, as the scripts take it.
    pub(super) longest: [u8; 14],
    /// The number of members, as the scripts take it, as soon as a quorum has said so.
    members: OnceLock<[u8; 2]>,
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
            members: OnceLock::new(),
            keys: Keys::new(options),
            retain: options.retain.as_millis().to_string(),
        })
    }

    pub(super) fn members(&self) -> &[u8; 2] {
        self.members.get().unwrap_or(b"00")
    }

    /// Says how many members the quorum has.
    pub(super) fn join(&self, members: usize) -> Result<()> {
        let members = digits::<2>(members as u64);
        match *self.members.get_or_init(|| members) == members {
            true => Ok(()),
            false => Err(config("one store cannot be a member of two quorums")),
        }
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
    let (run, voting) = (run(live).await?, shared.voting());
    let Voting { marker, longest, .. } = voting;
    let at_least = digits::<16>(at_least);
    let keys = [keys, &[&**marker]].concat();
    let args = [args, &[run.as_bytes(), &at_least, longest, voting.members()]].concat();
    match script.run(live, &keys, &args).await.map_err(|e| explain(e, Sent::Yes))? {
        Value::BulkString(answer) if answer.len() == 3 && answer[0] == b's' => {
            Err(another_quorum(&String::from_utf8_lossy(&answer[1..]), voting.members()))
        }
        answer => Ok(answer),
    }
}

/// The error of a member that belongs to a quorum of another size: two majorities might have no member in common.
fn another_quorum(theirs: &str, ours: &[u8; 2]) -> Error {
    let ours = String::from_utf8_lossy(ours);
    let (theirs, ours) = (theirs.trim_start_matches('0'), ours.trim_start_matches('0'));
    config(format!(
        "the server is a member of a quorum of {theirs}, not of {ours}: all clients must name the same servers; once no client of \
         the other list is left and no lock is held, `cotter doctor --init` makes it a member of this one"
    ))
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

//! The holders and waiters of a server at one instant.

use crate::servers::Wire;
use std::io;

/// One name at one instant.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Snapshot {
    /// By the server's clock, in microseconds.
    pub(super) at: u64,
    /// The claim that holds, whether or not its lease is over. Empty: none.
    pub(super) holder: String,
    /// The first token of its grant.
    pub(super) token: u64,
    /// In order.
    pub(super) queue: Vec<Entry>,
}

/// One that waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) claim: String,
    pub(super) ticket: u64,
    /// When it asked last.
    pub(super) seen: u64,
    /// How long it may be silent.
    pub(super) silence: u64,
    /// Whether anybody listens on its channel.
    pub(super) listening: bool,
}

/// Reads only. One line for the lock, one for each entry.
const LOOK: &str = r"
local time = redis.call('TIME')
local lines = { string.sub('0000000000' .. time[1], -10) .. string.sub('000000' .. time[2], -6)
  .. ' ' .. string.sub(redis.call('GET', KEYS[1]) or '', 1, 54) }
for _, id in ipairs(redis.call('ZRANGE', KEYS[1] .. ':q', 0, -1)) do
  local entry = redis.call('HGET', KEYS[1] .. ':w', id)
  if entry then
    local channel = string.match(string.sub(entry, 71), '^%S+')
    local listeners = redis.call('PUBSUB', 'NUMSUB', channel)[2]
    lines[#lines + 1] = id .. ' ' .. string.sub(entry, 1, 33) .. ' ' .. string.sub(entry, 56, 69) .. ' ' .. listeners
  end
end
return table.concat(lines, '\n')";

impl Snapshot {
    /// Looks at a name now.
    pub(super) fn take(wire: &mut Wire, name: &str) -> io::Result<Self> {
        let text = wire.command(&["EVAL", LOOK, "1", &format!("cotter:{{{name}}}")])?;
        Self::parse(&text).ok_or_else(|| io::Error::other(format!("no snapshot: {text:?}")))
    }

    fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        let (at, state) = lines.next()?.split_once(' ')?;
        let at = at.parse().ok()?;
        let queue = lines.map(Entry::parse).collect::<Option<Vec<_>>>()?;
        if state.is_empty() {
            return Some(Self { at, queue, ..Self::default() });
        }
        let holder = state.get(5..37)?;
        let free = holder.starts_with(['-', '+']);
        let holder = if free { String::new() } else { holder.to_owned() };
        Some(Self { at, holder, token: state.get(38..54)?.parse().ok()?, queue })
    }
}

impl Entry {
    fn parse(line: &str) -> Option<Self> {
        let mut words = line.split(' ');
        let claim = words.next()?.to_owned();
        let mut number = || words.next()?.parse::<u64>().ok();
        let (seen, ticket, silence, listeners) = (number()?, number()?, number()?, number()?);
        Some(Self { claim, ticket, seen, silence, listening: listeners > 0 })
    }
}

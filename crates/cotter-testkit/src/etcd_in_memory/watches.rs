//! Watches, and what their streams are told.

use super::keys::{Change, Keys, Span};
use super::messages::{DELETE, Event, Header, WatchCreate, WatchResponse};
use super::streams;
use std::collections::BTreeMap;
use tonic::Status;

/// What a stream is sent.
type Tell = streams::Tell<WatchResponse>;

/// The streams of all connections.
#[derive(Debug, Default)]
pub(super) struct Watches {
    streams: BTreeMap<u64, Stream>,
    last: u64,
}

#[derive(Debug)]
struct Stream {
    tell: Tell,
    watches: BTreeMap<i64, Watch>,
    next: i64,
}

#[derive(Debug)]
struct Watch {
    span: Span,
    /// The first revision that is of interest, and was not told.
    from: i64,
    filters: Vec<i32>,
    with_previous: bool,
    state: State,
}

#[derive(Debug, PartialEq, Eq)]
enum State {
    /// Told of each change at once.
    InTime,
    /// Told of what has happened when the server gets round to it.
    CatchingUp,
    /// What it is about was forgotten. It keeps its number.
    Compacted,
}

impl Watches {
    pub(super) fn open(&mut self, tell: Tell) -> u64 {
        self.last += 1;
        self.streams.insert(self.last, Stream { tell, watches: BTreeMap::new(), next: 0 });
        self.last
    }

    pub(super) fn close(&mut self, stream: u64) {
        self.streams.remove(&stream);
    }

    /// Ends all streams, with an error that their clients are told or without.
    pub(super) fn end(&mut self, status: Option<&Status>) {
        for stream in std::mem::take(&mut self.streams).into_values() {
            status.map(|status| stream.tell.send(Err(status.clone())));
        }
    }

    /// Begins a watch that was asked for at this revision, and tells that it has.
    pub(super) fn create(&mut self, stream: u64, create: &WatchCreate, asked_at: i64, keys: &Keys) {
        let Some(stream) = self.streams.get_mut(&stream) else { return };
        let (watch_id, cancel_reason) = match stream.begin(create, asked_at, keys) {
            Ok(id) => (id, ""),
            Err(reason) => (-1, reason),
        };
        let answer = WatchResponse {
            watch_id,
            created: true,
            canceled: !cancel_reason.is_empty(),
            cancel_reason: cancel_reason.to_owned(),
            ..at(asked_at)
        };
        let _ = stream.tell.send(Ok(answer));
    }

    pub(super) fn cancel(&mut self, stream: u64, watch_id: i64, revision: i64) {
        let Some(stream) = self.streams.get_mut(&stream) else { return };
        if stream.watches.remove(&watch_id).is_some() {
            let _ = stream.tell.send(Ok(WatchResponse { watch_id, canceled: true, ..at(revision) }));
        }
    }

    pub(super) fn progress(&self, stream: u64, revision: i64) {
        let Some(stream) = self.streams.get(&stream) else { return };
        let _ = stream.tell.send(Ok(WatchResponse { watch_id: -1, ..at(revision) }));
    }

    /// Tells those that are in time.
    pub(super) fn changed(&mut self, change: &Change) {
        for stream in self.streams.values_mut() {
            for (id, watch) in stream.watches.iter_mut().filter(|(_, watch)| watch.state == State::InTime) {
                if change.revision >= watch.from {
                    watch.tell(&stream.tell, *id, change.revision, &change.events);
                }
            }
        }
    }

    /// Tells the others what has happened meanwhile.
    pub(super) fn catch_up(&mut self, keys: &Keys) {
        for stream in self.streams.values_mut() {
            let late = stream.watches.iter_mut().filter(|(_, watch)| watch.state == State::CatchingUp);
            for (id, watch) in late {
                if watch.from < keys.compacted {
                    watch.state = State::Compacted;
                    let (compact_revision, canceled, watch_id) = (keys.compacted, true, *id);
                    let told = WatchResponse { watch_id, canceled, compact_revision, ..at(0) };
                    let _ = stream.tell.send(Ok(told));
                    continue;
                }
                let events: Vec<_> =
                    keys.since(watch.from).flat_map(|change| change.events.clone()).collect();
                watch.tell(&stream.tell, *id, keys.revision, &events);
                (watch.state, watch.from) = (State::InTime, keys.revision + 1);
            }
        }
    }
}

fn at(revision: i64) -> WatchResponse {
    let header = Header { revision, ..Header::default() };
    WatchResponse { header: Some(header), ..WatchResponse::default() }
}

impl Stream {
    fn begin(&mut self, create: &WatchCreate, asked_at: i64, keys: &Keys) -> Result<i64, &'static str> {
        let key = if create.key.is_empty() { &[0][..] } else { &create.key };
        let span = Span::of(key, &create.range_end);
        if span.is_empty() {
            return Err("mvcc: watcher range is empty");
        }
        let id = match create.watch_id {
            0 => {
                while self.watches.contains_key(&self.next) {
                    self.next += 1;
                }
                self.next += 1;
                self.next - 1
            }
            id if self.watches.contains_key(&id) => {
                return Err("mvcc: duplicate watch ID provided on the WatchStream");
            }
            id => id,
        };
        let from = if create.start_revision == 0 { asked_at + 1 } else { create.start_revision };
        let state = if from > keys.revision { State::InTime } else { State::CatchingUp };
        let (filters, with_previous) = (create.filters.clone(), create.prev_kv);
        self.watches.insert(id, Watch { span, from, filters, with_previous, state });
        Ok(id)
    }
}

impl Watch {
    fn tell(&self, tell: &Tell, watch_id: i64, revision: i64, events: &[Event]) {
        let wanted = events.iter().filter(|event| {
            let filter = if event.kind == DELETE { 1 } else { 0 };
            let key = event.kv.as_ref().map(|kv| &kv.key);
            key.is_some_and(|key| self.span.contains(key)) && !self.filters.contains(&filter)
        });
        let mut events: Vec<_> = wanted.cloned().collect();
        if !self.with_previous {
            events.iter_mut().for_each(|event| event.prev_kv = None);
        }
        if !events.is_empty() {
            let _ = tell.send(Ok(WatchResponse { watch_id, events, ..at(revision) }));
        }
    }
}

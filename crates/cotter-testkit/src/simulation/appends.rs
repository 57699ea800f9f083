//! Several processes that append to one note of a quorum by compare-and-set, over links that fail.
//!
//! Each entry names the attempt that has written it, so the note itself is the order of all writes.

use super::in_virtual_time;
use super::plan::{Plan, What};
use super::world::MemberClock;
use crate::faulty::{Counts, Faults, Faulty};
use crate::history::{Kind, Violation, violation};
use cotter::{Client, Result, memory, quorum};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

/// The number of writers, and of their writes.
#[derive(Debug, Clone, Copy)]
pub struct Appends {
    /// Decides what goes wrong.
    pub seed: u64,
    /// Independent processes.
    pub clients: usize,
    /// The members of the quorum.
    pub members: usize,
    /// The attempts of each process to append an entry.
    pub each: usize,
}

/// The outcomes of all attempts.
#[derive(Debug, Default)]
pub struct Log {
    seen: Vec<Seen>,
    refused: Vec<String>,
    /// Attempts whose outcome their writer does not know.
    pub unknown: usize,
    /// Attempts that have written.
    pub written: usize,
    /// Requests that went wrong.
    pub faults: usize,
    end: String,
}

/// The note as a client has had it, by reading or by writing.
#[derive(Debug)]
struct Seen {
    asked: Instant,
    got: Instant,
    text: String,
}

type Shared = Arc<Mutex<Log>>;

const NAME: &str = "log";

impl Appends {
    /// Makes all attempts.
    ///
    /// # Panics
    /// When the members do not answer at the end, when nothing goes wrong any more.
    #[must_use]
    pub fn run(self) -> Log {
        in_virtual_time(self.seed, self.all_attempts()).expect("nothing fails at the end")
    }

    async fn all_attempts(self) -> Result<Log> {
        let (origin, log) = (Instant::now(), Shared::default());
        let plan = Plan::with_members(self.seed, self.members);
        let servers: Vec<_> = (0..self.members).map(|_| memory::Store::new()).collect();
        let (mut links, mut tasks) = (Vec::new(), JoinSet::new());
        for client in 0..self.clients {
            let faults: Vec<_> = (0..self.members).map(|member| self.link(client, member)).collect();
            let seats = servers.iter().zip(&faults).map(|(server, link)| Faulty::new(server.clone(), link));
            let store = quorum::Store::new(seats)?;
            let clock = MemberClock::new(origin, Duration::ZERO);
            let client_of = Client::builder().clock(clock).in_this_runtime().connect_to(store).await?;
            faults.iter().for_each(|link| link.set(plan.links));
            links.push(faults);
            tasks.spawn(append(client_of, client, self.each, log.clone()));
        }
        let trouble = tokio::spawn(cut(plan, links.clone()));
        while let Some(done) = tasks.join_next().await {
            done.expect("no client panics");
        }
        trouble.abort();
        links.iter().flatten().for_each(|link| link.set(crate::faulty::Plan::default()));
        // Members that were silent are asked again after a second.
        sleep(Duration::from_secs(2)).await;
        let client = Client::builder().in_this_runtime().connect_to(quorum::Store::new(servers)?).await?;
        let end = text(client.note(NAME).await?.map(|note| note.bytes));
        let mut log = std::mem::take(&mut *lock(&log));
        log.end = end;
        let counts = links.iter().flatten().map(Faults::counts).fold(Counts::default(), Counts::and);
        log.faults = counts.lost_replies + counts.late_requests + counts.refused;
        Ok(log)
    }

    fn link(self, client: usize, member: usize) -> Faults {
        Faults::seeded(self.seed ^ (client * self.members + member) as u64 ^ 1 << 41)
    }
}

async fn append(client: Client, number: usize, each: usize, log: Shared) {
    for attempt in 0..each {
        let asked = Instant::now();
        let Ok(note) = client.note(NAME).await else { continue };
        let seen = note.as_ref().map_or(0, |note| note.revision);
        let old = text(note.map(|note| note.bytes));
        lock(&log).saw(asked, old.clone());
        let entry = format!("{number}.{attempt};");
        let (asked, new) = (Instant::now(), old + &entry);
        let swapped = client.swap_note(NAME, "", seen, new.clone()).await;
        let mut log = lock(&log);
        match swapped {
            Ok(Some(_)) => {
                log.saw(asked, new);
                log.written += 1;
            }
            Ok(None) => log.refused.push(entry),
            Err(_) => log.unknown += 1,
        }
    }
}

/// Cuts members off, one after the other.
async fn cut(plan: Plan, links: Vec<Vec<Faults>>) {
    for trouble in plan.trouble.iter().cycle() {
        sleep(trouble.after).await;
        let lasts = match trouble.what {
            What::Cut { lasts, .. } => lasts,
            _ => Duration::from_millis(100),
        };
        let to: Vec<_> = links.iter().map(|of_client| of_client[trouble.member].clone()).collect();
        to.iter().for_each(|link| link.set(crate::faulty::Plan { down: true, ..plan.links }));
        sleep(lasts).await;
        to.iter().for_each(|link| link.set(plan.links));
    }
}

impl Log {
    fn saw(&mut self, asked: Instant, text: String) {
        self.seen.push(Seen { asked, got: Instant::now(), text });
    }

    /// The attempts for which somebody else was faster.
    #[must_use]
    pub fn refused(&self) -> usize {
        self.refused.len()
    }

    /// The violations.
    #[must_use]
    pub fn violations(&self) -> Vec<Violation> {
        let forked = self.seen.iter().filter(|seen| !self.end.starts_with(&seen.text)).map(|seen| {
            violation(Kind::LostWrite, format!("{:?} was there, and in the end {:?}", seen.text, self.end))
        });
        let refused = self.refused.iter().filter(|entry| self.end.split_inclusive(';').any(|e| e == **entry));
        let refused = refused.map(|entry| {
            violation(Kind::LostWrite, format!("{entry} was refused, and in the end {:?}", self.end))
        });
        forked.chain(refused).chain(self.gone_back()).collect()
    }

    /// Nobody sees less than was seen before they asked.
    fn gone_back(&self) -> Vec<Violation> {
        let mut by_asked: Vec<_> = self.seen.iter().collect();
        by_asked.sort_by_key(|seen| seen.asked);
        let mut by_got: Vec<_> = self.seen.iter().collect();
        by_got.sort_by_key(|seen| seen.got);
        let (mut earlier, mut longest, mut found) = (by_got.into_iter().peekable(), "", Vec::new());
        for seen in by_asked {
            while let Some(past) = earlier.next_if(|past| past.got < seen.asked) {
                if past.text.len() > longest.len() {
                    longest = &past.text;
                }
            }
            if seen.text.len() < longest.len() {
                let text = format!("{longest:?} was there, and then {:?}", seen.text);
                found.push(violation(Kind::LostWrite, text));
            }
        }
        found
    }
}

fn lock(log: &Shared) -> std::sync::MutexGuard<'_, Log> {
    log.lock().unwrap_or_else(PoisonError::into_inner)
}

fn text(bytes: Option<Vec<u8>>) -> String {
    bytes.map_or_else(String::new, |bytes| String::from_utf8_lossy(&bytes).into_owned())
}

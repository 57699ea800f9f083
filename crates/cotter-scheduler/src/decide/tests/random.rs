//! Any sequence of time that passes, of replicas that look, and of runs that end or crash.

use super::*;
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::is_long;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use std::collections::BTreeSet;

#[derive(Debug, Clone)]
enum Step {
    Passes(u64),
    /// A replica takes the lock, and its run ends after so many milliseconds, or crashes.
    Looks {
        replica: usize,
        takes: u64,
        crashes: bool,
    },
    /// It does so until nothing is due.
    Drains {
        replica: usize,
        takes: u64,
    },
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (0_u64..20_000).prop_map(Step::Passes),
        (0_usize..3, 0_u64..9000, prop::bool::weighted(0.2))
            .prop_map(|(replica, takes, crashes)| Step::Looks { replica, takes, crashes }),
        (0_usize..3, 0_u64..900).prop_map(|(replica, takes)| Step::Drains { replica, takes }),
    ]
}

fn trigger() -> impl Strategy<Value = Trigger> {
    prop_oneof![
        Just(Trigger::cron("0/5 * * * * ?").unwrap()),
        (1_u64..10_000).prop_map(|ms| Trigger::fixed_rate(Duration::from_millis(ms)).unwrap()),
        (1_u64..10_000).prop_map(|ms| Trigger::fixed_delay(Duration::from_millis(ms)).unwrap()),
        (0_i64..60).prop_map(|s| Trigger::once_at(at(s)).unwrap()),
    ]
}

/// A store with one job in it.
struct Store {
    definitions: Vec<Definition>,
    /// How many times longer than a step says its time is.
    slower: u64,
    note: Option<State>,
    now: UnixTime,
    token: u64,
    started: Vec<UnixTime>,
}

impl Store {
    fn new(job: &Job) -> Self {
        Self::of((0..3).map(|n| define(job, n)).collect())
    }

    /// The first replica has another definition, which is in effect once nobody runs that of the others.
    fn with_another(job: &Job) -> Self {
        let other = job.clone().definition("other");
        let definitions = vec![define(&other, 0), define(job, 1), define(job, 2)];
        // Long enough for nobody to look for minutes.
        Self { slower: 10, ..Self::of(definitions) }
    }

    fn of(definitions: Vec<Definition>) -> Self {
        Self { definitions, slower: 1, note: None, now: at(0), token: 0, started: Vec::new() }
    }

    fn pass(&mut self, ms: u64) {
        self.now = self.now + Duration::from_millis(ms);
    }

    fn take(&mut self, step: &Step) {
        match *step {
            Step::Passes(ms) => self.pass(ms * self.slower),
            Step::Looks { replica, takes, crashes } => {
                self.look(replica, takes, crashes, Followed::Not);
            }
            Step::Drains { replica, takes } => {
                let mut followed = Followed::Not;
                for _ in 0..50 {
                    if !self.look(replica, takes, false, followed) {
                        return;
                    }
                    followed = Followed::Held;
                }
            }
        }
    }

    fn look(&mut self, replica: usize, takes: u64, crashes: bool, followed: Followed) -> bool {
        let definition = &self.definitions[replica];
        let d =
            decide(definition, self.note.as_ref(), &JobControl::default(), self.now, MAX_NOTE_LEAD, followed);
        let mut state = d.state;
        self.token += 1;
        let due = d.due.is_some();
        if let Some(slot) = d.due {
            assert!(slot.at <= self.now, "not before its time");
            state.begin(&slot, self.now, self.token, "");
            if slot.crashes == 0 {
                self.started.push(slot.at);
            }
            self.pass(takes);
            if !crashes {
                state.end(self.now, &Ending::Ok);
            }
        } else {
            assert!(
                d.taken_over.is_some() || d.next.is_none_or(|next| next > self.now),
                "nothing is due, and yet it is"
            );
        }
        self.note = State::parse("a", &state.bytes()).unwrap();
        due
    }

    fn check_no_slot_twice(&self) {
        let slots: BTreeSet<_> = self.started.iter().collect();
        demand(slots.len() == self.started.len(), Kind::SlotTwice, format!("{:?}", self.started));
        assert!(self.started.is_sorted(), "in order: {:?}", self.started);
    }
}

/// The same cases each time; runs of full length look for more.
fn config() -> ProptestConfig {
    let rng_seed = if is_long() { RngSeed::Random } else { RngSeed::Fixed(1) };
    ProptestConfig { rng_seed, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn no_slot_is_started_twice(
        trigger in trigger(),
        misfire in prop_oneof![Just(Misfire::Skip), Just(Misfire::Once), Just(Misfire::All)],
        on_crash in prop_oneof![Just(OnCrash::Skip), Just(OnCrash::Rerun)],
        late in 0_u64..20,
        backlog in 1_u32..5,
        differs in prop::bool::ANY,
        steps in prop::collection::vec(step(), 1..60),
    ) {
        let job = job(trigger).misfire(misfire).on_crash(on_crash).late_within(S * late as u32).max_backlog(backlog);
        let mut store = if differs { Store::with_another(&job) } else { Store::new(&job) };
        steps.iter().for_each(|step| store.take(step));
        store.check_no_slot_twice();
    }

    #[test]
    fn with_all_none_is_missing(
        rate in prop::bool::ANY,
        shift in 0_u64..10_000,
        steps in prop::collection::vec(step(), 1..60),
    ) {
        let trigger = if rate { Trigger::fixed_rate(S * 5) } else { Trigger::cron("0/5 * * * * ?") };
        let job = job(trigger.unwrap()).misfire(Misfire::All).max_backlog(u32::MAX);
        let mut store = Store::new(&job);
        store.definitions.iter_mut().for_each(|d| d.shift = Duration::from_millis(shift));
        steps.iter().for_each(|step| store.take(step));
        store.pass(shift);
        for _ in 0..50 {
            store.take(&Step::Drains { replica: 0, takes: 1 });
        }
        store.check_no_slot_twice();
        let gaps = store.started.windows(2).find(|pair| pair[1].since(pair[0]) != S * 5);
        demand(gaps.is_none(), Kind::SlotMissing, format!("between {gaps:?}"));
        if let Some(state) = store.note.filter(|state| state.anchor + S * 5 + Duration::from_millis(shift) < store.now) {
            let last = store.started.last().copied();
            prop_assert!(last.is_some_and(|last| store.now.since(last) < S * 5 + Duration::from_millis(shift + 100)), "{last:?} {state:?}");
        }
    }
}

//! What the server in memory did in runs of the simulation, done once more by a real server.

use crate::asked::{Side, Wire, hello};
use crate::requests::{FLAGS, LINES};
use crate::shown::Names;
use cotter_testkit::servers::{Znodes, ZooKeeper};
use cotter_testkit::simulation::{Steps, Store, ZooKeeperDialect, replay};
use cotter_testkit::sized;
use cotter_testkit::zookeeper_in_memory::{Happened, Reader, Step};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// A real server that does what another has done.
struct Copy {
    side: Side,
    /// Does what operators do. Its session is one transaction ahead of everything else.
    control: Znodes,
    wires: BTreeMap<u64, Wire>,
    has_greeted: BTreeSet<u64>,
    /// The sessions of the other one.
    sessions: HashMap<i64, (i64, Vec<u8>)>,
    ours: Names,
    theirs: Names,
    compared: usize,
}

/// In real time, a run takes a few seconds.
const SESSION: i32 = 120_000;

impl Copy {
    fn new() -> Self {
        let server = ZooKeeper::with_settings(1, LINES, FLAGS);
        Self {
            control: server.nodes(0),
            side: Side::Theirs(server),
            wires: BTreeMap::new(),
            has_greeted: BTreeSet::new(),
            sessions: HashMap::new(),
            ours: Names::default(),
            theirs: Names { ahead: 1, ..Names::default() },
            compared: 0,
        }
    }

    fn step(&mut self, Step { what, said, ended }: &Step) -> Result<(), String> {
        let mut code = 0;
        match what {
            Happened::Opened(number) => _ = self.wires.insert(*number, self.side.open()),
            Happened::Asked(number, message) if self.has_greeted.insert(*number) => {
                self.greet(*number, message, said)?;
            }
            Happened::Asked(number, message) => {
                code = i32::from_be_bytes(message[4..8].try_into().expect("four bytes"));
                let length = (message.len() as u32).to_be_bytes();
                self.wire(*number).send(&[&length[..], message].concat());
                self.compare(*number, code, said)?;
            }
            Happened::Expired(id) => self.control.end_session(self.sessions[id].0),
            Happened::Deleted(path) => _ = self.control.delete(path),
            Happened::Left(_) | Happened::Restarted => {}
        }
        ended.iter().for_each(|number| _ = self.wires.remove(number));
        let asker = match what {
            Happened::Asked(number, _) => *number,
            _ => 0,
        };
        // Whoever watches has learned of it by the time it is answered.
        let others = self.wires.keys().filter(|n| self.has_greeted.contains(n) && **n != asker);
        others.copied().collect::<Vec<_>>().into_iter().try_for_each(|n| self.compare(n, code, said))
    }

    fn wire(&mut self, number: u64) -> &mut Wire {
        self.wires.get_mut(&number).expect("it was opened")
    }

    /// With the session of this server instead of that of the other one.
    fn greet(&mut self, number: u64, message: &[u8], said: &[(u64, Vec<u8>)]) -> Result<(), String> {
        let mut from = Reader(message);
        let (_, seen, _, id) = (from.int(), from.long().unwrap(), from.int(), from.long().unwrap());
        let (theirs, password) = self.sessions.get(&id).cloned().unwrap_or((0, vec![0; 16]));
        let seen = if seen > 0 { seen + self.theirs.ahead } else { 0 };
        self.wire(number).send(&hello(seen, SESSION, theirs, &password));
        let (answer, ours) = (self.wire(number).next(), said.iter().find(|(to, _)| *to == number));
        let (Some(answer), Some((_, ours))) = (answer, ours) else {
            return Err(format!("{number} is not greeted"));
        };
        let ((_, ours, _), (_, theirs, password)) = (self.ours.welcome(ours), self.theirs.welcome(&answer));
        self.sessions.insert(ours, (theirs, password));
        if (ours == 0) == (theirs == 0) { Ok(()) } else { Err(format!("{ours} here, and {theirs} there")) }
    }

    /// What a connection was told in this step.
    fn compare(&mut self, number: u64, code: i32, said: &[(u64, Vec<u8>)]) -> Result<(), String> {
        let theirs = self.wire(number).until_ping();
        let shown = |names: &Names, messages: &mut dyn Iterator<Item = &Vec<u8>>| {
            let mut shown: Vec<_> = messages.map(|message| names.message(code, message)).collect();
            shown.sort();
            shown
        };
        let of_ours = said.iter().filter(|(to, _)| *to == number);
        let ours = shown(&self.ours, &mut of_ours.map(|(_, message)| message));
        let theirs = shown(&self.theirs, &mut theirs.iter());
        self.compared += ours.len();
        if ours == theirs {
            Ok(())
        } else {
            Err(format!("{number}, {code}: {ours:?} here, and there {theirs:?}"))
        }
    }
}

/// Runs with these nodes, done once more.
fn compare(dialect: ZooKeeperDialect, seeds: usize) {
    let mut compared = 0;
    for seed in 0..seeds as u64 {
        let Steps::ZooKeeper(steps) = replay(Store::ZooKeeper(dialect), seed).steps else {
            panic!("no steps")
        };
        let mut copy = Copy::new();
        for (at, step) in steps.iter().enumerate() {
            if let Err(text) = copy.step(step) {
                panic!("seed {seed}, step {at}: {text}\n{:?}", step.what);
            }
        }
        compared += copy.compared;
    }
    assert!(compared > seeds * 2_000, "only {compared} messages");
}

macro_rules! with_each_dialect {
    ($($name:ident: $dialect:ident, $seeds:literal;)*) => {
        $(#[test]
        #[ignore = "needs java"]
        fn $name() {
            compare(ZooKeeperDialect::$dialect, sized($seeds, 20 * $seeds));
        })*
    };
}

with_each_dialect! {
    own: Own, 3;
    curator: Curator, 1;
    curator_rwlock: CuratorReadWrite, 1;
    kazoo: Kazoo, 1;
}

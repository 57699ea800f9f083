//! Random requests, right and wrong ones, given to both servers.

use crate::asked::{Side, Wire, hello};
use crate::shown::Names;
use cotter_testkit::servers::ZooKeeper;
use cotter_testkit::sized;
use cotter_testkit::zookeeper_in_memory::{Leader, Server, Writer};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

const TICK: u64 = 6_000;
/// The same limits of sessions as in memory, and nothing is cleared up by itself.
pub(crate) const LINES: &str = "tickTime=6000\nminSessionTimeout=12000\nmaxSessionTimeout=120000\n";
pub(crate) const FLAGS: &[&str] = &["-Dznode.container.checkIntervalMs=100000000"];
const CONNECTIONS: usize = 3;

/// One of the servers, and what its clients know.
struct World {
    side: Side,
    names: Names,
    wires: Vec<Wire>,
    sessions: Vec<(i64, Vec<u8>)>,
}

/// How a connection goes on.
#[derive(Debug, Clone, Copy)]
enum Hello {
    New,
    Same,
    WrongPassword,
    OfAnother(usize),
    FromTheFuture,
}

impl World {
    fn new(side: Side) -> Self {
        let wires = (0..CONNECTIONS).map(|_| side.open()).collect();
        Self { side, names: Names::default(), wires, sessions: vec![(0, vec![0; 16]); CONNECTIONS] }
    }

    /// Sends this over a connection. Returns what everybody is told.
    fn ask(&mut self, number: usize, code: i32, message: &[u8]) -> String {
        self.wires[number].send(message);
        let mut text = String::new();
        // The others have learned of it by the time it is answered.
        let others = (0..CONNECTIONS).filter(|other| *other != number);
        for other in std::iter::once(number).chain(others) {
            let mut said: Vec<_> =
                self.wires[other].until_ping().iter().map(|m| self.names.message(code, m)).collect();
            // A set of nodes has no order there.
            said.sort();
            text += &format!("{other}: {said:?}\n");
        }
        text
    }

    fn connect(&mut self, number: usize, how: Hello, timeout: i32, seen: i64) -> String {
        let (id, mut password) = match how {
            Hello::New => (0, vec![0; 16]),
            Hello::OfAnother(other) => self.sessions[other].clone(),
            _ => self.sessions[number].clone(),
        };
        if matches!(how, Hello::WrongPassword) {
            password = vec![1; 16];
        }
        let seen = if matches!(how, Hello::FromTheFuture) { 1 << 40 } else { seen };
        let mut wire = self.side.open();
        wire.send(&hello(seen, timeout, id, &password));
        let said = wire.next().map(|answer| self.names.welcome(&answer));
        self.wires[number] = wire;
        if let Some((_, id, password)) = said.as_ref().filter(|(_, id, _)| *id != 0) {
            self.sessions[number] = (*id, password.clone());
        }
        said.map_or("hangs up".to_owned(), |(text, ..)| text)
    }
}

fn path(rng: &mut StdRng) -> &'static str {
    const GOOD: [&str; 10] =
        ["/a", "/b", "/a/a", "/a/b", "/b/c", "/a/a/a", "/a/s-", "/b/s-", "/", "/no/where"];
    const BAD: [&str; 12] = [
        "",
        "a",
        "/a/",
        "//",
        "/a//b",
        "/a/./b",
        "/../a",
        "/a/\u{1}",
        "/a/\u{85}",
        "/a/\u{e001}",
        "/zookeeper",
        "/zookeeper/quota",
    ];
    if rng.random_bool(0.92) {
        GOOD[rng.random_range(0..GOOD.len())]
    } else {
        BAD[rng.random_range(0..BAD.len())]
    }
}

fn version(rng: &mut StdRng) -> i32 {
    [-1, -1, -1, 0, 1, 2, 7][rng.random_range(0..7)]
}

/// A change: its code, and the request.
fn change(rng: &mut StdRng, to: Writer) -> (i32, Writer) {
    let (path, data) = (path(rng), vec![b'x'; rng.random_range(0..4)]);
    match rng.random_range(0..10) {
        0..5 => {
            let (code, flags) =
                [(1, 0), (1, 1), (1, 2), (1, 3), (15, 0), (15, 1), (15, 3), (19, 4)][rng.random_range(0..8)];
            let to = to.text(path).bytes(&data).int(1).int(31).text("world").text("anyone");
            (code, to.int(flags))
        }
        5..8 => (2, to.text(path).int(version(rng))),
        8 => (5, to.text(path).bytes(&data).int(version(rng))),
        _ => (13, to.text(path).int(version(rng))),
    }
}

/// Any request: its code, and the message.
fn request(rng: &mut StdRng, xid: i32) -> (i32, Vec<u8>) {
    let (body, watch) = (Writer::default(), rng.random_bool(0.6));
    let (code, body) = match rng.random_range(0..20) {
        // A check is answered among others only.
        0..8 => match change(rng, body) {
            (13, _) => (9, Writer::default().text("/a")),
            change => change,
        },
        8..11 => (4, body.text(path(rng)).flag(watch)),
        11..13 => (3, body.text(path(rng)).flag(watch)),
        13..16 => (8, body.text(path(rng)).flag(watch)),
        16 => (9, body.text(path(rng))),
        _ => {
            let all = (0..rng.random_range(1..4)).fold(body, |body, _| {
                // Containers are made alone.
                let mut changes = std::iter::repeat_with(|| change(rng, Writer::default()));
                let (code, change) = changes.find(|(code, _)| *code != 19).expect("another one");
                body.int(code).flag(false).int(-1).then(&change)
            });
            (14, all.int(-1).flag(true).int(-1))
        }
    };
    (code, Writer::default().int(xid).int(code).then(&body).finish())
}

#[test]
#[ignore = "needs java"]
fn random_requests_are_answered_alike() {
    let ours = Server::new(|| 1_800_000_000_000, Leader::Same, TICK);
    let theirs = ZooKeeper::with_settings(1, LINES, FLAGS);
    let mut worlds = [World::new(Side::Ours(ours)), World::new(Side::Theirs(theirs))];
    let mut rng = StdRng::seed_from_u64(sized(1, 7) as u64);
    for number in 0..CONNECTIONS {
        both(&mut worlds, "begins", |world| world.connect(number, Hello::New, 30_000, 0));
    }
    for xid in 1..sized(5_000, 200_000) as i32 {
        let number = rng.random_range(0..CONNECTIONS);
        if rng.random_bool(0.03) {
            let how =
                [Hello::Same, Hello::Same, Hello::OfAnother(0), Hello::WrongPassword, Hello::FromTheFuture]
                    [rng.random_range(0..5)];
            let timeout = rng.random_range(0..200_000);
            let close = Writer::default().int(xid).int(-11).finish();
            // Whoever closes its session cannot go on with it. None is left behind, which would end by itself there.
            if rng.random_bool(0.4) || matches!(how, Hello::OfAnother(_)) {
                both(&mut worlds, "closes", |world| world.ask(number, -11, &close));
            }
            both(&mut worlds, &format!("{number} {how:?}"), |w| w.connect(number, how, timeout, 0));
            both(&mut worlds, "again", |world| world.connect(number, Hello::Same, timeout, 0));
            both(&mut worlds, "closes", |world| world.ask(number, -11, &close));
            both(&mut worlds, "anew", |world| world.connect(number, Hello::New, 30_000, 0));
            continue;
        }
        let (code, message) = request(&mut rng, xid);
        let what = format!("{xid}: {number} {code} {:?}", String::from_utf8_lossy(&message[12..]));
        both(&mut worlds, &what, |world| world.ask(number, code, &message));
    }
}

fn both(worlds: &mut [World; 2], what: &str, ask: impl Fn(&mut World) -> String) {
    let [ours, theirs] = worlds.each_mut().map(ask);
    assert_eq!(ours, theirs, "{what}");
}

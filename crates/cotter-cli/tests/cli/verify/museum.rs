//! The pieces of docs/museum.md: each is found as what the page says, and cotter passes in the same situation.

use super::{blocks, found, not_void_of, verdict, verify};
use crate::env::{Output, TestEnv};
use cotter_testkit::servers::Redis;
use cotter_testkit::timing::until;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

const PAGE: &str = include_str!("../../../../../docs/museum.md");
const LOCKS: &str = include_str!("../../../../../docs/museum/locks.py");

/// As the page shows it.
struct Piece {
    /// Of `cotter verify`, without the client.
    options: Vec<&'static str>,
    client: String,
    /// The kinds of violations in the last line.
    found: BTreeSet<&'static str>,
}

fn piece(name: &str) -> Piece {
    let shown = blocks(PAGE, "console").into_iter().find(|block| block.contains(&format!(" {name}'\n")));
    let mut lines = shown.expect("it is on the page").lines();
    let command = lines.next().and_then(|line| line.strip_prefix("$ cotter verify ")).expect("a command");
    let (options, client) = command.split_once(" --client '").expect("a client");
    let told = lines.last().and_then(|line| line.strip_prefix("FAILED: ")).expect("what it has found");
    let kind = |counted: &'static str| counted.split_once(' ').expect("a number and a kind").1;
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/museum");
    Piece {
        options: options.split(' ').collect(),
        client: client.trim_end_matches('\'').replace("docs/museum", &folder.display().to_string()),
        found: told.split(", ").map(kind).collect(),
    }
}

impl Piece {
    /// It is found, and cotter passes: with the patience of all other runs, if the piece has less.
    #[track_caller]
    fn is_exhibited(&self, run: impl Fn(&[&str]) -> Output) {
        let client = [&self.options[..], &["--json", "--client", &self.client]].concat();
        found(|| not_void_of(&run, &client), &self.found);
        let mut options = self.options.clone();
        if let Some(at) = options.iter().position(|word| *word == "--patience") {
            options.drain(at..at + 2);
        }
        let output = not_void_of(&run, &[&["--json"], &options[..]].concat()).code(0).silent();
        assert_eq!(verdict(&output)["outcome"], "passed", "{output:?}");
    }
}

/// On a server without passwords: clients are not told any.
fn on_redis(name: &str) {
    let redis = Redis::start();
    let env = TestEnv::on(redis.open_url(""));
    piece(name).is_exhibited(|options| verify(&env, options));
}

#[test]
#[ignore = "needs redis-server"]
fn the_museum_has_a_release_without_a_check_of_the_owner() {
    on_redis("no-owner-check");
}

#[test]
#[ignore = "needs redis-server"]
fn the_museum_has_setnx_and_then_expire() {
    on_redis("setnx-then-expire");
}

#[test]
#[ignore = "needs redis-server"]
fn the_museum_has_a_lease_by_the_clocks_of_clients() {
    on_redis("clients-clock");
}

#[test]
#[ignore = "needs redis-server"]
fn the_museum_has_an_unfenced_pause() {
    on_redis("unfenced-pause");
}

/// Two of three servers without persistence are restarted, one after the other, as soon as a run asks for it.
#[test]
#[ignore = "needs redis-server"]
fn the_museum_has_a_redlock_after_restarts() {
    let servers: [Redis; 3] = std::array::from_fn(|_| Redis::start());
    let hosts = servers.each_ref().map(|server| format!("127.0.0.1:{}", server.port()));
    let env = TestEnv::on(format!("redlock://{}?max_ttl=1s", hosts.join(",")));
    let servers = RefCell::new(servers);
    let mark = env.path("restart");
    let asks = format!("touch {0}; while [ -e {0} ]; do sleep 0.01; done", mark.display());
    piece("redlock").is_exhibited(|options| {
        let options: Vec<_> = options.iter().map(|word| word.replace("./restart-members", &asks)).collect();
        let running = env.start([&["verify".to_owned()], &options[..]].concat());
        until("members are to be restarted", || mark.exists());
        servers.borrow_mut()[1..].iter_mut().for_each(Redis::restart);
        fs::remove_file(&mark).unwrap();
        running.end()
    });
}

/// What the page shows of the locks is what runs, its table has each of them, and every picture is used.
#[test]
fn the_museum_shows_what_runs() {
    let shown: Vec<_> = blocks(PAGE, "python");
    let functions = LOCKS.split("\ndef ").skip(1).map(|rest| rest.split('(').next().unwrap());
    for function in functions {
        let name = function.replace('_', "-");
        let row = PAGE.lines().find(|line| line.starts_with(&format!("| [`{name}`](#")));
        let row = row.unwrap_or_else(|| panic!("{name} is not in the table"));
        let kinds = row.split(" | ").nth(2).unwrap().split(", ").map(|kind| kind.trim_matches('`'));
        assert_eq!(kinds.collect::<BTreeSet<_>>(), piece(&name).found, "{name}");
    }
    assert!(shown.len() > 3);
    for code in shown {
        assert!(LOCKS.contains(code), "docs/museum/locks.py does not have:\n{code}");
    }
    let pictures = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/pictures")).unwrap();
    let names = pictures.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let museum: Vec<_> = names.filter(|name| name.starts_with("museum-")).collect();
    assert!(museum.len() > 3, "{museum:?}");
    for picture in museum {
        assert!(PAGE.contains(&format!("(pictures/{picture})")), "{picture}");
    }
}

//! The conformance suite: `STOPPED=kill` and `STOPPED=stop` run it without the last member.

use cotter::conformance::Fixture;
use quorum_sketch::{member::RedisMember, quorum::Store, servers::Servers};

fn fixture() -> Fixture {
    let mut servers = Servers::start(3);
    match std::env::var("STOPPED").as_deref() {
        Ok("kill") => servers.kill(2),
        Ok("stop") => servers.signal(2, "-STOP"),
        _ => {}
    }
    let up = servers.urls.clone();
    let urls = if std::env::var("STOPPED").is_ok() { up[..2].to_vec() } else { up.clone() };
    Fixture::keeping(Store::new(&up), servers)
        .removing(move |name| urls.iter().for_each(|url| RedisMember::remove(url, name)))
}

cotter::conformance_tests!(quorum, fixture());

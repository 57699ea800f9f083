//! What a service manager hears.

use super::{once, printed};
use crate::env::{Running, TestEnv};
use rustix::process::Signal;
use std::os::unix::net::UnixDatagram;
use std::time::Duration;

fn heard(manager: &UnixDatagram) -> String {
    let mut buffer = [0; 256];
    let bytes = manager.recv(&mut buffer).expect("the manager hears something");
    String::from_utf8_lossy(&buffer[..bytes]).into_owned()
}

#[test]
fn ready_watchdog_reloading_stopping() {
    let env = TestEnv::new();
    let manager = UnixDatagram::bind(env.path("notify")).unwrap();
    manager.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let path = env.jobs(&once("a", "echo ${NOTIFY_SOCKET-none} ${WATCHDOG_USEC-none}"));
    let mut command = env.cotter(["--json", "schedule", path.to_str().unwrap()]);
    command.env("NOTIFY_SOCKET", env.path("notify")).env("WATCHDOG_USEC", "200000");
    let mut run = Running::start(&mut command);
    assert_eq!(heard(&manager), "READY=1\nSTATUS=scheduling\n");
    for _ in 0..3 {
        assert_eq!(heard(&manager), "WATCHDOG=1\n");
    }
    assert_eq!(printed(&mut run), "none none");
    let next = |what: &str| {
        while !heard(&manager).starts_with(what) {}
    };
    run.signal(Signal::HUP);
    next("RELOADING=1\nMONOTONIC_USEC=");
    next("READY=1");
    run.signal(Signal::TERM);
    next("STOPPING=1");
    run.end().code(0);
}

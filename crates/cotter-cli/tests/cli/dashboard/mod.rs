//! `cotter dashboard`.

mod browser;
mod changes;
mod job;
mod job_changes;
mod owner;

use crate::env::{Running, TestEnv};
use crate::schedule::metrics::{ask, get, status};
use crate::schedule::once;
use cotter_testkit::servers::Redis;
use cotter_testkit::timing::until;
use rustix::process::Signal;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::Duration;

/// A dashboard of this store, and its address.
fn start(env: &TestEnv) -> (Running, String) {
    let mut run = env.start(["dashboard", "--listen", "127.0.0.1:0"]);
    let at = address(&mut run);
    (run, at)
}

/// Where it says that it is.
fn address(run: &mut Running) -> String {
    let line = run.line();
    line.split_once("http://").expect("it says where it is").1.trim_end_matches('/').to_owned()
}

/// The page at an address, with what is between two of its words.
fn between<'a>(page: &'a str, from: &str, to: &str) -> &'a str {
    let (_, rest) = page.split_once(from).unwrap_or_else(|| panic!("no {from:?} in {page}"));
    rest.split_once(to).unwrap_or_else(|| panic!("no {to:?} in {page}")).0
}

#[test]
fn who_holds_what_is_there_without_a_script() {
    let env = TestEnv::new();
    let (_dashboard, at) = start(&env);
    assert!(get(&at, "/").contains("0 locks are held."));
    let _a = env.hold(&[], "backup").0;
    let hostile = "<script>alert('1')</script>&\"";
    let _b = env.hold(&[], hostile).0;
    until("both are listed", || get(&at, "/").contains("2 locks are held."));
    let page = get(&at, "/");
    assert!(!page.contains("<script>alert"), "violation[a-name-becomes-markup] {page}");
    let link = between(&page, "<a href=\"/lock?", "\">&#60;script");
    let lock = get(&at, &format!("/lock?{link}"));
    assert!(
        lock.contains("<h1>&#60;script&#62;alert(&#39;1&#39;)&#60;/script&#62;&#38;&#34;</h1>"),
        "{lock}"
    );
    assert!(lock.contains("<dt>Token</dt>") && lock.contains("<dt>Left</dt><dd>no lease</dd>"), "{lock}");
    assert!(get(&at, "/?q=back").contains("1 lock is held that match"));
    assert!(get(&at, "/lock?name=other").contains("Nobody holds it."));
    let store = get(&at, "/store");
    assert!(store.contains("L1, lease-exclusive") && store.contains("a lock was taken"), "{store}");
}

#[test]
fn what_is_not_asked_for_by_its_own_pages_is_refused() {
    let env = TestEnv::new();
    let (_dashboard, at) = start(&env);
    let answer = |request: &str| ask(&at, &format!("{request}Connection: close\r\n\r\n"));
    let foreign = answer("GET / HTTP/1.1\r\nHost: evil.example\r\n");
    assert_eq!(status(&foreign), "421", "violation[a-foreign-name-is-answered] {foreign}");
    let own = format!("Host: {at}\r\n");
    for (request, expected) in [
        (format!("POST / HTTP/1.1\r\n{own}Content-Length: 0\r\n"), "405"),
        (format!("GET /other HTTP/1.1\r\n{own}"), "404"),
        (format!("GET /lock HTTP/1.1\r\n{own}"), "400"),
        (format!("GET /?sort=up HTTP/1.1\r\n{own}"), "400"),
        (format!("GET /?page=99 HTTP/1.1\r\n{own}"), "200"),
    ] {
        let answer = answer(&request);
        assert_eq!(status(&answer), expected, "{request}: {answer}");
        for header in [
            "default-src 'none'",
            "script-src 'self';",
            "frame-ancestors 'none'",
            "nosniff",
            "no-store",
            "same-origin",
        ] {
            assert!(answer.contains(header), "violation[without-a-policy] {header}: {answer}");
        }
    }
}

/// The lines of a page that goes on by itself.
fn follow(at: &str, path: &str) -> impl Iterator<Item = String> + use<> {
    let mut stream = TcpStream::connect(at).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: {at}\r\n\r\n").as_bytes()).unwrap();
    BufReader::new(stream).lines().map(|line| line.expect("it goes on"))
}

#[test]
fn a_page_goes_on_by_itself() {
    let env = TestEnv::new();
    let (_dashboard, at) = start(&env);
    let mut list = follow(&at, "/live/locks");
    let mut one = follow(&at, "/live/lock?name=backup");
    assert!(list.any(|line| line.contains("0 locks are held.")));
    assert!(one.any(|line| line.contains("Nobody holds it.")));
    let holder = env.hold(&[], "backup").0;
    assert!(list.any(|line| line.contains("1 lock is held.")));
    assert!(one.any(|line| line.contains("holds it, token")));
    holder.let_go().code(0);
    assert!(list.any(|line| line.contains("0 locks are held.")));
    assert!(one.any(|line| line.contains("does not hold it any more, token")), "its end is told");
}

#[test]
fn a_store_that_hangs_is_shown_as_such_with_its_last_locks() {
    let server = Redis::start();
    let env = TestEnv::on(server.url("timeout=500ms"));
    let (_dashboard, at) = start(&env);
    let _holder = env.hold(&[], "backup").0;
    until("it is listed", || get(&at, "/").contains("1 lock is held."));
    server.stop();
    until("the store is shown as silent", || get(&at, "/").contains("The store does not answer"));
    let page = get(&at, "/");
    assert!(page.contains(">backup</a>") && page.contains("what is shown is"), "violation[forgotten] {page}");
    server.go_on();
    until("it is there again", || !get(&at, "/").contains("The store does not answer"));
}

#[test]
fn an_address_that_cannot_be_used_is_refused() {
    let env = TestEnv::new();
    env.run(["dashboard", "--listen", "0.0.0.0:8787"]).code(64);
    let (_dashboard, at) = start(&env);
    let second = env.run(["dashboard", "--listen", &at]).code(78);
    second.one_line(&["--listen", &at, "cannot listen"]);
}

#[test]
fn the_jobs_of_a_group_and_its_hosts_are_there() {
    let env = TestEnv::new();
    let text = format!("[job.good]\nfixed_rate = \"50ms\"\nshell = \"true\"\n{}", once("bad", "exit 3"));
    let path = env.jobs(&text);
    let schedule = env.start(["schedule", path.to_str().unwrap()]);
    let mut dashboard = env.start(["dashboard", "--listen", "127.0.0.1:0", "--group", "g"]);
    let at = address(&mut dashboard);
    until("both have run", || {
        let page = get(&at, "/jobs");
        page.contains("failed: exit code 3") && page.contains("data-label=\"Last 10\"><code>..")
    });
    let page = get(&at, "/jobs");
    let bad = between(&page, "<tr class=\"problem\">", "</tr>");
    assert!(bad.contains("<strong>bad</strong>") && bad.contains("<code>x</code>"), "{bad}");
    assert_eq!(page.matches("class=\"problem\"").count(), 1, "the other one is well: {page}");
    assert!(between(&page, "<h3>Hosts</h3>", "</table>").contains("data-label=\"Busy\""), "{page}");
    assert!(get(&at, "/").contains("<a href=\"/jobs\">Jobs</a>"));
    schedule.signal(Signal::TERM);
    schedule.end().code(0);
    until("nobody is there", || get(&at, "/jobs").contains("No scheduler of this group runs"));
    let (_other, at) = start(&env);
    assert_eq!(status(&get(&at, "/jobs")), "404");
}

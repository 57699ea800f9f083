//! What a dashboard lets somebody change, and whom.

use super::between;
use super::owner::{Owner, With, link};
use crate::env::TestEnv;
use crate::schedule::metrics::{ask, get, status};
use cotter_testkit::servers::Redis;
use cotter_testkit::timing::until;
use serde_json::Value;
use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

#[test]
#[ignore = "needs redis-server"]
fn a_holder_on_the_screen_is_evicted_and_that_is_told() {
    let server = Redis::start();
    let env = TestEnv::on(server.url(""));
    let mut owner = Owner::start(&env, &[]);
    let name = "a\"b'<script>alert(1)</script>&c%41/d";
    let (mut holder, token) = env.hold(&["--ttl", "1s"], name);
    until("it is listed", || owner.get("/").contains("1 lock is held."));
    let page = owner.get(&link(&owner.get("/"), "/lock?"));
    let confirm = link(&page, "/lock/evict?");
    for method in ["GET", "HEAD"] {
        assert_eq!(status(&owner.request(method, &confirm)), "200");
    }
    assert!(env.run(["show", name]).code(0).stdout.contains("held"), "nothing was asked for yet");
    let asks = owner.get(&confirm);
    assert!(asks.contains(&format!("<dt>Token</dt><dd>{token}</dd>")), "{asks}");
    let shown = owner.press(&confirm, "");
    for page in [&page, &asks, &shown] {
        assert!(!page.contains("<script>alert"), "violation[a-name-becomes-markup] {page}");
    }
    let told = format!("evicted (token {token}): its holder is notified at its next renewal");
    assert!(between(&shown, "role=\"status\">", "</p>").contains(&told), "{shown}");
    assert!(holder.error_line().contains("evicted"));
    holder.end().code(74);
    let event = owner.run.error_line();
    assert!(event.starts_with("cotter: ") && event.contains(name) && event.contains(&told), "{event}");
}

#[test]
#[ignore = "needs redis-server"]
fn a_holder_that_is_not_the_one_on_the_screen_keeps_the_lock() {
    let server = Redis::start();
    let env = TestEnv::on(server.url(""));
    let owner = Owner::start(&env, &[]);
    let (first, seen) = env.hold(&[], "backup");
    until("it is listed", || owner.get("/").contains("1 lock is held."));
    let address = format!("/lock/evict?name=backup&token={seen}");
    let (action, with) = owner.form(&address);
    first.let_go().code(0);
    let (second, _) = env.hold(&["--ttl", "1s"], "backup");
    let answer = owner.post(&action, &with, "");
    assert_eq!(status(&answer), "409", "violation[another-holder-is-evicted] {answer}");
    assert!(answer.contains(&format!("backup: no longer held with token {seen}")), "{answer}");
    assert!(answer.contains("Nothing was changed."), "{answer}");
    until("its page says the same", || status(&owner.get(&address)) == "409");
    second.let_go().code(0);
}

#[test]
#[ignore = "needs redis-server"]
fn whoever_has_no_key_or_comes_from_elsewhere_changes_nothing() {
    let server = Redis::start();
    let env = TestEnv::on(server.url(""));
    let owner = Owner::start(&env, &[]);
    let (holder, token) = env.hold(&[], "backup");
    until("it is listed", || owner.get("/").contains("1 lock is held."));
    let address = format!("/lock/evict?name=backup&token={token}");
    let (action, own) = owner.form(&address);
    let name = own.cookie.split('=').next().unwrap();
    let no_key = format!("{name}={}", "0".repeat(32));
    for (with, code, kind) in [
        (With { cookie: String::new(), ..own.clone() }, "403", "without-a-key"),
        (With { cookie: no_key, ..own.clone() }, "403", "without-a-key"),
        (With { secret: "0".repeat(32), ..own.clone() }, "403", "a-form-of-somebody-else"),
        (With { secret: String::new(), ..own.clone() }, "403", "a-form-of-somebody-else"),
        (With { more: "Origin: http://evil.example\r\n", ..own.clone() }, "403", "a-foreign-page-changes"),
        (With { more: "Origin: null\r\n", ..own.clone() }, "403", "a-foreign-page-changes"),
        (With { more: "Sec-Fetch-Site: same-site\r\n", ..own.clone() }, "403", "a-foreign-page-changes"),
        (With { host: "evil.example".to_owned(), ..own.clone() }, "421", "a-foreign-name-is-answered"),
    ] {
        let answer = owner.post(&action, &with, "");
        assert_eq!(status(&answer), code, "violation[{kind}] {answer}");
    }
    let long = format!("&reason={}", "x".repeat(5000));
    assert_eq!(status(&owner.post(&action, &own, &long)), "413");
    assert_eq!(status(&owner.post("/lock/evict?name=backup", &own, "")), "400");
    assert_eq!(status(&owner.post("/lock/evict?name=other&token=7", &own, "")), "409");

    // Whoever may only look sees no way to change something, and gets no form.
    let without = get(&owner.at, "/lock?name=backup");
    assert!(without.contains("<dt>Token</dt>") && !without.contains("/lock/evict"), "{without}");
    assert_eq!(status(&get(&owner.at, &address)), "403");
    assert_eq!(status(&get(&owner.at, "/?key=0")), "403");
    holder.let_go().code(0);
}

#[test]
#[ignore = "needs redis-server"]
fn a_key_that_is_in_a_file_stays_there_and_programs_are_told_of_evictions() {
    const KEY: &str = "canary0123456789abcdefgh";
    let server = Redis::start();
    let env = TestEnv::on(server.url(""));
    let path = env.path("key");
    let words = ["--json", "dashboard", "--listen", "127.0.0.1:0", "--allow-changes", "--key-file"];
    let words = || words.map(OsString::from).into_iter().chain([path.clone().into_os_string()]);
    for (text, mode, says) in [
        (KEY, 0o644, "chmod 600"),
        (&KEY[..21], 0o600, "22 letters and digits"),
        ("a b", 0o400, "22 letters"),
    ] {
        let _ = fs::remove_file(&path);
        fs::write(&path, format!("{text}\n")).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        let refused = env.run(words()).code(78).one_line(&["--key-file", says]);
        assert!(!refused.stderr.contains("canary"), "violation[a-key-is-shown] {refused:?}");
    }
    let _ = fs::remove_file(&path);
    env.run(words()).code(78).one_line(&["--key-file", "cannot be read"]);
    fs::write(&path, format!("{KEY}\n")).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
    let mut run = env.start(words());
    let told: Value = serde_json::from_str(&run.line()).unwrap();
    assert_eq!(told["change_url"], Value::Null, "violation[a-key-is-shown]");
    let url = told["url"].as_str().unwrap();
    let at = between(url, "http://", "/").to_owned();
    assert_eq!(status(&get(&at, "/?key=canary0123456789abcdefgx")), "403");
    let mut owner = Owner::enter(run, at, format!("{url}?key={KEY}"));

    let (mut holder, token) = env.hold(&["--ttl", "1s"], "backup");
    until("it is listed", || owner.get("/").contains("1 lock is held."));
    owner.press(&format!("/lock/evict?name=backup&token={token}"), "");
    let event: Value = serde_json::from_str(&owner.run.line()).unwrap();
    let of = (&event["event"], &event["name"], &event["token"]);
    assert_eq!(of, (&"evicted".into(), &"backup".into(), &token.to_string().into()), "{event}");
    assert!(holder.error_line().contains("evicted"));
    holder.end().code(74);
}

#[test]
#[ignore = "needs redis-server"]
fn a_change_that_the_store_does_not_answer_may_have_been_made() {
    let server = Redis::start();
    let env = TestEnv::on(server.url("timeout=500ms"));
    let mut owner = Owner::start(&env, &[]);
    let (_holder, token) = env.hold(&[], "backup");
    until("it is listed", || owner.get("/").contains("1 lock is held."));
    let (action, with) = owner.form(&format!("/lock/evict?name=backup&token={token}"));
    server.stop();
    let answer = owner.post(&action, &with, "");
    assert_eq!(status(&answer), "504", "{answer}");
    assert!(answer.contains("It is not known whether anything was changed."), "violation[untrue] {answer}");
    let line = owner.run.error_line();
    assert!(line.contains("backup: may have been evicted"), "{line}");
    server.go_on();
}

#[test]
fn nothing_can_be_changed_unless_that_is_allowed() {
    let env = TestEnv::new();
    let (_dashboard, at) = super::start(&env);
    let _holder = env.hold(&[], "backup").0;
    until("it is listed", || get(&at, "/").contains("1 lock is held."));
    for path in ["/lock/evict?name=backup&token=1", "/job/change?group=g&name=a&what=run"] {
        assert_eq!(status(&get(&at, path)), "404");
        let post =
            format!("POST {path} HTTP/1.1\r\nHost: {at}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        assert_eq!(status(&ask(&at, &post)), "404");
    }
    assert!(!get(&at, "/?key=").contains("set-cookie"));
    env.run(["dashboard", "--key-file", "key"]).code(64).one_line(&["--allow-changes"]);

    // Nobody can take this away: it ends with its process.
    let owner = Owner::start(&env, &[]);
    let page = owner.get("/lock?name=backup");
    assert!(page.contains("<dt>Token</dt>") && !page.contains("/lock/evict"), "{page}");
}

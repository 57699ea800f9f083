//! `cotter dashboard` in a real browser, by the WebDriver protocol.

use super::owner::Owner;
use super::start;
use crate::env::TestEnv;
use cotter_testkit::servers::Redis;
use cotter_testkit::timing::until;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// A browser with one page.
struct Browser {
    driver: Child,
    at: String,
    session: String,
    _profile: TempDir,
    /// It would end if nobody could read what it prints.
    _said: BufReader<ChildStdout>,
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = request(&self.at, "DELETE", &self.session, &Value::Null);
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}

fn request(at: &str, method: &str, path: &str, body: &Value) -> Value {
    let mut stream = TcpStream::connect(at).unwrap();
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let (length, kind) = (body.len(), "application/json");
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: {at}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    stream.write_all((head + &body).as_bytes()).unwrap();
    let mut answer: Value = serde_json::from_str(&body_of(stream)).expect("an answer in JSON");
    let value = answer["value"].take();
    assert!(value["error"].is_null(), "{path}: {value}");
    value
}

/// The body of an answer. The driver leaves the connection open.
fn body_of(stream: TcpStream) -> String {
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let (mut answer, mut length, mut line) = (BufReader::new(stream), 0, String::new());
    while answer.read_line(&mut line).expect("an answer") > 2 {
        if let Some((_, value)) = line.to_lowercase().split_once("content-length:") {
            length = value.trim().parse().expect("a length");
        }
        line.clear();
    }
    let mut body = vec![0; length];
    answer.read_exact(&mut body).expect("the whole answer");
    String::from_utf8(body).expect("text")
}

impl Browser {
    fn start() -> Self {
        let profile = TempDir::with_prefix("cotter-browser-").unwrap();
        let mut driver = Command::new("chromedriver");
        driver.arg("--port=0").env("HOME", profile.path()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut driver = driver.spawn().expect("chromedriver starts");
        let mut said = BufReader::new(driver.stdout.take().unwrap());
        let on_port =
            |line: String| Some(line.split_once("successfully on port ")?.1.trim_end_matches('.').to_owned());
        let port = said.by_ref().lines().map_while(Result::ok).find_map(on_port).expect("it says its port");
        let at = format!("127.0.0.1:{port}");
        // A test may be started as root, and in a container without a file system for shared memory.
        let args = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"];
        let wanted = json!({ "capabilities": { "alwaysMatch": { "goog:chromeOptions": { "args": args } } } });
        let session = request(&at, "POST", "/session", &wanted);
        let session = format!("/session/{}", session["sessionId"].as_str().expect("a session"));
        Self { driver, at, session, _profile: profile, _said: said }
    }

    fn post(&self, what: &str, body: &Value) -> Value {
        request(&self.at, "POST", &format!("{}/{what}", self.session), body)
    }

    fn open(&self, url: &str) {
        self.post("url", &json!({ "url": url }));
    }

    /// The value of an expression in the page.
    fn value(&self, expression: &str) -> Value {
        let script = format!("return {expression};");
        self.post("execute/sync", &json!({ "script": script, "args": [] }))
    }

    fn text(&self) -> String {
        self.value("document.body.innerText").as_str().unwrap_or_default().to_owned()
    }

    /// Types on the keyboard.
    fn press(&self, keys: &str) {
        let steps: Vec<Value> = keys
            .chars()
            .flat_map(|key| {
                ["keyDown", "keyUp"].map(|step| json!({ "type": step, "value": key.to_string() }))
            })
            .collect();
        self.post("actions", &json!({ "actions": [{ "type": "key", "id": "keys", "actions": steps }] }));
    }

    /// A command of the protocol for developers, for what the other has no words for.
    fn emulate(&self, what: &str, how: &Value) {
        self.post("goog/cdp/execute", &json!({ "cmd": format!("Emulation.{what}"), "params": how }));
    }
}

const TAB: char = '\u{e004}';
const ENTER: char = '\u{e007}';

#[test]
#[ignore = "needs Chromium"]
fn a_page_goes_on_and_the_keyboard_stays_where_it_is() {
    let env = TestEnv::new();
    let (dashboard, at) = start(&env);
    let browser = Browser::start();
    browser.open(&format!("http://{at}/"));
    let hostile = "<img src=x onerror='window.taken=1'>";
    let (_a, b) = (env.hold(&[], "backup").0, env.hold(&[], hostile).0);
    until("both are there", || browser.text().contains("2 locks are held."));
    assert!(browser.text().contains(hostile), "it is shown as it is: {}", browser.text());
    assert_eq!(browser.value("window.taken || null"), Value::Null, "violation[a-name-becomes-markup]");

    browser.value("document.querySelector('a[href*=backup]').focus()");
    b.let_go().code(0);
    until("it has gone", || browser.text().contains("1 lock is held."));
    let focused = "document.activeElement.getAttribute('href')";
    assert_eq!(browser.value(focused), json!("/lock?name=backup"), "violation[the-focus-is-lost]");
    browser.press(&ENTER.to_string());
    until("its page is there", || browser.text().contains("Held by"));

    drop(dashboard);
    until("it says that it is not up to date", || {
        browser.text().contains("cotter dashboard does not answer")
    });
}

#[test]
#[ignore = "needs Chromium"]
fn the_keyboard_is_enough() {
    let env = TestEnv::new();
    let (_dashboard, at) = start(&env);
    let _held = (env.hold(&[], "backup").0, env.hold(&[], "import").0);
    let browser = Browser::start();
    browser.open(&format!("http://{at}/"));
    until("both are there", || browser.text().contains("2 locks are held."));
    // To the content, the two pages, and what is looked for.
    browser.press(&format!("{TAB}{TAB}{TAB}{TAB}imp{ENTER}"));
    until("one is left", || browser.text().contains("1 lock is held that match"));
    assert_eq!(browser.value("document.querySelector('[name=q]').value"), json!("imp"));
}

/// Also that the browser sends what the forms are checked by: the cookie, and where they are from.
#[test]
#[ignore = "needs Chromium and redis-server"]
fn whoever_has_the_key_evicts_by_keyboard() {
    let server = Redis::start();
    let env = TestEnv::on(server.url(""));
    let owner = Owner::start(&env, &[]);
    let (mut holder, token) = env.hold(&["--ttl", "1s"], "backup");
    let browser = Browser::start();
    browser.open(&owner.url);
    assert_eq!(browser.value("location.href"), json!(format!("http://{}/", owner.at)), "no key in sight");
    browser.open(&format!("http://{}/lock?name=backup", owner.at));
    until("it can be evicted", || browser.text().contains("Evict the holder"));
    browser.value("document.querySelector('a[href^=\"/lock/evict\"]').focus()");
    browser.press(&ENTER.to_string());
    until("it is asked", || browser.text().contains("Evict the holder of backup?"));
    browser.value("document.querySelector('#main').querySelector('button').focus()");
    browser.press(&ENTER.to_string());
    until("it is answered", || !browser.text().contains("Evict the holder of backup?"));
    let text = browser.text();
    assert!(text.contains(&format!("evicted (token {token})")), "violation[own-forms-are-refused] {text}");
    assert!(holder.error_line().contains("evicted"));
    holder.end().code(74);
    until("the page goes on", || browser.text().contains("Nobody holds it."));
    assert!(browser.text().contains(&format!("evicted (token {token})")), "what was said stays");
}

#[test]
#[ignore = "needs Chromium"]
fn a_small_screen_and_a_dark_one_are_enough() {
    let env = TestEnv::new();
    let owner = Owner::start(&env, &["--group", "g"]);
    let at = &owner.at;
    let _held = env.hold(&[], &"a-long-name/".repeat(20));
    let browser = Browser::start();
    let small = json!({ "width": 360, "height": 640, "deviceScaleFactor": 1, "mobile": true });
    browser.emulate("setDeviceMetricsOverride", &small);
    browser.open(&owner.url);
    let asks = format!("/job/change?group=g&name={}&what=pause", "a-long-name/".repeat(20));
    for page in ["/", "/store", &asks] {
        browser.open(&format!("http://{at}{page}"));
        until("it is there", || browser.text().contains("Locks"));
        let width = browser.value("document.scrollingElement.scrollWidth");
        assert!(width.as_u64().is_some_and(|width| width <= 360), "{page} is {width} wide");
    }
    let ground = "getComputedStyle(document.body).backgroundColor";
    let light = browser.value(ground);
    let dark = json!({ "features": [{ "name": "prefers-color-scheme", "value": "dark" }] });
    browser.emulate("setEmulatedMedia", &dark);
    assert_ne!(browser.value(ground), light);
}

#[test]
#[ignore = "needs Chromium"]
fn a_store_that_hangs_is_told_and_comes_back() {
    let server = Redis::start();
    let env = TestEnv::on(server.url("timeout=500ms"));
    let (_dashboard, at) = start(&env);
    let _holder = env.hold(&[], "backup").0;
    let browser = Browser::start();
    browser.open(&format!("http://{at}/"));
    until("it is there", || browser.text().contains("backup"));
    server.stop();
    until("it is told", || browser.text().contains("The store does not answer"));
    assert!(browser.text().contains("backup"), "violation[forgotten] {}", browser.text());
    server.go_on();
    until("it is over", || !browser.text().contains("The store does not answer"));
}

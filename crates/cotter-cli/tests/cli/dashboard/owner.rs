//! Somebody who may change something.

use super::{address, between};
use crate::env::{Running, TestEnv};
use crate::schedule::metrics::{ask, get, status};

/// Somebody with the key in a browser.
pub(super) struct Owner {
    pub(super) run: Running,
    pub(super) at: String,
    /// What was printed for whoever may change something.
    pub(super) url: String,
    pub(super) cookie: String,
}

/// What a request has besides its address.
#[derive(Clone)]
pub(super) struct With {
    pub(super) host: String,
    pub(super) cookie: String,
    pub(super) secret: String,
    pub(super) more: &'static str,
}

impl Owner {
    pub(super) fn start(env: &TestEnv, options: &[&str]) -> Self {
        let own = ["dashboard", "--listen", "127.0.0.1:0", "--allow-changes"];
        let mut run = env.start([&own[..], options].concat());
        let at = address(&mut run);
        let url = between(&run.line(), "whoever opens ", " may").to_owned();
        Self::enter(run, at, url)
    }

    /// Shows the key.
    pub(super) fn enter(run: Running, at: String, url: String) -> Self {
        let path = url.split_once(&at).expect("the same address").1;
        let entered = get(&at, path);
        assert!(status(&entered) == "303" && entered.contains("location: /\r\n"), "{entered}");
        assert!(entered.contains("HttpOnly; SameSite=Strict; Path=/"), "{entered}");
        let cookie = between(&entered, "set-cookie: ", ";").to_owned();
        Self { run, at, url, cookie }
    }

    /// A page, as whoever has shown the key sees it.
    pub(super) fn get(&self, path: &str) -> String {
        self.request("GET", path)
    }

    pub(super) fn request(&self, method: &str, path: &str) -> String {
        let (at, cookie) = (&self.at, &self.cookie);
        ask(
            at,
            &format!(
                "{method} {path} HTTP/1.1\r\nHost: {at}\r\nCookie: {cookie}\r\nConnection: close\r\n\r\n"
            ),
        )
    }

    /// The address and the secret of the form on a page.
    pub(super) fn form(&self, path: &str) -> (String, With) {
        let page = self.get(path);
        let secret = between(&page, "name=\"form\" value=\"", "\"").to_owned();
        let with = With { host: self.at.clone(), cookie: self.cookie.clone(), secret, more: "" };
        (unescaped(between(&page, "<form action=\"", "\"")), with)
    }

    pub(super) fn post(&self, path: &str, with: &With, fields: &str) -> String {
        let With { host, cookie, secret, more } = with;
        let body = format!("form={secret}{fields}");
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: {host}\r\nCookie: {cookie}\r\n{more}Connection: close\r\n\
             Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        ask(&self.at, &(head + &body))
    }

    /// Presses the button of a page, and returns what is shown then.
    pub(super) fn press(&self, path: &str, fields: &str) -> String {
        let (action, with) = self.form(path);
        let answer = self.post(&action, &with, fields);
        assert_eq!(status(&answer), "303", "{path}: {answer}");
        self.get(between(&answer, "location: ", "\r\n"))
    }
}

fn unescaped(text: &str) -> String {
    text.replace("&#38;", "&").replace("&amp;", "&")
}

/// The address behind a link of a page.
pub(super) fn link(page: &str, to: &str) -> String {
    to.to_owned() + &unescaped(between(page, &format!("href=\"{to}"), "\""))
}

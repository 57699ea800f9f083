//! The options of a store, and their defaults.

use super::connector::Ensemble;
use super::layout::Layout;
use super::messages::Acl;
use crate::Result;
use crate::error::config;
use crate::stores::shared::net::{
    Certificates, Password, Url, decode, duration, pairs, read_first_password, readable, split, word,
    yes_or_no,
};
use std::time::Duration;

/// The options of a store.
#[derive(Debug, Clone)]
pub(super) struct Options {
    pub(super) instance: String,
    /// The path in the URL: empty, or with a slash in front and none at the end.
    pub(super) chroot: String,
    pub(super) prefix: String,
    pub(super) session: Duration,
    pub(super) connect_timeout: Duration,
    pub(super) acl: Acl,
    pub(super) layout: Layout,
}

const PORT: u16 = 2181;
const NAMES: &str =
    "dialect, recipe, session, prefix, acl, connect_timeout, tls, ca, cert, key, password_file";
/// A server counts it in milliseconds, in 32 bits.
const LONGEST_SESSION: Duration = Duration::from_secs(24 * 3600);

/// Parses a URL, and reads the files that it names.
pub(super) fn parse(url: &str) -> Result<(Ensemble, Options)> {
    let (scheme, rest, query) = split(url)?;
    let Url { user, password, hosts, path } = Url::parse(scheme, rest, PORT)?;
    let acl = if user.is_some() { Acl::Creator } else { Acl::Open };
    let mut options = Options {
        instance: readable(&hosts),
        chroot: chroot(&decode("path", path)?)?,
        prefix: "cotter".into(),
        session: Duration::from_secs(10),
        connect_timeout: Duration::from_secs(2),
        acl,
        layout: Layout::Own,
    };
    let mut ensemble = Ensemble { hosts, user, password: password.map(Password::given), tls: None };
    let (mut certificates, mut tls) = (Certificates::default(), None);
    let (mut dialect, mut recipe) = (None, None);
    for pair in pairs(query) {
        let (key, value) = pair?;
        match key {
            "dialect" => dialect = Some(value),
            "recipe" => recipe = Some(value),
            "tls" => tls = Some(yes_or_no(key, &value)?),
            "ca" | "cert" | "key" => certificates.read(key, &value)?,
            // Nodes are closed to everybody with another one, so it stays as it is.
            "password_file" => ensemble.password = Some(Password::given(read_first_password(&value)?)),
            _ => options.set(key, value)?,
        }
    }
    options.layout = layout(dialect.as_deref(), recipe.as_deref())?;
    if ensemble.user.is_none() && (ensemble.password.is_some() || options.acl == Acl::Creator) {
        return Err(config("a password and acl=creator require a user name in the URL"));
    }
    match (tls, certificates.is_empty()) {
        (Some(false), false) => return Err(config("ca=, cert= and key= require TLS; remove tls=no")),
        (Some(true), _) | (_, false) => ensemble.tls = Some(certificates.config()?),
        _ => {}
    }
    Ok((ensemble, options))
}

impl Options {
    /// The name of a store with this layout in errors.
    pub(super) const fn variant(&self) -> &'static str {
        match self.layout {
            Layout::Own => "zookeeper",
            Layout::CuratorMutex => {
                "zookeeper with dialect=curator and recipe=mutex (recipe=rwlock has shared locks, dialect=own semaphores too)"
            }
            Layout::CuratorRwLock => "zookeeper with dialect=curator",
            Layout::Kazoo => "zookeeper with dialect=kazoo",
        }
    }

    fn set(&mut self, key: &str, value: String) -> Result<()> {
        match key {
            "session" => self.session = session(&value)?,
            "prefix" => self.prefix = prefix(value)?,
            "acl" => self.acl = acl(&value)?,
            "connect_timeout" => self.connect_timeout = duration(key, &value)?,
            _ => return Err(config(format!("unknown option {key:?}; the options are {NAMES}"))),
        }
        Ok(())
    }
}

/// The layout that two options choose.
fn layout(dialect: Option<&str>, recipe: Option<&str>) -> Result<Layout> {
    match (dialect, recipe) {
        (None | Some("own"), None) => Ok(Layout::Own),
        (Some("kazoo"), None) => Ok(Layout::Kazoo),
        (Some("curator"), None | Some("mutex")) => Ok(Layout::CuratorMutex),
        (Some("curator"), Some("rwlock")) => Ok(Layout::CuratorRwLock),
        (Some("curator"), Some(recipe)) => {
            Err(config(format!("unknown recipe={recipe}; the recipes are mutex and rwlock")))
        }
        (None | Some("own" | "kazoo"), Some(_)) => Err(config(
            "recipe= requires dialect=curator; in the other dialects the recipe is not configurable",
        )),
        (Some(dialect), _) => {
            Err(config(format!("unknown dialect={dialect}; the dialects are own, curator and kazoo")))
        }
    }
}

fn session(value: &str) -> Result<Duration> {
    checked_session(duration("session", value)?)
}

pub(super) fn checked_session(session: Duration) -> Result<Duration> {
    if session > LONGEST_SESSION {
        return Err(config("session= must be at most a day"));
    }
    Ok(session)
}

pub(super) fn prefix(prefix: String) -> Result<String> {
    let prefix = word("prefix", prefix)?;
    match prefix.contains('/') || matches!(&*prefix, "." | ".." | "zookeeper") {
        true => Err(config(
            "prefix= must be the name of a single node; put parent nodes into the path of the URL",
        )),
        false => Ok(prefix),
    }
}

fn acl(value: &str) -> Result<Acl> {
    match value {
        "open" => Ok(Acl::Open),
        "creator" => Ok(Acl::Creator),
        _ => Err(config("acl= must be open or creator")),
    }
}

/// Checks the path of a URL.
fn chroot(path: &str) -> Result<String> {
    let path = path.trim_end_matches('/');
    if path.is_empty() {
        return Ok(String::new());
    }
    let is_bad = |part: &str| matches!(part, "" | "." | "..") || part.contains(char::is_control);
    if path.split('/').any(is_bad) || path.starts_with("zookeeper/") || path == "zookeeper" {
        return Err(config("the path of the URL is not a valid node path: it has an empty or reserved part"));
    }
    Ok(format!("/{path}"))
}

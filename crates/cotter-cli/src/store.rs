//! Which store to use, and the way to it.

use crate::args::Global;
use crate::config::{self, Named};
use crate::exit::Exit;
use crate::output::{Console, Failure};
use cotter::{Builder, Client};
use std::ffi::OsString;
use std::time::Duration;

/// How long the first connection may take.
const CONNECT: Duration = Duration::from_secs(5);

/// The store without any choice.
const DEFAULT: &str = "file:";

/// A store, and why this one.
#[derive(Debug)]
pub(crate) struct Chosen {
    url: String,
    /// Its name in the configuration.
    pub(crate) name: Option<String>,
    why: String,
}

impl Chosen {
    fn by_url(url: impl Into<String>, why: impl Into<String>) -> Self {
        Self { url: url.into(), name: None, why: why.into() }
    }

    /// The URL for others to see: without its password.
    pub(crate) fn public_url(&self) -> String {
        without_password(&self.url)
    }

    /// The URL with its password: for the environment of a process that is part of this one, and for nobody else.
    pub(crate) fn secret_url(&self) -> &str {
        &self.url
    }

    /// What a command is told of it.
    pub(crate) fn environment(&self) -> Vec<(String, String)> {
        let url = ("COTTER_URL".to_owned(), self.public_url());
        let name = self.name.iter().map(|name| ("COTTER_STORE".to_owned(), name.clone()));
        [url].into_iter().chain(name).collect()
    }

    /// Connects with what the builder says beside the URL.
    pub(crate) async fn connect(&self, builder: Builder, console: &Console) -> Result<Client, Failure> {
        let connecting = tokio::time::timeout(CONNECT, builder.url(&self.url).connect());
        let client = connecting.await.map_err(|_| self.silent())??;
        if console.verbose {
            let info = client.info();
            let scope = if info.scheme == "file" { "; this host, this user only" } else { "" };
            console.remark(&format!("store {} (from {}){scope}", info.instance, self.why));
        }
        Ok(client)
    }

    fn silent(&self) -> Failure {
        let (url, why) = (self.public_url(), &self.why);
        let message = format!("the store {url} (from {why}) did not answer within 5 s: is it running?");
        Failure::new(Exit::Unreachable, message)
    }
}

/// What a file of jobs says about the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    /// A name of the configuration.
    Named(String),
    Url(String),
}

/// The first that is given: command line, the file of jobs where there is one, environment, the default. `env` is the
/// environment of the process.
pub(crate) fn choose(
    global: &Global,
    of_file: Option<&Place>,
    env: impl Fn(&str) -> Option<OsString>,
) -> Result<Chosen, Failure> {
    let home = text(&env, "HOME")?;
    let named = |name: &str, from: &str| -> Result<Chosen, Failure> {
        let Named { url, file } = config::find(name, &config::places(home.as_deref()))?;
        let why = format!("{from}, {}", file.display());
        Ok(Chosen { url, name: Some(name.to_owned()), why })
    };
    if let Some(url) = &global.url {
        return from_command_line(url);
    }
    if let Some(name) = &global.store {
        return named(name, "--store");
    }
    match of_file {
        Some(Place::Named(name)) => return named(name, "the file of jobs"),
        Some(Place::Url(url)) => return Ok(Chosen::by_url(url, "the file of jobs")),
        None => {}
    }
    if let Some(name) = set(&env, "COTTER_STORE")? {
        return named(&name, "COTTER_STORE");
    }
    if let Some(url) = set(&env, "COTTER_URL")? {
        return Ok(Chosen::by_url(url, "COTTER_URL"));
    }
    if env("COTTER_NAME").is_some() {
        return Err(nested());
    }
    Ok(Chosen::by_url(DEFAULT, "the default"))
}

fn from_command_line(url: &str) -> Result<Chosen, Failure> {
    if password(url).is_some() {
        let why = "the password in --url can be read by everybody on this host: \
                   put the URL into COTTER_URL or the configuration file";
        return Err(Failure::config(why));
    }
    Ok(Chosen::by_url(url, "--url"))
}

/// Inside `cotter run` the default is nearly always a mistake: two stores, and no exclusion between them.
fn nested() -> Failure {
    Failure::usage(
        "COTTER_NAME is set, so this runs inside `cotter run`, but COTTER_URL and COTTER_STORE were taken out of the \
         environment: give --url or --store",
    )
}

/// A variable that must not be empty when it is there: `COTTER_URL=$UNSET` means a mistake, not the default.
fn set(env: impl Fn(&str) -> Option<OsString>, key: &str) -> Result<Option<String>, Failure> {
    match text(env, key)? {
        Some(value) if value.is_empty() => Err(Failure::config(format!("{key} is empty: set or unset it"))),
        value => Ok(value),
    }
}

fn text(env: impl Fn(&str) -> Option<OsString>, key: &str) -> Result<Option<String>, Failure> {
    let text = env(key).map(OsString::into_string).transpose();
    text.map_err(|_| Failure::config(format!("{key} is not valid UTF-8")))
}

/// Where in a URL its password stands. Generous on purpose: an `@` or `/` in a password that was not encoded must not
/// make the rest of it public.
fn password(url: &str) -> Option<std::ops::Range<usize>> {
    let start = url.find("://")? + 3;
    let end = start + url[start..].rfind('@')?;
    let user = &url[start..end];
    if user.starts_with('/') {
        return None;
    }
    let colon = start + user.find(':')?;
    Some(colon..end)
}

fn without_password(url: &str) -> String {
    let mut url = url.to_owned();
    if let Some(range) = password(&url) {
        url.replace_range(range, "");
    }
    url
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_taken_out_whatever_it_contains() {
        for (url, public) in [
            ("redis://ann:pw@h:6379/0", "redis://ann@h:6379/0"),
            ("redis://:pw@h", "redis://@h"),
            ("redis://ann:p@w/x?y@h", "redis://ann@h"),
            ("redis://ann:p:w@h", "redis://ann@h"),
            ("quorum:redis://:a@h1,redis://:b@h2", "quorum:redis://@h2"),
            ("redis://ann@h", "redis://ann@h"),
            ("redis://h:6379", "redis://h:6379"),
            ("file:///srv/a:b@c", "file:///srv/a:b@c"),
            ("file:", "file:"),
        ] {
            assert_eq!(without_password(url), public);
        }
    }

    fn global(url: Option<&str>, store: Option<&str>) -> Global {
        Global {
            url: url.map(Into::into),
            store: store.map(Into::into),
            json: false,
            quiet: false,
            verbose: false,
            color: clap::ColorChoice::Auto,
        }
    }

    fn chosen(url: Option<&str>, env: &[(&str, &str)]) -> Result<Chosen, Failure> {
        choose(&global(url, None), None, |key| {
            env.iter().find(|(k, _)| *k == key).map(|(_, v)| OsString::from(*v))
        })
    }

    #[test]
    fn the_command_line_beats_the_environment_beats_the_default() {
        let env = [("COTTER_URL", "memory:")];
        assert_eq!(chosen(Some("file:///a"), &env).unwrap().url, "file:///a");
        assert_eq!(chosen(None, &env).unwrap().url, "memory:");
        assert_eq!(chosen(None, &[]).unwrap().url, DEFAULT);
    }

    #[test]
    fn nothing_falls_back_in_silence() {
        let exit = |env: &[(&str, &str)]| chosen(None, env).unwrap_err().exit;
        assert_eq!(exit(&[("COTTER_NAME", "a")]), Exit::Usage);
        assert_eq!(exit(&[("COTTER_URL", "")]), Exit::Config);
        assert_eq!(exit(&[("COTTER_STORE", "nowhere"), ("COTTER_URL", "memory:")]), Exit::Config);
    }
}

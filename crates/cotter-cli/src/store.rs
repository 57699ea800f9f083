//! The choice of the store, and connecting to it.

use crate::config::{self, Named};
use crate::global::Global;
use crate::password::PasswordFile;
use cotter::{Builder, Client, Info};
use cotter_console::{Console, Exit, Failure};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout};

/// The timeout of the first connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Bounds of the pause between two attempts to reach a store that is away.
const MIN_PAUSE: Duration = Duration::from_millis(100);
const MAX_PAUSE: Duration = Duration::from_secs(5);

/// The longest time for the last words to a server.
const FAREWELL: Duration = Duration::from_millis(300);

/// The default store.
const DEFAULT_URL: &str = "file:";
/// Where the choice came from.
const BY_DEFAULT: &str = "the default";

/// The chosen store, and the setting that chose it.
#[derive(Debug)]
pub(crate) struct Chosen {
    url: String,
    /// The URL with the password file, if there is one.
    complete: String,
    password_file: Option<PasswordFile>,
    /// The password file for commands; a named store has its own.
    passed_on: Option<String>,
    /// The name in the configuration.
    pub(crate) name: Option<String>,
    /// The configuration file that contains its password.
    exposed: Option<PathBuf>,
    why: String,
    /// Those that have something to say to their server before the process ends.
    clients: Mutex<Vec<Client>>,
}

impl Chosen {
    fn by_url(url: impl Into<String>, why: impl Into<String>) -> Self {
        // A mounted secret ends with a line break.
        let url = url.into().trim().to_owned();
        let complete = url.clone();
        Self {
            url,
            complete,
            password_file: None,
            passed_on: None,
            name: None,
            exposed: None,
            why: why.into(),
            clients: Mutex::default(),
        }
    }

    /// Refuses the built-in default, for commands that promise to run something on one of several hosts: each host has a `file:`
    /// of its own.
    pub(crate) fn set_explicitly(self) -> Result<Self, Failure> {
        if self.is_by_default() {
            let why = "no store is set: with the default, file:, every host would run every job by itself; set `url` or `store` \
                       in the file, COTTER_URL, or --url (--url file: for the jobs of this user on this host)";
            return Err(Failure::config(why));
        }
        Ok(self)
    }

    /// Whether it is the built-in default.
    pub(crate) fn is_by_default(&self) -> bool {
        self.why == BY_DEFAULT
    }

    /// Whether it is on this host, without a server.
    pub(crate) fn is_local(&self) -> bool {
        is_local(&self.url)
    }

    /// Adds the password file of the command line, the configuration or the environment.
    fn with_password_file(mut self, global: &Global, env: Option<String>) -> Result<Self, Failure> {
        let of_line = global.password_file.as_deref().map(|path| PasswordFile::new(path, "--password-file"));
        let of_env =
            env.map(|path| PasswordFile::new(Path::new(&path), "COTTER_PASSWORD_FILE")).transpose()?;
        let file = match (of_line.transpose()?, self.password_file.take()) {
            (Some(file), _) => Some((file, true)),
            (None, Some(file)) => Some((file, false)),
            (None, None) => of_env.map(|file| (file, true)),
        };
        let Some((file, is_passed_on)) = file else { return Ok(self) };
        // The setting in the environment may be meant for other stores.
        let applies = global.password_file.is_some() || !is_passed_on || PasswordFile::is_for(&self.url);
        let file = if applies { file.in_memory_unless_file()? } else { file };
        if is_passed_on {
            self.passed_on = Some(file.text()?.to_owned());
        }
        if applies {
            self.complete = file.add_to(&self.url, password(&self.url).is_some())?;
            self.password_file = Some(file);
        }
        Ok(self)
    }

    /// The URL without its password, for output.
    pub(crate) fn public_url(&self) -> String {
        without_password(&self.url)
    }

    /// The URL with its password: only for the environment of further processes of this program.
    pub(crate) fn secret_url(&self) -> &str {
        &self.complete
    }

    /// The environment variables for a command.
    pub(crate) fn environment(&self) -> Vec<(String, String)> {
        let url = Some(("COTTER_URL", self.public_url()));
        let name = self.name.clone().map(|name| ("COTTER_STORE", name));
        let file = self.passed_on.clone().map(|path| ("COTTER_PASSWORD_FILE", path));
        [url, name, file].into_iter().flatten().map(|(key, value)| (key.to_owned(), value)).collect()
    }

    /// The warnings that a user of the store should see.
    fn warn(&self, console: &Console) {
        if let Some(file) = &self.password_file {
            file.warn(console);
        }
        if let Some(file) = &self.exposed {
            config::warn(file, console);
        }
    }

    /// The statements that create the tables of the store, if it needs any.
    pub(crate) fn schema(&self) -> Result<Option<String>, Failure> {
        Ok(Client::builder().schema(&self.complete)?)
    }

    /// The statements that drop them again, where they are cotter's own.
    pub(crate) fn drop_statements(&self) -> Result<Option<String>, Failure> {
        Ok(Client::builder().drop_statements(&self.complete)?)
    }

    /// Creates the tables of the store.
    pub(crate) async fn migrate(&self, console: &Console) -> Result<(), Failure> {
        self.warn(console);
        let migrating = Client::builder().migrate(&self.complete);
        let limited = timeout(CONNECT_TIMEOUT, migrating).await;
        Ok(limited.map_err(|_| self.silent())??)
    }

    /// Connects to the store with the settings of the builder.
    pub(crate) async fn connect(&self, builder: Builder, console: &Console) -> Result<Client, Failure> {
        self.warn(console);
        let client = self.attempt(builder).await?;
        self.introduce(&client, console);
        Ok(client)
    }

    /// The same for a store that may be away, which is tried until `end`. `is_away` gets the first failure.
    pub(crate) async fn reach(
        &self,
        builder: impl Fn() -> Builder,
        end: Option<Instant>,
        mut is_away: impl FnMut(&Failure),
        console: &Console,
    ) -> Result<Client, Failure> {
        self.warn(console);
        let (mut pause, mut is_first) = (MIN_PAUSE, true);
        loop {
            let failure = match self.attempt(builder()).await {
                Ok(client) => {
                    self.introduce(&client, console);
                    return Ok(client);
                }
                Err(failure) => failure,
            };
            let left = end.map_or(MAX_PAUSE, |end| end.saturating_duration_since(Instant::now()));
            if failure.exit != Exit::Unreachable || left.is_zero() {
                return Err(failure);
            }
            if std::mem::take(&mut is_first) {
                is_away(&failure);
            }
            sleep(pause.min(left)).await;
            pause = (pause * 2).min(MAX_PAUSE);
        }
    }

    async fn attempt(&self, builder: Builder) -> Result<Client, Failure> {
        let connecting = timeout(CONNECT_TIMEOUT, builder.connect(&self.complete));
        let client = connecting.await.map_err(|_| self.silent())??;
        // Its driver says goodbye only when it is asked to, and the server logs sessions that end without it.
        if client.info().scheme == "mysql" {
            self.clients.lock().unwrap_or_else(PoisonError::into_inner).push(client.clone());
        }
        Ok(client)
    }

    /// Ends the sessions of a command that is done. Takes a moment at most.
    pub(crate) async fn farewell(&self) {
        let clients = std::mem::take(&mut *self.clients.lock().unwrap_or_else(PoisonError::into_inner));
        for client in clients {
            let _ = timeout(FAREWELL, client.close(Duration::ZERO)).await;
        }
    }

    /// What a user should know about the store.
    fn introduce(&self, client: &Client, console: &Console) {
        let info = client.info();
        if let Some(caution) = info.caution {
            console.warning(caution);
        }
        if console.verbose {
            let scope = self.scope(info).map(|scope| format!("; {scope}")).unwrap_or_default();
            console.remark(&format!("store {} (from {}){scope}", info.instance, self.why));
        }
    }

    /// The scope of the store, if it is narrower than everybody who can reach it.
    pub(crate) fn scope(&self, info: &Info) -> Option<&'static str> {
        match info.scheme {
            "file" if self.url.contains("?shared=") => Some("this host, one group of users"),
            "file" => Some("this host, this user only"),
            "flock" | "sqlite" => Some("this host"),
            _ => None,
        }
    }

    fn silent(&self) -> Failure {
        let (url, why) = (self.public_url(), &self.why);
        let message = format!("the store {url} (from {why}) did not answer within 5 s; is it running?");
        Failure::new(Exit::Unreachable, message)
    }
}

#[cfg(feature = "demo")]
#[async_trait::async_trait(?Send)]
impl cotter_demo::Store for Chosen {
    fn secret_url(&self) -> &str {
        self.secret_url()
    }

    fn password(&self) -> Result<Option<String>, Failure> {
        self.password_file.as_ref().map(PasswordFile::read).transpose()
    }

    async fn connect(&self, builder: Builder, console: &Console) -> Result<Client, Failure> {
        self.connect(builder, console).await
    }
}

/// The store setting of a job file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StoreRef {
    /// A name from the configuration.
    Named(String),
    Url(String),
}

/// Chooses the store: the first that is set of the command line, the job file, the environment, the default in the
/// configuration, and the built-in default. `env` is the environment of the process.
pub(crate) fn choose(
    global: &Global,
    of_file: Option<&StoreRef>,
    env: impl Fn(&str) -> Option<OsString>,
) -> Result<Chosen, Failure> {
    let password_file = set(&env, "COTTER_PASSWORD_FILE")?;
    by_url_or_name(global, of_file, env)?.with_password_file(global, password_file)
}

fn by_url_or_name(
    global: &Global,
    of_file: Option<&StoreRef>,
    env: impl Fn(&str) -> Option<OsString>,
) -> Result<Chosen, Failure> {
    let places = config::places(env("HOME"));
    let named = |name: &str, from: &str| -> Result<Chosen, Failure> {
        let Named { url, password_file, file } = config::find(name, &places)?;
        let of_store = format!("password_file of {name:?} in {}", file.display());
        let password_file = password_file.map(|path| PasswordFile::new(&path, of_store)).transpose()?;
        let chosen = Chosen::by_url(url, format!("{from}, {}", file.display()));
        let exposed = has_password(&chosen.url).then_some(file);
        Ok(Chosen { name: Some(name.to_owned()), password_file, exposed, ..chosen })
    };
    if let Some(url) = &global.url {
        return from_command_line(url);
    }
    if let Some(name) = &global.store {
        return named(name, "--store");
    }
    match of_file {
        Some(StoreRef::Named(name)) => return named(name, "the job file"),
        Some(StoreRef::Url(url)) => return Ok(Chosen::by_url(url, "the job file")),
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
    if let Some((name, file)) = config::default(&places)? {
        let from = format!("`default` in {}", file.display());
        return named(&name, &from)
            .map_err(|failure| Failure::config(format!("{from}: {}", failure.message)));
    }
    if let Some(file) = config::requires_shared(&places)? {
        return Err(unchosen(file));
    }
    Ok(Chosen::by_url(DEFAULT_URL, BY_DEFAULT))
}

fn unchosen(file: &Path) -> Failure {
    let why = format!(
        "no store is set, and {} has require_shared = true: set `default` there, COTTER_URL, COTTER_STORE, --store or --url \
         (--url file: for locks of this user on this host)",
        file.display()
    );
    Failure::config(why)
}

fn from_command_line(url: &str) -> Result<Chosen, Failure> {
    if has_password(url) {
        let why = "refused: a password in --url would be visible to every user on this host; \
                   use --password-file, or put the URL into COTTER_URL or the configuration file; for that of sentinels, there is \
                   sentinel_password_file= as well";
        return Err(Failure::config(why));
    }
    Ok(Chosen::by_url(url, "--url"))
}

/// Inside `cotter run` the default is nearly always a mistake: two stores that do not exclude each other.
fn nested() -> Failure {
    Failure::usage(
        "COTTER_NAME is set, so this is running inside `cotter run`, but COTTER_URL and COTTER_STORE were removed from \
         the environment: use --url or --store",
    )
}

/// A variable that must not be empty if it is set: `COTTER_URL=$UNSET` is a mistake, not the default.
fn set(env: impl Fn(&str) -> Option<OsString>, key: &str) -> Result<Option<String>, Failure> {
    match text(env, key)? {
        Some(value) if value.is_empty() => {
            Err(Failure::config(format!("{key} is empty: set it or unset it")))
        }
        value => Ok(value),
    }
}

/// Whether a URL is that of a store on this host, without a server. Those of servers have many names.
pub(crate) fn is_local(url: &str) -> bool {
    let scheme = url.split_once(':').map_or("", |(scheme, _)| scheme);
    matches!(&*scheme.to_ascii_lowercase(), "memory" | "file" | "flock" | "sqlite")
}

fn text(env: impl Fn(&str) -> Option<OsString>, key: &str) -> Result<Option<String>, Failure> {
    let text = env(key).map(OsString::into_string).transpose();
    text.map_err(|_| Failure::config(format!("{key} is not valid UTF-8")))
}

/// The range of the password in a URL. Deliberately generous: an unencoded `@` or `/` in a password must not expose the rest
/// of it.
fn password(url: &str) -> Option<std::ops::Range<usize>> {
    let url = &url[..start_of_texts(url)];
    let start = url.find("://")? + 3;
    let end = start + url[start..].rfind('@')?;
    let user = &url[start..end];
    if user.starts_with('/') {
        return None;
    }
    let colon = start + user.find(':')?;
    Some(colon..end)
}

/// Where the first option begins that may contain an `@`, such as the path of a password file.
fn start_of_texts(url: &str) -> usize {
    let texts = [
        "ca=/",
        "cert=/",
        "key=/",
        "password_file=/",
        "sentinel_password_file=/",
        "host=/",
        "socket=/",
        "client_name=",
    ];
    let starts = url.match_indices(['?', '&']).map(|(at, _)| at);
    starts
        .into_iter()
        .find(|at| texts.iter().any(|text| url[at + 1..].starts_with(text)))
        .unwrap_or(url.len())
}

/// The options that are passwords: of sentinels, and one that no store reads, but other clients do.
const SECRETS: [&str; 2] = ["sentinel_password=", "password="];

/// The pieces of a URL up to each sign that begins an option; without those that are passwords.
fn without_secrets(url: &str) -> String {
    let public = |piece: &str| match SECRETS.iter().find(|secret| piece.starts_with(**secret)) {
        Some(secret) if piece.ends_with(['?', '&']) => format!("{secret}{}", &piece[piece.len() - 1..]),
        Some(secret) => (*secret).to_owned(),
        None => piece.to_owned(),
    };
    url.split_inclusive(['?', '&']).map(public).collect()
}

/// Whether there is a password in the URL, of a server or of sentinels.
fn has_password(url: &str) -> bool {
    password(url).is_some() || without_secrets(url) != url
}

fn without_password(url: &str) -> String {
    let mut url = without_secrets(url);
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
            ("redis://h:6379?password_file=/run/a@1/pw", "redis://h:6379?password_file=/run/a@1/pw"),
            ("redis://ann:p@w/x?y@h?ca=/a@b", "redis://ann@h?ca=/a@b"),
            ("postgres://h/db?user=u&password=pw&mode=row", "postgres://h/db?user=u&password=&mode=row"),
            ("postgres://h/db?password=pw", "postgres://h/db?password="),
            (
                "redis+sentinel://a:p@h,i/s?sentinel_password=pw&sentinel_password=w@x",
                "redis+sentinel://a@h,i/s?sentinel_password=&sentinel_password=",
            ),
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
            password_file: None,
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
        assert_eq!(chosen(None, &[]).unwrap().url, DEFAULT_URL);
    }

    #[test]
    fn nothing_falls_back_in_silence() {
        let exit = |env: &[(&str, &str)]| chosen(None, env).unwrap_err().exit;
        assert_eq!(exit(&[("COTTER_NAME", "a")]), Exit::Usage);
        assert_eq!(exit(&[("COTTER_URL", "")]), Exit::Config);
        assert_eq!(exit(&[("COTTER_STORE", "nowhere"), ("COTTER_URL", "memory:")]), Exit::Config);
    }
}

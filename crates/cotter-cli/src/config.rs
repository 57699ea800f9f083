//! The configuration file, which defines named stores.

use crate::nearest::nearest;
use cotter_console::{Console, Failure, clean};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The configuration for all users of the host.
const SYSTEM: &str = "/etc/cotter.toml";

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    /// The name of the default store.
    default: Option<String>,
    /// Whether a store has to be chosen.
    #[serde(default)]
    require_shared: bool,
    #[serde(default)]
    store: BTreeMap<String, Store>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table: write [store.NAME], and url below it")]
struct Store {
    url: String,
    password_file: Option<PathBuf>,
}

/// Warns if a file with a password is readable by others.
pub(crate) fn warn(place: &Path, console: &Console) {
    let mode = place.metadata().map_or(0, |found| found.permissions().mode());
    if mode & 0o004 != 0 {
        let place = clean(&place.to_string_lossy());
        console.warning(&format!(
            "the password in {place} is readable by every user on this host: chmod 600 the file, or use password_file"
        ));
    }
}

/// A named store.
#[derive(Debug)]
pub(crate) struct Named {
    pub(crate) url: String,
    pub(crate) password_file: Option<PathBuf>,
    /// The file that defines it.
    pub(crate) file: PathBuf,
}

/// The environment of this process. If `HOME` is not set, as in system services, it is taken from the passwd entry: they read the
/// same file as the user's shells then, instead of falling back to the built-in default.
pub(crate) fn environment(key: &str) -> Option<OsString> {
    let recorded = || std::env::home_dir().map(PathBuf::into_os_string);
    std::env::var_os(key).or_else(|| if key == "HOME" { recorded() } else { None })
}

/// The configuration files, the user's own first.
///
/// A `$HOME` goes before the passwd entry: anybody who controls the environment could set `COTTER_URL` as well.
pub(crate) fn places(home: Option<OsString>) -> Vec<PathBuf> {
    let own = home.filter(|h| !h.is_empty()).map(|h| PathBuf::from(h).join(".config/cotter/config.toml"));
    own.into_iter().chain([SYSTEM.into()]).collect()
}

/// The name of the default store, and the first file that sets one.
pub(crate) fn default(places: &[PathBuf]) -> Result<Option<(String, PathBuf)>, Failure> {
    for place in places {
        if let Some(name) = read(place)?.default {
            return Ok(Some((name, place.clone())));
        }
    }
    Ok(None)
}

/// The first file that demands that a store is chosen. A user cannot lift what the host demands.
pub(crate) fn requires_shared(places: &[PathBuf]) -> Result<Option<&Path>, Failure> {
    for place in places {
        if read(place)?.require_shared {
            return Ok(Some(place));
        }
    }
    Ok(None)
}

/// Finds a store by name, in the first file that defines it.
pub(crate) fn find(name: &str, places: &[PathBuf]) -> Result<Named, Failure> {
    let mut known = Vec::new();
    for place in places {
        let mut file = read(place)?;
        if let Some(store) = file.store.remove(name) {
            if store.password_file.as_deref().is_some_and(Path::is_relative) {
                let file = place.display();
                let why = format!("{file}: `password_file` of {name:?}: write an absolute path");
                return Err(Failure::config(why));
            }
            let (url, password_file) = (store.url, store.password_file);
            return Ok(Named { url, password_file, file: place.clone() });
        }
        known.extend(file.store.into_keys());
    }
    Err(unknown(name, &known, places))
}

fn unknown(name: &str, known: &[String], places: &[PathBuf]) -> Failure {
    let name = clean(name);
    let files = places.iter().map(|p| p.display().to_string()).collect::<Vec<_>>().join(" or ");
    if known.is_empty() {
        let why = format!("there is no store {name:?}: add [store.{name}] with its url to {files}");
        return Failure::config(why);
    }
    let hint = match nearest(&name, known) {
        Some(near) => format!("did you mean {near:?}? "),
        None => String::new(),
    };
    let why =
        format!("there is no store {name:?}: {hint}known stores are {}, from {files}", known.join(", "));
    Failure::config(why)
}

fn read(place: &Path) -> Result<File, Failure> {
    let text = match std::fs::read_to_string(place) {
        Ok(text) => text,
        // Accounts of services have homes like /dev/null.
        Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(File::default());
        }
        Err(e) => {
            let place = place.display();
            let why = format!("{place}: cannot be read: {e}; use --url or COTTER_URL to do without it");
            return Err(Failure::config(why));
        }
    };
    toml::from_str(&text).map_err(|e| broken(place, &text, &e))
}

/// The line and the message of the parser, without its excerpt of the file, which could contain a password.
fn broken(place: &Path, text: &str, error: &toml::de::Error) -> Failure {
    let at = error.span().map_or(0, |span| span.start.min(text.len()));
    let line = text.as_bytes()[..at].iter().filter(|b| **b == b'\n').count() + 1;
    let message = clean(&without_value(error.message()));
    let hint = suggestion(&message).unwrap_or_default();
    Failure::config(format!("{}, line {line}: {message}{hint}", place.display()))
}

/// The message without the text that has the wrong type: `prod = "redis://…"` instead of a table has a URL there.
fn without_value(message: &str) -> String {
    let parts = message.split_once("string \"").zip(message.rsplit_once("\", expected "));
    match parts {
        Some(((before, _), (_, expected))) => format!("{before}string, expected {expected}"),
        None => message.to_owned(),
    }
}

/// The known key that is most similar to an unknown one.
fn suggestion(message: &str) -> Option<String> {
    let quoted: Vec<&str> = message.strip_prefix("unknown field ")?.split('`').skip(1).step_by(2).collect();
    let (key, known) = quoted.split_first()?;
    nearest(key, known).map(|near| format!("; did you mean `{near}`?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_users_file_comes_first_and_is_left_out_without_a_home() {
        assert_eq!(
            places(Some("/home/ann".into())),
            [Path::new("/home/ann/.config/cotter/config.toml"), Path::new(SYSTEM)]
        );
        assert_eq!(places(None), [Path::new(SYSTEM)]);
        assert_eq!(places(Some("".into())), [Path::new(SYSTEM)]);
    }
}

//! The configuration file: stores by name.

use crate::nearest::nearest;
use crate::output::{Console, Failure, clean};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// For all users of the host.
const SYSTEM: &str = "/etc/cotter.toml";

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    /// The store without any other choice.
    default: Option<String>,
    #[serde(default)]
    store: BTreeMap<String, Store>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Store {
    url: String,
    password_file: Option<PathBuf>,
}

/// Warns when others can read a file with a password in it.
pub(crate) fn warn(place: &Path, console: &Console) {
    let mode = place.metadata().map_or(0, |found| found.permissions().mode());
    if mode & 0o004 != 0 {
        let place = clean(&place.to_string_lossy());
        console.warning(&format!(
            "everybody on this host can read the password in {place}: chmod 600 it, or move the password to a password_file"
        ));
    }
}

/// A store that was found.
#[derive(Debug)]
pub(crate) struct Named {
    pub(crate) url: String,
    pub(crate) password_file: Option<PathBuf>,
    /// Where it stands.
    pub(crate) file: PathBuf,
}

/// The places to look at, the user's own first.
///
/// `$HOME` and not the passwd entry: whoever sets the environment of this process could as well set `COTTER_URL`.
pub(crate) fn places(home: Option<&str>) -> Vec<PathBuf> {
    let own = home.filter(|h| !h.is_empty()).map(|h| Path::new(h).join(".config/cotter/config.toml"));
    own.into_iter().chain([SYSTEM.into()]).collect()
}

/// The name of the store that is used without any other choice, from the first file that has one, and that file.
pub(crate) fn default(places: &[PathBuf]) -> Result<Option<(String, PathBuf)>, Failure> {
    for place in places {
        if let Some(name) = read(place)?.default {
            return Ok(Some((name, place.clone())));
        }
    }
    Ok(None)
}

/// The store of this name in the first file that has it.
pub(crate) fn find(name: &str, places: &[PathBuf]) -> Result<Named, Failure> {
    let mut known = Vec::new();
    for place in places {
        let mut file = read(place)?;
        if let Some(store) = file.store.remove(name) {
            if store.password_file.as_deref().is_some_and(Path::is_relative) {
                let file = place.display();
                let why =
                    format!("{file}: `password_file` of {name:?}: write the whole path, beginning with /");
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
        let why = format!("no store is named {name:?}: write [store.{name}] and its url into {files}");
        return Failure::config(why);
    }
    let hint = match nearest(&name, known) {
        Some(near) => format!("did you mean {near:?}? "),
        None => String::new(),
    };
    let why = format!("no store is named {name:?}: {hint}known are {}, from {files}", known.join(", "));
    Failure::config(why)
}

fn read(place: &Path) -> Result<File, Failure> {
    let text = match std::fs::read_to_string(place) {
        Ok(text) => text,
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(File::default()),
        Err(e) => {
            let place = place.display();
            let why = format!("{place}: cannot be read: {e}; --url or COTTER_URL does without it");
            return Err(Failure::config(why));
        }
    };
    toml::from_str(&text).map_err(|e| broken(place, &text, &e))
}

/// The line, and toml's own words without its excerpt of the file: that could show a password.
fn broken(place: &Path, text: &str, error: &toml::de::Error) -> Failure {
    let at = error.span().map_or(0, |span| span.start.min(text.len()));
    let line = text.as_bytes()[..at].iter().filter(|b| **b == b'\n').count() + 1;
    let message = clean(error.message());
    let hint = suggestion(&message).unwrap_or_default();
    Failure::config(format!("{}, line {line}: {message}{hint}", place.display()))
}

/// For a key that is not known, the one that was probably meant.
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
            places(Some("/home/ann")),
            [Path::new("/home/ann/.config/cotter/config.toml"), Path::new(SYSTEM)]
        );
        assert_eq!(places(None), [Path::new(SYSTEM)]);
        assert_eq!(places(Some("")), [Path::new(SYSTEM)]);
    }
}

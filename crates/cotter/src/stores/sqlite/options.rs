//! The path and the options in a URL.

use crate::Result;
use crate::error::config;
use crate::stores::shared::net::{decode, duration, pairs};
use std::path::PathBuf;
use std::time::Duration;

/// The options of a store.
#[derive(Debug, Clone)]
pub(super) struct Options {
    pub(super) path: PathBuf,
    /// How long a step waits for other processes that write.
    pub(super) timeout: Duration,
}

impl Options {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, timeout: Duration::from_secs(2) }
    }
}

/// Parses what follows `sqlite:`.
pub(super) fn parse(rest: &str) -> Result<Options> {
    let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
    let path = place.strip_prefix("//").filter(|path| path.starts_with('/') && !path.ends_with('/'));
    let path = path.ok_or_else(|| {
        config(
            "sqlite: must be followed by three slashes and the absolute path of a database: sqlite:///PATH",
        )
    })?;
    let mut options = Options::new(decode("path", path)?.into());
    for pair in pairs(query) {
        match pair? {
            ("timeout", value) => options.timeout = duration("timeout", &value)?,
            ("mode", value) if value == "lease" => {}
            ("mode", value) => {
                return Err(config(format!("unknown mode={value}; the only mode of sqlite: is lease")));
            }
            (key, _) => return Err(config(format!("unknown option {key:?}; the options are mode, timeout"))),
        }
    }
    Ok(options)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    #[test]
    fn good() {
        let options = parse("///var/lib/a%20b.db?timeout=250ms&mode=lease").unwrap();
        assert_eq!(options.path.to_str(), Some("/var/lib/a b.db"));
        assert_eq!(options.timeout, Duration::from_millis(250));
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (rest, part) in [
            ("", "sqlite:///PATH"),
            ("locks.db", "sqlite:///PATH"),
            ("//host/locks.db", "sqlite:///PATH"),
            ("///var/", "sqlite:///PATH"),
            ("///a.db?timeout=2", "timeout"),
            ("///a.db?mode=row", "row"),
            ("///a.db?table=x", "table"),
        ] {
            let error = parse(rest).expect_err(rest);
            assert_eq!(error.kind(), ErrorKind::Config, "{rest}");
            assert!(error.to_string().contains(part), "{rest}: {error}");
        }
    }
}

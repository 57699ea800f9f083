//! `--since`: a time before now, or an instant.

use cotter_console::Failure;
use cotter_console::duration::parse as duration;
use cotter_scheduler::{Jobs, UnixTime};
use std::time::Duration;

/// As it stands on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Since {
    /// So long before now.
    Ago(Duration),
    /// This instant.
    At(UnixTime),
}

impl Since {
    /// Parses either. The error is that of what the text looks like: only an instant has a colon.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        match text.trim().parse() {
            Ok(at) => Ok(Self::At(at)),
            Err(e) if text.contains(':') => Err(format!("{e}; or a duration like 12h")),
            Err(_) => match duration(text) {
                Ok(ago) => Ok(Self::Ago(ago)),
                Err(e) => Err(format!("{e}; or an instant like 2031-05-02T22:00:00Z")),
            },
        }
    }

    /// The instant, by the clock that the times of runs are of.
    pub(super) async fn instant(self, jobs: &Jobs) -> Result<UnixTime, Failure> {
        match self {
            Self::Ago(ago) => Ok(jobs.now().await? - ago),
            Self::At(at) => Ok(at),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_a_duration_or_an_instant() {
        assert_eq!(Since::parse("12h"), Ok(Since::Ago(Duration::from_secs(12 * 3600))));
        let at = "2031-05-02T22:00:00+02:00".parse().unwrap();
        assert_eq!(Since::parse("2031-05-02T20:00:00Z"), Ok(Since::At(at)));
        for (text, says) in [
            ("12", "write 12s or 12ms; or an instant like 2"),
            ("yesterday", "write it like 5s, 500ms, 1m30s or PT5S; or an instant"),
            ("2031-05-02", "or an instant like 2031-05-02T22:00:00Z"),
            ("2031-05-02T22:00:00", "; or a duration like 12h"),
            ("-12h", "negative"),
        ] {
            let why = Since::parse(text).unwrap_err();
            assert!(why.contains(says), "{text}: {why}");
        }
    }
}

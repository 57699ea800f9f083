//! The lines of the protocol. docs/verify.md describes it.

use crate::history::What;

/// The words of a request; both have one answer each.
pub(crate) mod ask {
    /// Acquire this name, however long that takes.
    pub(crate) fn acquire(name: &str) -> String {
        format!("acquire {name}\n")
    }

    /// Release what was acquired last, whether or not it has been lost.
    pub(crate) const RELEASE: &str = "release\n";
}

/// A line of a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Answer {
    /// To `acquire`.
    Acquired { token: Option<u64>, until: Option<u64> },
    /// By itself.
    Renewed { until: u64 },
    /// By itself.
    Lost { until: Option<u64> },
    /// To `release`.
    Released,
    /// To either.
    Failed { text: String },
}

impl Answer {
    /// Reads a line.
    pub(crate) fn read(line: &str) -> Result<Self, String> {
        let (word, rest) = line.trim().split_once(char::is_whitespace).unwrap_or((line.trim(), ""));
        let rest = rest.trim();
        let words: Vec<_> = rest.split_whitespace().collect();
        match (word, &words[..]) {
            ("acquired", []) => Ok(Self::Acquired { token: None, until: None }),
            ("acquired", [token]) => Ok(Self::Acquired { token: self::token(token)?, until: None }),
            ("acquired", [token, until]) => {
                Ok(Self::Acquired { token: self::token(token)?, until: Some(time(until)?) })
            }
            ("renewed", [until]) => Ok(Self::Renewed { until: time(until)? }),
            ("lost", []) => Ok(Self::Lost { until: None }),
            ("lost", [until]) => Ok(Self::Lost { until: Some(time(until)?) }),
            ("released", []) => Ok(Self::Released),
            ("failed", _) => Ok(Self::Failed { text: rest.to_owned() }),
            _ => Err("a line is `acquired [TOKEN [UNTIL]]`, `renewed UNTIL`, `lost [UNTIL]`, `released` or \
                      `failed TEXT`"
                .to_owned()),
        }
    }

    /// The line, of cotter's own client.
    pub(crate) fn line(&self) -> String {
        let number = |number: &Option<u64>| number.map(|number| format!(" {number}")).unwrap_or_default();
        match self {
            Self::Acquired { token, until } => {
                let token = token.map_or_else(|| "-".to_owned(), |token| token.to_string());
                format!("acquired {token}{}", number(until))
            }
            Self::Renewed { until } => format!("renewed {until}"),
            Self::Lost { until } => format!("lost{}", number(until)),
            Self::Released => "released".to_owned(),
            Self::Failed { text } => format!("failed {}", text.replace(['\r', '\n'], " ")),
        }
    }

    /// As it stands in the history.
    pub(crate) fn what(self) -> What {
        match self {
            Self::Acquired { token, until } => What::Acquired { token, until },
            Self::Renewed { until } => What::Renewed { until },
            Self::Lost { until } => What::Lost { until },
            Self::Released => What::Released,
            Self::Failed { text } => What::Failed { text },
        }
    }
}

fn token(word: &str) -> Result<Option<u64>, String> {
    let number = || word.parse().map_err(|_| format!("the token {word:?} is neither a whole number nor `-`"));
    if word == "-" { Ok(None) } else { number().map(Some) }
}

fn time(word: &str) -> Result<u64, String> {
    word.parse()
        .map_err(|_| format!("the time {word:?} is not a number of nanoseconds of the monotonic clock"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cotters_client_says_is_what_is_read() {
        for answer in [
            Answer::Acquired { token: Some(7), until: Some(9) },
            Answer::Acquired { token: Some(7), until: None },
            Answer::Acquired { token: None, until: Some(9) },
            Answer::Renewed { until: 1 },
            Answer::Lost { until: None },
            Answer::Lost { until: Some(3) },
            Answer::Released,
            Answer::Failed { text: "the store is away".into() },
        ] {
            assert_eq!(Answer::read(&answer.line()), Ok(answer));
        }
        assert_eq!(Answer::read(" acquired \r"), Ok(Answer::Acquired { token: None, until: None }));
    }

    #[test]
    fn anything_else_is_refused_with_what_to_write() {
        for (line, says) in [
            ("", "a line is"),
            ("ok", "a line is"),
            ("acquired x", "\"x\" is neither"),
            ("acquired 1 soon", "\"soon\" is not a number"),
            ("renewed", "a line is"),
            ("released 7", "a line is"),
        ] {
            let why = Answer::read(line).unwrap_err();
            assert!(why.contains(says), "{line}: {why}");
        }
    }
}

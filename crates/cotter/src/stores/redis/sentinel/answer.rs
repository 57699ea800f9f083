//! What a sentinel says, and which of several answers counts.

use super::Sentinels;
use super::master::Named;
use crate::stores::redis::SCHEME;
use crate::{Error, ErrorKind, Result};
use std::collections::BTreeMap;

/// What a sentinel says of a service.
#[derive(Debug, Clone)]
pub(super) enum Answer {
    Master(Box<Known>),
    /// It does not know the service, but these; `None` if it does not say which.
    Unknown(Option<Vec<String>>),
}

/// What a sentinel knows of a service.
#[derive(Debug, Clone)]
pub(super) struct Known {
    pub(super) named: Named,
    /// What else it says; empty if it may not be asked.
    pub(super) fields: BTreeMap<String, String>,
}

impl Known {
    pub(super) fn number(&self, field: &str) -> Option<usize> {
        self.fields.get(field)?.parse().ok()
    }
}

/// An answer, and the address of the sentinel.
pub(super) type Asked = (String, Result<Answer>);

impl Sentinels {
    /// The server that they name: the one of the latest failover. `recent` is the one that this store has found for itself.
    ///
    /// # Errors
    /// None of them names any; or two, without a failover.
    pub(super) fn choose(&self, asked: &[Asked], recent: Option<Named>) -> Result<Named> {
        let said: Vec<&Named> = asked.iter().filter_map(|(_, answer)| Some(&known(answer)?.named)).collect();
        let Some(latest) = said.iter().map(|named| named.epoch).chain(recent.iter().map(|r| r.epoch)).max()
        else {
            return Err(self.nobody(asked));
        };
        if said.is_empty() {
            return Err(self.nobody(asked));
        }
        let said: Vec<&Named> = said.into_iter().filter(|named| named.epoch == latest).collect();
        let votes = |of: &Named| said.iter().filter(|named| named.is_at(of)).count();
        let Some(first) = said.iter().max_by_key(|named| votes(named)) else {
            // They have not heard of it yet.
            return recent.ok_or_else(|| self.nobody(asked));
        };
        match said.iter().find(|named| !named.is_at(first) && votes(named) == votes(first)) {
            Some(other) => Err(self.two(first, other)),
            None => Ok((*first).clone()),
        }
    }

    fn two(&self, one: &Named, other: &Named) -> Error {
        let why = format!(
            "as many sentinels name {one} as {other}, as the master of {:?}: they watch different servers under one name; see what \
             `SENTINEL MASTER` says on each",
            self.service
        );
        Error::new(ErrorKind::Unavailable, why).with_backend(SCHEME)
    }

    /// What is to be mended comes first: a password, for example, rather than a sentinel that is away.
    fn nobody(&self, asked: &[Asked]) -> Error {
        let failed = || asked.iter().filter_map(|(_, answer)| answer.as_ref().err());
        if let Some(error) = failed().find(|error| !error.is_retryable()) {
            return error.clone();
        }
        if let Some(error) = self.unknown(asked) {
            return error;
        }
        let each: Vec<_> = failed().map(|error| error.to_string()).collect();
        let why = format!("none of the sentinels has answered: {}", each.join("; "));
        Error::new(ErrorKind::Unavailable, why).with_backend(SCHEME)
    }

    /// The error if sentinels do not know the service. One that cannot be reached may know it.
    fn unknown(&self, asked: &[Asked]) -> Option<Error> {
        let of = |(at, answer): &Asked| match answer {
            Ok(Answer::Unknown(services)) => Some((at.clone(), services.clone())),
            _ => None,
        };
        let unknown: Vec<_> = asked.iter().filter_map(of).collect();
        let (at, _) = unknown.first()?;
        let mut services: Vec<_> =
            unknown.iter().flat_map(|(_, services)| services.iter().flatten()).collect();
        services.sort();
        services.dedup();
        let instead = match services.first() {
            None => "`SENTINEL MASTERS` lists those that it watches".to_owned(),
            Some(_) => format!("it watches {services:?}: write one of these behind the slash of the URL"),
        };
        let why = format!("the sentinel at {at} does not know the service {:?}; {instead}", self.service);
        let kind = if unknown.len() == asked.len() { ErrorKind::Config } else { ErrorKind::Unavailable };
        Some(Error::new(kind, why).with_backend(SCHEME))
    }
}

/// What a sentinel knows, if it does.
pub(super) fn known(answer: &Result<Answer>) -> Option<&Known> {
    match answer {
        Ok(Answer::Master(known)) => Some(known),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stores::redis::announced::Announced;

    fn sentinels() -> Sentinels {
        Sentinels::new(Vec::new(), "orders".into(), None, Announced::default())
    }

    fn at(port: u16, epoch: u64) -> Named {
        Named { host: "h".into(), port, epoch }
    }

    fn says(port: u16, epoch: u64) -> Asked {
        let known = Known { named: at(port, epoch), fields: BTreeMap::new() };
        ("s".into(), Ok(Answer::Master(Box::new(known))))
    }

    fn fails(kind: ErrorKind) -> Asked {
        ("away".into(), Err(Error::new(kind, "no answer")))
    }

    fn unknown() -> Asked {
        ("s".into(), Ok(Answer::Unknown(Some(vec!["carts".into(), "bills".into()]))))
    }

    #[test]
    fn the_latest_failover_counts_whoever_knows_of_it() {
        let found = |asked: &[Asked], recent| sentinels().choose(asked, recent).map(|named| named.port);
        assert_eq!(found(&[says(1, 0), says(1, 0), says(2, 3)], None).unwrap(), 2);
        assert_eq!(found(&[says(1, 3), fails(ErrorKind::Unavailable)], None).unwrap(), 1);
        assert_eq!(found(&[says(1, 3)], Some(at(2, 4))).unwrap(), 2, "it has not heard of it yet");
        assert_eq!(found(&[says(1, 5)], Some(at(2, 4))).unwrap(), 1);
        assert_eq!(found(&[says(1, 0), says(1, 0), says(2, 0)], None).unwrap(), 1, "most of them");
        let two = found(&[says(1, 0), says(2, 0)], None).unwrap_err();
        assert!(two.to_string().contains("h:1") && two.to_string().contains("h:2"), "{two}");
        let away = found(&[fails(ErrorKind::Unavailable)], Some(at(2, 4))).unwrap_err();
        assert!(away.is_retryable() && away.to_string().contains("no answer"), "{away}");
    }

    #[test]
    fn what_has_to_be_mended_is_told_first() {
        let error = |asked: &[Asked]| sentinels().choose(asked, None).unwrap_err();
        let denied = [fails(ErrorKind::Unavailable), unknown(), fails(ErrorKind::Denied)];
        assert_eq!(error(&denied).kind(), ErrorKind::Denied);
        let all = error(&[unknown(), unknown()]);
        assert!(
            all.kind() == ErrorKind::Config && all.to_string().contains(r#"["bills", "carts"]"#),
            "{all}"
        );
        let one = error(&[unknown(), fails(ErrorKind::Unavailable)]);
        assert!(one.is_retryable() && one.to_string().contains("orders"), "the other one may know it: {one}");
    }
}

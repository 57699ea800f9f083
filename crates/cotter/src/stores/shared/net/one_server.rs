//! A host name with several addresses: which of them is the server that accepts writes.
//!
//! Such a name is a headless service of Kubernetes, a name that a failover moves, or just `localhost`. An address is not a
//! server: two may lead to the same one, and of two servers one may be the replica of the other.

use crate::{Error, ErrorKind, Result};
use std::fmt;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

/// A connection to a server that accepts writes, and what tells the server from any other; `None` if it does not say.
pub(crate) type Found<L> = (L, Option<String>);

/// The time that the other addresses have once a server has been found: an address that leads nowhere must not hold up
/// every connection.
const OTHERS: Duration = Duration::from_millis(500);

/// Connects to all addresses at once. Two different servers that both accept writes are an error, whichever was meant: a lock
/// on one of them would not be seen on the other. A server that does not say who it is counts as the one that was found.
///
/// # Errors
/// As above, or what each address has answered.
pub(crate) async fn one_server<A, L, F>(name: &str, addresses: Vec<A>, open: impl Fn(A) -> F) -> Result<L>
where
    A: fmt::Display + Clone + Send + 'static,
    L: Send + 'static,
    F: Future<Output = Result<Found<L>>> + Send + 'static,
{
    let mut tries = JoinSet::new();
    for address in addresses {
        let opening = open(address.clone());
        tries.spawn(async move { (address, opening.await) });
    }
    let mut found: Option<(A, Found<L>)> = None;
    let mut failed = Vec::new();
    let mut end = None;
    while let Some((address, tried)) = next(&mut tries, end).await {
        match (tried, &found) {
            (Err(e), _) => failed.push((address.to_string(), e)),
            (Ok(this), None) => {
                found = Some((address, this));
                end = Some(Instant::now() + OTHERS);
            }
            (Ok((_, this)), Some((first, (_, known)))) if are_two(&this, known) => {
                return Err(two_servers(name, first, &address));
            }
            // The same server once more.
            (Ok(_), Some(_)) => {}
        }
    }
    found.map_or_else(|| Err(none_of(name, failed)), |(_, (live, _))| Ok(live))
}

/// The next attempt that ends before `end`.
async fn next<T: Send + 'static>(tries: &mut JoinSet<T>, end: Option<Instant>) -> Option<T> {
    loop {
        let joined = match end {
            Some(end) => timeout_at(end, tries.join_next()).await.ok().flatten()?,
            None => tries.join_next().await?,
        };
        // One that has panicked has found nothing.
        if let Ok(tried) = joined {
            return Some(tried);
        }
    }
}

fn are_two(one: &Option<String>, other: &Option<String>) -> bool {
    one.as_ref().zip(other.as_ref()).is_some_and(|(one, other)| one != other)
}

/// Which of them counts may change at any moment: after a failover, the old one is soon gone.
fn two_servers(name: &str, one: impl fmt::Display, other: impl fmt::Display) -> Error {
    let why = format!(
        "{name} leads to two different servers that accept writes, {one} and {other}, and a lock on one of them is not seen on \
         the other; put a name into the URL that leads to one of them"
    );
    Error::new(ErrorKind::Unavailable, why)
}

/// What is to be mended comes first: a password, for example, rather than a replica, which needs no mending.
fn none_of(name: &str, mut failed: Vec<(String, Error)>) -> Error {
    failed.sort_by(|(one, _), (other, _)| one.cmp(other));
    let first = failed.iter().position(|(_, e)| !e.is_retryable()).unwrap_or_default();
    if failed.is_empty() {
        return Error::new(ErrorKind::Unavailable, format!("{name} has no address"));
    }
    let (address, e) = failed.swap_remove(first);
    match failed.len() {
        0 => e,
        others => e.with_server(&format!("{address}, one of {} addresses of {name}", others + 1)),
    }
}

#[cfg(test)]
mod tests;

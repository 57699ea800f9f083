//! Names that other systems have trouble with.

use super::fixture::{Fixture, give, is_busy, take};
use crate::Name;
use crate::backend::Claim;

const HOSTILE: &[&str] = &[
    "a",
    "A",
    "a ",
    " a",
    "a.",
    ".a",
    "..",
    ".",
    "../a",
    "a/b",
    "a\\b",
    "a%2fb",
    "{a}",
    "a}b{",
    "'; DROP TABLE locks; --",
    "\"a\"",
    "a`b",
    "$(a)",
    "*",
    "?",
    "[a]",
    "~",
    "-a",
    "a:b",
    "a|b",
    "a&b",
    "iPhone 7",
    "naïve",
    "nai\u{308}ve",
    "日本語",
    "🔒",
    "%s%n",
    "\u{202e}abc",
    "a\u{a0}",
    "null",
    "CON",
    "a.lock",
    "a.queue",
];

pub(super) async fn hostile_names_are_distinct(f: &Fixture) {
    let backend = f.connect().await;
    if !backend.info().capabilities.names {
        return;
    }
    let mut held: Vec<Claim> = Vec::new();
    for name in HOSTILE {
        let claim = f.claim(name);
        take(&backend, &claim).await;
        held.push(claim);
    }
    for claim in &held {
        is_busy(&backend, &claim.renewed()).await;
    }
    for claim in &held {
        give(&backend, claim).await;
    }
}

pub(super) async fn names_that_begin_alike_are_independent(f: &Fixture) {
    let backend = f.connect().await;
    if !backend.info().capabilities.names {
        return;
    }
    for name in ["jobs", "jobs/", "jobs/a", "jobs/a/b", "job"] {
        take(&backend, &f.claim(name)).await;
    }
}

fn long(f: &Fixture, last: char) -> Claim {
    let mut claim = f.claim("");
    let filler = f.longest_name - claim.name.len() - 1;
    claim.name = Name::new(format!("{}{}{last}", claim.name, "x".repeat(filler))).expect("just short enough");
    claim
}

pub(super) async fn the_longest_name_works(f: &Fixture) {
    let backend = f.connect().await;
    let mut claim = long(f, '/');
    take(&backend, &claim).await;
    is_busy(&backend, &claim.renewed()).await;
    give(&backend, &claim).await;
    // Every byte must be escaped in a file name or a key.
    let prefix = f.name("").to_string();
    claim.name =
        Name::new(format!("{prefix}{}", "/".repeat(f.longest_name - prefix.len()))).expect("long enough");
    take(&backend, &claim.renewed()).await;
}

pub(super) async fn long_names_that_differ_late_are_distinct(f: &Fixture) {
    let backend = f.connect().await;
    if !backend.info().capabilities.names {
        return;
    }
    take(&backend, &long(f, 'a')).await;
    take(&backend, &long(f, 'b')).await;
}

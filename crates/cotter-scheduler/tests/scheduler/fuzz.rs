//! The corpus of the fuzz target, replayed and mutated: 2 seconds from a fixed seed, or 10 minutes from another one each time with
//! `COTTER_LONG` set.

#[path = "../../fuzz/check.rs"]
mod check;

use std::fs;
use std::time::{Duration, Instant};

use crate::seed::{is_over, seed};
use cotter_testkit::sized;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

fn corpus() -> Vec<String> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/fuzz/corpus/cron");
    let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    files.map(|path| String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned()).collect()
}

#[test]
fn the_corpus_keeps_every_promise() {
    let corpus = corpus();
    assert!(corpus.len() > 50);
    corpus.iter().for_each(|text| check::check(text));
}

#[test]
fn mutations_keep_every_promise() {
    let (start, length, seed) = (Instant::now(), Duration::from_secs(sized(2, 600)), seed());
    let mut random = StdRng::seed_from_u64(seed);
    let corpus = corpus();
    let mut accepted = 0;
    while !is_over(start, length, accepted > 100) {
        let text = mutated(&corpus, &mut random);
        let caught = std::panic::catch_unwind(|| check::check(&text));
        assert!(caught.is_ok(), "{text:?} breaks a promise (seed {seed})");
        accepted += u32::from(text.parse::<cotter_scheduler::Cron>().is_ok());
    }
    assert!(accepted > 100, "the mutations hardly ever make an expression: {accepted} (seed {seed})");
}

/// A text of the corpus after a few random changes.
fn mutated(corpus: &[String], random: &mut StdRng) -> String {
    const ALPHABET: &[u8] = b"0123456789,-*/?LWC# \tMONSUNJANDECx@\xff";
    let mut text = pick(corpus, random).clone().into_bytes();
    for _ in 0..random.random_range(1..5) {
        let at = random.random_range(0..=text.len());
        match random.random_range(0..5) {
            0 => text.insert(at, ALPHABET[random.random_range(0..ALPHABET.len())]),
            1 => text.truncate(text.len().max(1) - 1),
            2 if at < text.len() => drop(text.remove(at)),
            3 if at < text.len() => text[at] = ALPHABET[random.random_range(0..ALPHABET.len())],
            _ => text = with_field_of(&text, pick(corpus, random), random),
        }
    }
    String::from_utf8_lossy(&text).into_owned()
}

fn pick<'a>(corpus: &'a [String], random: &mut StdRng) -> &'a String {
    &corpus[random.random_range(0..corpus.len())]
}

/// One field replaced by that of another expression.
fn with_field_of(text: &[u8], other: &str, random: &mut StdRng) -> Vec<u8> {
    let field = random.random_range(0..7);
    let text = String::from_utf8_lossy(text);
    let mut fields: Vec<&str> = text.split(' ').collect();
    if let (Some(mine), Some(theirs)) = (fields.get_mut(field), other.split(' ').nth(field)) {
        *mine = theirs;
    }
    fields.join(" ").into_bytes()
}

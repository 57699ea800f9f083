//! Whether answers are the same.

use cotter_testkit::redis_in_memory::Reply;

/// Of an error that a script has raised, only the code is the same; and what a script computes from the rest of a key's life is
/// the same to some milliseconds.
pub(crate) fn same(what: &str, ours: &[Reply], theirs: &[Reply]) -> Result<(), String> {
    let plain = |replies: &[Reply]| {
        let plain = |reply: &Reply| match reply {
            Reply::Error(text) => Reply::Error(text.split(' ').next().unwrap_or_default().to_owned()),
            reply => reply.clone(),
        };
        format!("{:?}", replies.iter().map(plain).collect::<Vec<_>>())
    };
    let (one, other) = (plain(ours), plain(theirs));
    match one == other || numbers(&one).0 == numbers(&other).0 && near(&numbers(&one).1, &numbers(&other).1) {
        true => Ok(()),
        false => Err(format!("{what}: {ours:?} here, and there {theirs:?}")),
    }
}

/// A text with its numbers taken out, and the numbers.
fn numbers(text: &str) -> (String, Vec<u128>) {
    let pieces = text.split(|c: char| !c.is_ascii_digit()).filter(|digits| !digits.is_empty());
    let found = pieces.map(|digits| digits.parse().unwrap_or(u128::MAX)).collect();
    let mut rest = text.replace(|c: char| c.is_ascii_digit(), "0");
    while rest.contains("00") {
        rest = rest.replace("00", "0");
    }
    (rest, found)
}

fn near(ours: &[u128], theirs: &[u128]) -> bool {
    ours.len() == theirs.len() && ours.iter().zip(theirs).all(|(a, b)| a.abs_diff(*b) <= 50)
}

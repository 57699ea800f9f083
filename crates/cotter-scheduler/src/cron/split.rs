//! Splitting of an expression into fields.

use super::cursor::{Cursor, Fault};
use super::field::Field;
use super::{crontab, mistake};

/// The fields in order, six or seven of them.
pub(super) fn split(chars: &[char]) -> Result<Vec<Cursor<'_>>, Fault> {
    let words = words(chars);
    check(chars, &words)?;
    let field = |(field, (start, text))| Cursor::new(field, start, text);
    Ok(Field::ALL.into_iter().zip(words).map(field).collect())
}

/// Each run of characters between blanks, with its position.
pub(super) fn words(chars: &[char]) -> Vec<(usize, &[char])> {
    let mut at = 0;
    let mut words = Vec::new();
    for text in chars.split(|c| is_blank(*c)) {
        if !text.is_empty() {
            words.push((at, text));
        }
        at += text.len() + 1;
    }
    words
}

/// Where the last word ends.
pub(super) fn end(chars: &[char]) -> usize {
    chars.len() - chars.iter().rev().take_while(|c| is_blank(**c)).count()
}

/// What to write instead, if the words are fields of a crontab.
fn of_crontab(words: &[(usize, &[char])]) -> Option<String> {
    let fields: Vec<String> = words.iter().map(|(_, word)| word.iter().collect()).collect();
    let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
    fields.try_into().ok().and_then(crontab::advice)
}

fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t')
}

fn check(chars: &[char], words: &[(usize, &[char])]) -> Result<(), Fault> {
    let whole = |at, mistake| Err(Fault { field: None, at, mistake });
    let Some(&(first, word)) = words.first() else {
        return whole(0, mistake::empty());
    };
    if word[0] == '@' {
        return whole(first, mistake::nickname(&word.iter().collect::<String>()));
    }
    match words.len() {
        found @ ..6 => {
            let missing = Field::ALL[found];
            let mistake = mistake::too_few(found, missing, of_crontab(words));
            Err(Fault { field: Some(missing), at: end(chars), mistake })
        }
        6 | 7 => Ok(()),
        _ => whole(words[7].0, mistake::too_many()),
    }
}

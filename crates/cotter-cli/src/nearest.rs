//! Suggestions for unknown words.

/// The most similar known word, if it is similar enough.
pub(crate) fn nearest<'a, T: AsRef<str>>(word: &str, known: &'a [T]) -> Option<&'a str> {
    let distances = known.iter().map(|k| (distance(word, k.as_ref()), k.as_ref()));
    let (letters, best) = distances.min_by_key(|(letters, _)| *letters)?;
    (letters <= word.chars().count().div_ceil(2)).then_some(best)
}

/// The Levenshtein distance.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.iter().enumerate() {
            let changed = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearness_counts_letters() {
        assert_eq!(distance("prod", "prod"), 0);
        assert_eq!(distance("prdo", "prod"), 2);
        assert_eq!(distance("", "prod"), 4);
        assert_eq!(nearest("prdo", &["staging", "prod"]), Some("prod"));
        assert_eq!(nearest("x", &["staging", "prod"]), None);
    }
}

//! Suggestions for unknown words.

/// The most similar known word, if it is similar enough.
pub(crate) fn nearest<'a, T: AsRef<str>>(word: &str, known: &'a [T]) -> Option<&'a str> {
    let distances = known.iter().map(|k| (strsim::levenshtein(word, k.as_ref()), k.as_ref()));
    let (letters, best) = distances.min_by_key(|(letters, _)| *letters)?;
    (letters <= word.chars().count().div_ceil(2)).then_some(best)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearness_counts_letters() {
        assert_eq!(nearest("prdo", &["staging", "prod"]), Some("prod"));
        assert_eq!(nearest("x", &["staging", "prod"]), None);
    }
}

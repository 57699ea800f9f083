//! Helpers for sentences.

/// `a`, `a and b`, `a, b and c`.
pub(super) fn join(parts: &[String]) -> String {
    match parts {
        [] => String::new(),
        [one] => one.clone(),
        [head @ .., last] => format!("{} and {last}", head.join(", ")),
    }
}

/// `1st`, `2nd`, `3rd`, `4th`, `11th`, …
pub(super) fn ordinal(n: u16) -> String {
    let ending = match (n % 10, n % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{n}{ending}")
}

pub(super) fn capitalized(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or(String::new(), |first| first.to_uppercase().chain(chars).collect())
}

/// The candidate that is most similar to a name, if it is similar enough. Case-insensitive.
pub(super) fn nearest(name: &str, candidates: impl Iterator<Item = String>) -> Option<String> {
    const MAX_NAME_BYTES: usize = 64;
    if name.len() > MAX_NAME_BYTES {
        return None;
    }
    let name = name.to_lowercase();
    let allowed = 1 + name.chars().count() / 6;
    let scored =
        candidates.map(|candidate| (strsim::levenshtein(&name, &candidate.to_lowercase()), candidate));
    scored.min().filter(|(score, _)| *score <= allowed).map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences() {
        let parts = |n: usize| join(&["a", "b", "c"].map(String::from)[..n]);
        assert_eq!([parts(0), parts(1), parts(2), parts(3)], ["", "a", "a and b", "a, b and c"]);
        let ordinals = [1, 2, 3, 4, 11, 12, 13, 21, 22, 111].map(ordinal).join(" ");
        assert_eq!(ordinals, "1st 2nd 3rd 4th 11th 12th 13th 21st 22nd 111th");
        assert_eq!(capitalized("every"), "Every");
    }

    #[test]
    fn similar_names_are_found() {
        assert_eq!(
            nearest("Europe/Lndon", ["Asia/Tokyo", "Europe/London"].map(String::from).into_iter()).as_deref(),
            Some("Europe/London")
        );
        assert_eq!(nearest("Mars/Olympus", ["Asia/Tokyo"].map(String::from).into_iter()), None);
    }
}

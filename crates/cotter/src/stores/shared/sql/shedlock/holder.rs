//! The text of a holder in `locked_by`.

use crate::backend::Claim;

/// How the text of a claim begins. Its release and its extensions compare this much.
pub(crate) fn mark(claim: &Claim) -> String {
    format!("cotter:{}", claim.id)
}

/// The text of a claim, to which the database appends a blank and the token. With what an eviction puts before it, it is not longer
/// than the column.
pub(crate) fn text(claim: &Claim) -> String {
    const MAX_LABEL: usize = 180;
    let label: String = claim.label.chars().take(MAX_LABEL).collect();
    format!("{} {label}", mark(claim))
}

/// What an eviction and a release put before the text of a holder, which stays there for the rest of its time.
const EVICTED: &str = "evicted ";
const RELEASED: &str = "released ";

/// Whether the holder was evicted, and has not let go yet.
pub(crate) fn is_evicted(locked_by: &str) -> bool {
    locked_by.starts_with(EVICTED)
}

/// The label and the token of a holder. One that is not a claim of cotter's is its own label, and has no token.
pub(crate) fn parse(locked_by: &str) -> (&str, u64) {
    let mut text = locked_by;
    while let Some(rest) = text.strip_prefix(EVICTED).or_else(|| text.strip_prefix(RELEASED)) {
        text = rest;
    }
    let claim = text.strip_prefix("cotter:").and_then(|rest| {
        let (_, rest) = rest.split_once(' ')?;
        let (label, number) = rest.rsplit_once(' ')?;
        Some((label, number.parse().ok()?))
    });
    claim.unwrap_or((locked_by, 0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Name;
    use crate::backend::Mode;
    use std::time::Duration;

    #[test]
    fn labels_and_tokens_are_found_again() {
        let mut claim = Claim::new(Name::new("a").unwrap(), Mode::Exclusive, Duration::from_secs(1));
        for label in ["host/1 (job)", "", "a b  c "] {
            claim.label = label.into();
            for before in ["", "released ", "evicted ", "released evicted ", "evicted released "] {
                assert_eq!(parse(&format!("{before}{} 1234", text(&claim))), (label, 1234));
            }
        }
        for other in ["worker-1.example", "evicted worker-1", "released "] {
            assert_eq!(parse(other), (other, 0));
        }
        claim.label = "é".repeat(500).into();
        assert!(format!("evicted {} {}", text(&claim), 1_u64 << 53).chars().count() <= 255);
    }
}

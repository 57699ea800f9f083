//! The rules of the quorum, and what they are for.

/// What a quorum promises.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Promise {
    /// No two believe to hold the name at once.
    Exclusion,
    /// Tokens are unique, and larger than every one that was granted before they were asked for.
    Tokens,
    /// A grant is not renewed after somebody else has had the name.
    Renewal,
}

impl Promise {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Exclusion => "exclusion",
            Self::Tokens => "tokens",
            Self::Renewal => "renewal",
        }
    }
}

/// Which rules are in force.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rules {
    /// More than half of the members grant.
    pub(crate) majority: bool,
    /// A majority raises its counters to the largest number before it is a token.
    pub(crate) write_back: bool,
    /// Only a member that still owns the claim for this client raises its counter for it.
    pub(crate) raise_only_ours: bool,
    /// Each attempt has a claim id of its own.
    pub(crate) new_claim_per_attempt: bool,
    /// A member that was restarted grants nothing before all that it may have granted is over.
    pub(crate) abstinence: bool,
    /// After that, its counter begins at its clock.
    pub(crate) floor_after_abstinence: bool,
    /// At a renewal, only members that had granted the claim before count.
    pub(crate) newcomers_wait: bool,
}

impl Rules {
    pub(crate) const ALL: Self = Self {
        majority: true,
        write_back: true,
        raise_only_ours: true,
        new_claim_per_attempt: true,
        abstinence: true,
        floor_after_abstinence: true,
        newcomers_wait: true,
    };
}

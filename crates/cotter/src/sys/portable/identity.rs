//! Which process this is: a fork has a copy of all that its parent knew, and is another one. Its number tells, where all
//! processes have theirs from one series.

/// A process, as far as its forks have to be told from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Identity(u64);

impl Identity {
    /// That of this process. Cheap enough for every operation.
    pub(crate) fn own() -> Self {
        Self(std::process::id().into())
    }

    /// For an atomic variable; never zero.
    #[cfg(all(feature = "file", unix))]
    pub(crate) fn number(self) -> u64 {
        self.0
    }

    /// Another process, for tests without a fork.
    #[cfg(test)]
    pub(crate) fn other(self) -> Self {
        Self(self.0 + 1)
    }
}

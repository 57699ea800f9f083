//! The table of exit codes of commands that run another one.

/// The exit codes of `cotter run`; see [`rows`].
const TABLE: &[(&str, &str)] = &[
    ("CMD's own", "CMD ran and exited with this code; 128 + N if signal N ended it"),
    ("64", "usage error, invalid name, or not supported by this store"),
    ("65", "the name is in use for something else"),
    ("69", "the store cannot be reached"),
    ("71", "a system error: no room for the output, or a system call that failed"),
    ("74", "the lock was lost while CMD ran; CMD was stopped if it was still running"),
    ("75 (-E N)", "not acquired in time"),
    ("76", "the store sent an invalid reply"),
    ("77", "permission denied"),
    ("78", "configuration: an invalid URL, an unknown store, a store that is not set up"),
    ("124", "--max-hold was reached; CMD was stopped"),
    ("126", "CMD cannot be executed"),
    ("127", "CMD was not found"),
    ("128 + N", "signal N (HUP, INT, QUIT, TERM) ended the wait; CMD never ran"),
];

/// The exit codes of a command that runs another one, `run` or `elect`, for `--help` and the manual page: without those of
/// options that it does not have.
pub(crate) fn rows(command: &str) -> impl Iterator<Item = &'static (&'static str, &'static str)> {
    let has_max_hold = command == "run";
    TABLE.iter().filter(move |(code, _)| has_max_hold || *code != "124")
}

/// The table as text for a terminal.
pub(crate) fn table(command: &str) -> String {
    let width = TABLE.iter().map(|(code, _)| code.len()).max().unwrap_or_default();
    let lines = rows(command).map(|(code, meaning)| format!("  {code:width$}  {meaning}\n"));
    format!("Exit codes:\n{}", lines.collect::<String>())
}

//! `flock -n FILE COMMAND`, which the lock of a job makes needless: a slot that becomes due during a run is not started.

use super::line::first_word;

/// A command that is wrapped so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Wrapped<'a> {
    pub(super) file: &'a str,
    pub(super) command: &'a str,
}

/// With one of them, the second run of two is left out.
const DOES_NOT_WAIT: [&str; 5] = ["-n", "--nb", "--nonblock", "-xn", "-nx"];
/// What is the case without them.
const DEFAULT: [&str; 3] = ["-x", "-e", "--exclusive"];

/// `None` for anything else, also for a flock(1) that waits: what to do about that one, its owner has to say.
pub(super) fn of(command: &str) -> Option<Wrapped<'_>> {
    let (program, mut rest) = first_word(command);
    if program != "flock" && !program.ends_with("/flock") {
        return None;
    }
    let mut waits = true;
    loop {
        let (word, behind) = first_word(rest);
        if DOES_NOT_WAIT.contains(&word) {
            waits = false;
        } else if !DEFAULT.contains(&word) {
            let is_command = !behind.is_empty() && !behind.starts_with('-');
            let is_file = !word.starts_with('-') && !is_descriptor(word);
            return (!waits && is_file && is_command).then_some(Wrapped { file: word, command: behind });
        }
        rest = behind;
    }
}

fn is_descriptor(word: &str) -> bool {
    word.chars().all(|c| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrapper_that_does_not_wait_is_found() {
        let is = |file, command| Some(Wrapped { file, command });
        assert_eq!(of("flock -n /run/x a  b > c"), is("/run/x", "a  b > c"));
        assert_eq!(of("/usr/bin/flock -x --nonblock /run/x a"), is("/run/x", "a"));
        assert_eq!(of("flock -xn /run/x a"), is("/run/x", "a"));
    }

    #[test]
    fn other_ones_are_left_alone() {
        for other in [
            "flock /run/x a",
            "flock --exclusive /run/x a",
            "flock -n -w 5 /run/x a",
            "flock -n /run/x -c 'a'",
            "flock -n 9",
            "flock -n 9 a",
            "flock -n",
            "cd / && flock -n /run/x a",
            "a flock -n /run/x",
        ] {
            assert_eq!(of(other), None, "{other}");
        }
    }
}

//! `flock -n FILE COMMAND`, which the lock of a job makes needless: a slot that becomes due during a run is not started.

/// A command that is wrapped so.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Wrapped<'a> {
    pub(super) file: &'a str,
    pub(super) command: &'a str,
}

/// Flags that do not change what happens to the second run of two: it is left out.
const FLAGS: [&str; 8] = ["-n", "--nb", "--nonblock", "-x", "-e", "--exclusive", "-xn", "-nx"];

/// `None` for anything else, also for a flock(1) that waits: what to do about that one, its owner has to say.
pub(super) fn of(command: &str) -> Option<Wrapped<'_>> {
    let (program, mut rest) = split(command);
    let mut waits = true;
    if program != "flock" && !program.ends_with("/flock") {
        return None;
    }
    loop {
        let (word, behind) = split(rest);
        if FLAGS.contains(&word) {
            waits &= !(word.starts_with("--n") || word[1..].contains('n') && !word.starts_with("--"));
            rest = behind;
        } else if waits
            || word.starts_with('-')
            || is_descriptor(word)
            || behind.is_empty()
            || behind.starts_with('-')
        {
            return None;
        } else {
            return Some(Wrapped { file: word, command: behind });
        }
    }
}

fn is_descriptor(word: &str) -> bool {
    word.chars().all(|c| c.is_ascii_digit())
}

fn split(text: &str) -> (&str, &str) {
    let text = text.trim_start();
    let (word, behind) = text.split_once(|c: char| c.is_whitespace()).unwrap_or((text, ""));
    (word, behind.trim_start())
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

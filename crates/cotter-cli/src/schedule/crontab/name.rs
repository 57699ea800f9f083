//! The name of a job, after the program that it runs.

/// They prepare what is run, and say nothing about it: a part of a command that begins with one of them is passed over.
const PREPARE: [&str; 12] =
    ["cd", "test", "[", "fi", "done", "true", "command", "export", "set", ".", "sleep", "date"];
/// Words of the shell, with a command behind them.
const KEYWORDS: [&str; 8] = ["if", "then", "elif", "else", "while", "do", "!", "time"];
/// They run another program.
const WRAP: &[&str] = &[
    "exec",
    "nice",
    "ionice",
    "nohup",
    "env",
    "sudo",
    "timeout",
    "chronic",
    "flock",
    "sh",
    "bash",
    "dash",
    "perl",
    "python3",
    "php",
    "ruby",
    "run-parts",
];

/// A name that no other job has.
pub(super) fn unique(command: &str, is_taken: impl Fn(&str) -> bool) -> String {
    let (name, mut number) = (of(command), 1);
    let mut free = name.clone();
    while is_taken(&free) {
        number += 1;
        free = format!("{name}-{number}");
    }
    free
}

fn of(command: &str) -> String {
    let parts = command.split(['&', '|', ';', '(', ')', '{', '}', '%']).map(str::trim);
    let mut programs = parts.filter_map(program).filter(|name| !name.is_empty());
    programs.next().unwrap_or_else(|| "job".into())
}

/// `None` for a part that prepares, or is empty.
fn program(part: &str) -> Option<String> {
    let mut words = part.split_whitespace().filter(|word| !is_assignment(word) && !KEYWORDS.contains(word));
    let first = words.next()?;
    if PREPARE.contains(&first) {
        return None;
    }
    let mut program = first;
    while WRAP.contains(&base(program)) {
        // What are options and their values cannot be told from outside: numbers are, most likely.
        let is_its_own =
            |word: &&str| word.starts_with('-') || word.starts_with(|c: char| c.is_ascii_digit());
        // Of flock(1), the file comes first.
        let before = usize::from(base(program) == "flock");
        match words.by_ref().filter(|word| !is_its_own(word)).nth(before) {
            Some(next) => program = next,
            None => break,
        }
    }
    Some(plain(base(program)))
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=')
        .is_some_and(|(name, _)| !name.is_empty() && name.chars().all(|c| c == '_' || c.is_alphanumeric()))
}

/// Without quotes and folders.
fn base(path: &str) -> &str {
    path.trim_matches(['"', '\'']).trim_end_matches('/').rsplit('/').next().unwrap_or(path)
}

/// Without the ending of a script, and of letters that need no quotes in a file or on a command line.
fn plain(name: &str) -> String {
    let endings = [".sh", ".py", ".pl", ".php", ".rb"];
    let name = endings.iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(name);
    let plain: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' }).collect();
    plain.trim_matches('-').into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_is_called_after_its_program() {
        for (command, name) in [
            ("/usr/local/bin/import --all", "import"),
            ("cd / && run-parts --report /etc/cron.hourly", "cron-hourly"),
            ("test -x /usr/sbin/anacron || ( cd / && run-parts --report /etc/cron.daily )", "cron-daily"),
            ("[ -x /usr/lib/x ] && if [ a ]; then true; fi", "job"),
            ("if [ -x /usr/sbin/logcheck ]; then nice -n10 /usr/sbin/logcheck; fi", "logcheck"),
            ("test -x /usr/bin/certbot && sleep 9 && certbot -q renew", "certbot"),
            ("nice -n 19 ionice -c 3 python3 /srv/Clean_Up.py", "clean-up"),
            ("A=b LANG=C \"/opt/my tool\"", "my"),
            ("/usr/bin/report%Dear all", "report"),
            ("nice flock -n /run/x/y.lock /srv/z", "z"),
            ("'", "job"),
        ] {
            assert_eq!(of(command), name, "{command}");
        }
        assert_eq!(unique("import", |name| ["import", "import-2"].contains(&name)), "import-3");
    }
}

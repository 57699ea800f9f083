//! The command of a line: what cron does to it, and what the shell gets.

/// A word as the shell takes it literally.
pub(super) fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// The script of a command in a crontab, where what follows the first `%` is its input, every further one ends a line of that,
/// and `\%` is a percent sign.
pub(super) fn script(command: &str) -> String {
    let mut parts = vec![String::new()];
    let mut chars = command.chars().peekable();
    while let Some(c) = chars.next() {
        let last = parts.len() - 1;
        match c {
            '\\' if chars.peek() == Some(&'%') => parts[last].extend(chars.next()),
            '%' => parts.push(String::new()),
            c => parts[last].push(c),
        }
    }
    let command = parts.remove(0);
    if parts.is_empty() {
        return command;
    }
    let input: Vec<String> = parts.iter().map(|line| quoted(line)).collect();
    format!("printf '%s\\n' {} | ({command})", input.join(" "))
}

#[cfg(test)]
mod tests {
    use super::script;

    #[test]
    fn a_percent_sign_begins_the_input() {
        assert_eq!(script(r"date +\%F > x"), "date +%F > x");
        assert_eq!(script("mail joe%Hi,%it's noon"), r"printf '%s\n' 'Hi,' 'it'\''s noon' | (mail joe)");
        assert_eq!(script(r"printf 'a\n'"), r"printf 'a\n'");
    }
}

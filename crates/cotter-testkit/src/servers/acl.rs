//! The ACL rules of `docs/stores/redis.md`: for each mode a user who has the permissions that the page lists and no others.

/// The page, which is tested word by word.
const PAGE: &str = include_str!("../../../../docs/stores/redis.md");

const MODES: [&str; 6] = ["native", "quorum", "plain", "getset", "redisson", "plain-quorum"];

/// The rule of a mode as the page prints it, word by word: `ACL SETUSER`, the name of the user, and its permissions.
///
/// # Panics
/// When the page has no such rule.
pub fn acl_rule(mode: &str) -> Vec<&'static str> {
    let user = user(mode);
    let rules = PAGE.lines().filter(|line| line.starts_with("ACL SETUSER ")).map(str::split_whitespace);
    let mut rules = rules.map(Iterator::collect::<Vec<_>>).filter(|rule| rule[2] == user);
    rules.next().unwrap_or_else(|| panic!("docs/stores/redis.md has no rule for {user}"))
}

/// The user of the page for a mode.
fn user(mode: &str) -> String {
    if mode == "native" { "cotter".into() } else { format!("cotter-{mode}") }
}

/// The settings of a server that has these users. The keys of the older modes are the names of the locks, for which the page
/// has an example; here they are all keys. A server refuses rules about commands that were removed from it.
pub(super) fn settings(removed: &[String]) -> Vec<String> {
    let command = |word: &str| word.strip_prefix('+').map(|c| c.split('|').next().unwrap_or(c).to_owned());
    let setting = |mode| {
        let mut words = acl_rule(mode).split_off(2);
        words.retain(|word| command(word).is_none_or(|command| !removed.contains(&command)));
        if words.contains(&"~orders:*") {
            words.retain(|word| !word.starts_with('~'));
            words.push("~*");
        }
        ["--user"].into_iter().chain(words).map(str::to_owned).collect::<Vec<_>>()
    };
    MODES.iter().copied().flat_map(setting).collect()
}

/// User name and password for a URL with these options, with the sign behind them.
pub(super) fn credentials(options: &str) -> String {
    let value = |key| options.split('&').find_map(|option| option.strip_prefix(key));
    let votes = value("prefix=") == Some("cotter:quorum");
    let mode = match value("mode=").unwrap_or("native") {
        "native" if votes => "quorum",
        "plain" if votes => "plain-quorum",
        mode => mode,
    };
    let rule = acl_rule(mode);
    let password = rule.iter().find_map(|word| word.strip_prefix('>')).expect("a password");
    format!("{}:{password}@", rule[2])
}

//! The scheme of a URL, as it is written elsewhere.

use std::borrow::Cow;

/// Schemes that mean one of ours.
const OTHERS: [(&str, &str); 4] =
    [("mysql2", "mysql"), ("pgsql", "postgres"), ("valkey", "redis"), ("valkeys", "rediss")];

/// The same URL with a scheme of ours: in small letters, without the driver (`postgresql+psycopg2:`), without `jdbc:` in front,
/// and without blanks around it, as a mounted secret has them.
pub(super) fn canonical(url: &str) -> Cow<'_, str> {
    let url = url.trim();
    let url = url.strip_prefix("jdbc:").unwrap_or(url);
    // Whatever has no slashes may begin with a user name, whose letters are left alone.
    let Some((written, rest)) = url.split_once(':').filter(|(_, rest)| rest.starts_with("//")) else {
        return url.into();
    };
    let small = written.to_ascii_lowercase();
    let base = match small.split_once('+') {
        Some((base @ ("mysql" | "mariadb" | "postgres" | "postgresql"), _)) => base,
        _ => &small,
    };
    let ours = OTHERS.iter().find(|(other, _)| *other == base).map_or(base, |(_, ours)| ours);
    if ours == written { url.into() } else { format!("{ours}:{rest}").into() }
}

#[cfg(test)]
mod tests {
    use super::canonical;

    #[test]
    fn schemes_of_others_are_known() {
        for (theirs, ours) in [
            ("redis://h", "redis://h"),
            (" redis://h\n", "redis://h"),
            ("REDIS://u:PW@h", "redis://u:PW@h"),
            ("valkeys://h", "rediss://h"),
            ("mysql2://h/db", "mysql://h/db"),
            ("mysql+pymysql://h/db", "mysql://h/db"),
            ("mariadb+mariadbconnector://h/db", "mariadb://h/db"),
            ("postgresql+psycopg2://h/db", "postgresql://h/db"),
            ("jdbc:postgresql://h/db", "postgresql://h/db"),
            ("redis+cluster://h", "redis+cluster://h"),
            ("App:PW+x@h", "App:PW+x@h"),
            ("memory:", "memory:"),
        ] {
            assert_eq!(canonical(theirs), ours, "{theirs}");
        }
    }
}

//! What the URL of a store says to those who connect to its server without the library.
//!
//! The library has accepted the URL before: what is not known here, such as an option of another driver, does not matter.

/// Schemes that mean another one.
const OTHERS: [(&str, &str); 6] = [
    ("mariadb", "mysql"),
    ("mysql2", "mysql"),
    ("pgsql", "postgres"),
    ("postgresql", "postgres"),
    ("valkey", "redis"),
    ("valkeys", "rediss"),
];

/// The parts of a URL.
#[derive(Debug)]
pub(crate) struct ServerUrl<'a> {
    /// One of ours, in small letters.
    pub(crate) scheme: String,
    /// What is behind the colon of the scheme, without the options.
    pub(crate) rest: &'a str,
    query: &'a str,
}

impl<'a> ServerUrl<'a> {
    /// Whatever is not a URL has a scheme that nobody knows.
    pub(crate) fn of(url: &'a str) -> Self {
        let url = url.trim();
        let url = url.strip_prefix("jdbc:").unwrap_or(url);
        let (plain, query) = url.split_once('?').unwrap_or((url, ""));
        let (written, rest) = plain.split_once(':').unwrap_or((plain, ""));
        let small = written.to_ascii_lowercase();
        let base = match small.split_once('+') {
            Some((base @ ("mysql" | "mariadb" | "postgres" | "postgresql"), _driver)) => base,
            _ => &small,
        };
        let ours = OTHERS.iter().find(|(other, _)| *other == base).map_or(base, |(_, ours)| ours);
        Self { scheme: ours.to_owned(), rest, query }
    }

    /// The options, as they are written.
    pub(crate) fn options(&self) -> impl Iterator<Item = (&'a str, &'a str)> + use<'a> {
        let query = self.query;
        query
            .split('&')
            .filter(|pair| !pair.is_empty())
            .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
    }

    /// The path of a socket in the file system, as it is written.
    pub(crate) fn socket(&self) -> Option<&'a str> {
        self.options().find(|(key, _)| matches!(*key, "socket" | "unix_socket")).map(|(_, path)| path)
    }

    /// Whether a database is connected to without TLS.
    pub(crate) fn is_plaintext(&self) -> bool {
        let asked = self.options().filter_map(|(key, value)| without_tls(key, value)).last();
        let is_postgres_socket = self.scheme == "postgres" && self.options().any(|(key, _)| key == "host");
        self.socket().is_some() || asked.unwrap_or(is_postgres_socket || is_local(self.rest))
    }
}

/// Whether an option turns TLS off, in the words of any driver; `None` if it says nothing about that.
fn without_tls(key: &str, value: &str) -> Option<bool> {
    let value = value.to_ascii_lowercase();
    match key {
        "sslmode" | "ssl-mode" | "ssl_mode" | "sslMode" => Some(matches!(&*value, "disable" | "disabled")),
        "ssl" | "useSSL" | "requireSSL" => Some(matches!(&*value, "false" | "0")),
        _ => None,
    }
}

/// Whether all hosts of an address are this one. Several hosts, of which only some are, are not.
fn is_local(rest: &str) -> bool {
    let rest = rest.strip_prefix("//").unwrap_or(rest);
    let hosts = rest.split('/').next().unwrap_or_default();
    let hosts = hosts.rsplit_once('@').map_or(hosts, |(_, hosts)| hosts);
    let is_local = |host: &str| {
        let bare = if host.starts_with('[') { host.split(']').next() } else { host.split(':').next() };
        let bare = bare.unwrap_or_default();
        ["localhost", "127.0.0.1", "[::1", ""].contains(&bare) || bare.to_uppercase().starts_with("%2F")
    };
    hosts.split(',').all(is_local)
}

#[cfg(test)]
mod tests {
    use super::*;
    use cotter::{Client, ErrorKind};

    /// Nothing listens there.
    const NOWHERE: &str = "//app:secret@127.0.0.1:1/1?connect_timeout=1s";

    /// Each scheme that the library takes is known here: one that it does not take is an error of the configuration.
    #[tokio::test]
    async fn schemes_of_others_are_those_of_the_library() {
        for (theirs, ours) in [
            ("redis", "redis"),
            ("rediss", "rediss"),
            ("valkey", "redis"),
            ("valkeys", "rediss"),
            (" REDIS", "redis"),
            ("mysql", "mysql"),
            ("mariadb", "mysql"),
            ("mysql2", "mysql"),
            ("jdbc:mariadb", "mysql"),
            ("mariadb+mariadbconnector", "mysql"),
            ("postgres", "postgres"),
            ("pgsql", "postgres"),
            ("PostgreSQL", "postgres"),
            ("postgresql+psycopg2", "postgres"),
        ] {
            let url = format!("{theirs}:{NOWHERE}");
            let error = Client::builder().connect(&url).await.unwrap_err();
            assert_ne!(error.kind(), ErrorKind::Config, "{theirs}: {error}");
            let read = ServerUrl::of(&url);
            assert_eq!((&*read.scheme, read.rest), (ours, "//app:secret@127.0.0.1:1/1"), "{theirs}");
        }
    }

    #[test]
    fn the_words_of_drivers_for_tls_are_known() {
        for (url, is_plaintext) in [
            ("mysql://app@localhost/jobs", true),
            ("mysql://app@db-1/jobs", false),
            ("mysql://app@localhost,db-1/jobs", false),
            ("mysql://app@db-1/jobs?ssl-mode=DISABLED", true),
            ("mysql://app@db-1/jobs?useSSL=false&serverTimezone=UTC", true),
            ("mysql://app@db-1/jobs?unix_socket=/run/my.sock", true),
            ("mysql://app@localhost/jobs?ssl_mode=VERIFY_IDENTITY", false),
            ("postgres://app@/jobs?host=/run/pg", true),
            ("postgres://app@db-1/jobs?sslmode=disable", true),
            ("postgres://app@localhost/jobs?ssl=true", false),
        ] {
            assert_eq!(ServerUrl::of(url).is_plaintext(), is_plaintext, "{url}");
        }
    }
}

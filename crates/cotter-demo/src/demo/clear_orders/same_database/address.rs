//! Where the database of a store is. Only this demonstration connects to it without the library.

use cotter_console::Failure;
use std::fs;

/// The address of a database.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Address {
    /// A URL for the driver, and a password that is not in it.
    Postgres(String, Option<String>),
    Mysql(String, Option<String>),
    /// A path.
    Sqlite(String),
}

impl Address {
    pub(super) fn of(url: &str) -> Result<Self, Failure> {
        let (plain, query) = url.split_once('?').unwrap_or((url, ""));
        let (scheme, rest) = plain.split_once(':').unwrap_or((plain, ""));
        if scheme == "sqlite" {
            return Ok(Self::Sqlite(decoded(rest.strip_prefix("//").unwrap_or(rest))));
        }
        let is_mysql = match scheme {
            "postgres" | "postgresql" => false,
            "mysql" | "mariadb" => true,
            _ => {
                let why = "--same-database needs a store in a database: postgres:, mysql: or sqlite:";
                return Err(Failure::usage(why));
            }
        };
        let (mut kept, mut password, mut plaintext) = (Vec::new(), None, is_local(rest));
        for (key, value) in query.split('&').filter_map(|pair| pair.split_once('=')) {
            match key {
                "sslmode" => plaintext = value == "disable",
                "host" | "socket" => {
                    plaintext = true;
                    kept.push(format!("{key}={value}"));
                }
                "password_file" => password = Some(read(&decoded(value))?),
                _ => {}
            }
        }
        if !plaintext {
            let why = "--same-database connects without TLS: use a database on this host, or sslmode=disable";
            return Err(Failure::usage(why));
        }
        if !is_mysql {
            kept.push("sslmode=disable".into());
        }
        let kept = if kept.is_empty() { String::new() } else { format!("?{}", kept.join("&")) };
        Ok(if is_mysql {
            Self::Mysql(format!("mysql:{rest}{kept}"), password)
        } else {
            Self::Postgres(format!("postgres:{rest}{kept}"), password)
        })
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

fn read(path: &str) -> Result<String, Failure> {
    let text = fs::read_to_string(path)
        .map_err(|e| Failure::config(format!("password_file={path}: cannot be read: {e}")))?;
    Ok(text.trim_end_matches(['\r', '\n']).to_owned())
}

/// Replaces what is percent-encoded.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let code = (first == b'%').then(|| after.get(..2)).flatten();
        let code = code.and_then(|digits| u8::from_str_radix(str::from_utf8(digits).ok()?, 16).ok());
        bytes.push(code.unwrap_or(first));
        rest = if code.is_some() { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drivers_get_what_they_know() {
        let of = |url: &str| Address::of(url).map_err(|e| e.message);
        let plain = "postgres://app:s%40@localhost:1/jobs";
        assert_eq!(
            of(&format!("{plain}?mode=row&prefix=a")).unwrap(),
            Address::Postgres(format!("{plain}?sslmode=disable"), None)
        );
        assert_eq!(
            of("postgresql://app@/jobs?host=/run/pg").unwrap(),
            Address::Postgres("postgres://app@/jobs?host=/run/pg&sslmode=disable".into(), None)
        );
        assert_eq!(
            of("mariadb://app@localhost/jobs?socket=/run/my.sock&timeout=1s").unwrap(),
            Address::Mysql("mysql://app@localhost/jobs?socket=/run/my.sock".into(), None)
        );
        assert_eq!(of("sqlite:///a%20b/c.db?timeout=1s").unwrap(), Address::Sqlite("/a b/c.db".into()));
        assert!(of("file:").unwrap_err().contains("postgres:"));
        for far in [
            "mysql://app@db-1/jobs",
            "postgres://app@localhost,db-1/jobs",
            "mysql://a@localhost/b?sslmode=verify-full",
        ] {
            assert!(of(far).unwrap_err().contains("sslmode=disable"), "{far}");
        }
        assert!(of("mysql://app@db-1/jobs?sslmode=disable").is_ok());
    }
}

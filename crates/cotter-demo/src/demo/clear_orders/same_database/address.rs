//! Where the database of a store is. Only this demonstration connects to it without the library.

use crate::server_url::ServerUrl;
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
        let read_url = ServerUrl::of(url);
        let rest = read_url.rest;
        let is_mysql = match &*read_url.scheme {
            "sqlite" => return Ok(Self::Sqlite(decoded(rest.strip_prefix("//").unwrap_or(rest)))),
            "postgres" => false,
            "mysql" => true,
            _ => {
                let why = "--same-database needs a store in a database: postgres:, mysql: or sqlite:";
                return Err(Failure::usage(why));
            }
        };
        if !read_url.is_plaintext() {
            let why = "--same-database connects without TLS: use a database on this host, or sslmode=disable";
            return Err(Failure::usage(why));
        }
        let mut password = None;
        let mut kept: Vec<_> = read_url.socket().map(|path| format!("socket={path}")).into_iter().collect();
        for (key, value) in read_url.options() {
            match key {
                "host" => kept.push(format!("host={value}")),
                "password_file" => password = Some(read(&decoded(value))?),
                _ => {}
            }
        }
        if !is_mysql {
            kept.push("sslmode=disable".into());
        }
        let kept = if kept.is_empty() { String::new() } else { format!("?{}", kept.join("&")) };
        let address = format!("{}:{rest}{kept}", read_url.scheme);
        Ok(if is_mysql { Self::Mysql(address, password) } else { Self::Postgres(address, password) })
    }
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
        assert_eq!(
            of("mysql+pymysql://app@db-1/jobs?unix_socket=/run/my.sock&charset=utf8mb4").unwrap(),
            Address::Mysql("mysql://app@db-1/jobs?socket=/run/my.sock".into(), None)
        );
        assert_eq!(
            of("jdbc:postgresql://app@db-1/jobs?ssl-mode=disable").unwrap(),
            Address::Postgres("postgres://app@db-1/jobs?sslmode=disable".into(), None)
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

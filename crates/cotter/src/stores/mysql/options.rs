//! The options of a store, and their defaults.

use super::address::{Address, ConnectParams};
use super::aliases::meaning;
use crate::Result;
use crate::error::config;
use crate::stores::shared::net::{Certificates, Password, in_our_words, pairs, split, verifies};

/// The options of a store: those of every database, and no others.
pub(super) use crate::stores::shared::sql::Options;

/// Parses a URL, and reads the files that it names.
pub(super) fn parse(url: &str) -> Result<(ConnectParams, Options)> {
    let (scheme, rest, query) = split(url)?;
    let query = in_our_words(url, query, meaning)?;
    let mut address = Address::parse(scheme, rest)?;
    let mut certificates = Certificates::default();
    let mut options = Options::default();
    for pair in pairs(&query) {
        let (key, value) = pair?;
        match key {
            "socket" => address.set_socket(value)?,
            "sslmode" => address.tls = Some(verifies(key, &value)?),
            "ca" | "cert" | "key" => certificates.read(key, &value)?,
            "password_file" => address.password = Some(Password::in_file(&value)?),
            _ => options.set(key, value, NAMES)?,
        }
    }
    options.check()?;
    options.instance = address.instance();
    Ok((address.connect_params(certificates, &options)?, options))
}

/// Changes options as the query of a URL does, but for those that are about the connection.
pub(super) fn change(query: &str, options: &mut Options) -> Result<()> {
    for pair in pairs(query) {
        let (key, value) = pair?;
        if matches!(key, "socket" | "sslmode" | "ca" | "cert" | "key" | "password_file" | "client_name") {
            return Err(config(format!("{key}= is part of the address, which is set already")));
        }
        options.set(key, value, NAMES)?;
    }
    options.check()
}

const NAMES: &str = "mode, prefix, table, column, session_timeout, connections, connect_timeout, timeout, client_name, socket, sslmode, ca, cert, key, password_file";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;
    use std::time::Duration;

    #[test]
    fn good() {
        let (_, options) =
            parse("mysql://app:s%40crt@db-1,db-2:3307/jobs?prefix=app_1&timeout=250ms&mode=lease").unwrap();
        assert_eq!(options.instance, "db-1:3306,db-2:3307/jobs");
        assert_eq!((&*options.prefix, options.timeout), ("app_1", Duration::from_millis(250)));
        let (_, options) = parse("mariadb://app@localhost/jobs?socket=/run/mysqld/mysqld.sock").unwrap();
        assert_eq!(options.instance, "/run/mysqld/mysqld.sock/jobs");
    }

    /// As hosted services and the configurations of other drivers have them.
    #[test]
    fn urls_that_people_have() {
        for (url, has_tls) in [
            ("mysql://u:secret@aws.connect.psdb.cloud/d?ssl={\"rejectUnauthorized\":true}", true),
            ("mysql://u:secret@aws.connect.psdb.cloud/d?sslaccept=strict", true),
            ("mysql://avnadmin:secret@m.aivencloud.com:1/d?ssl-mode=REQUIRED", true),
            ("mysql://u:secret@h/d?ssl-mode=VERIFY_IDENTITY&connect_timeout=10", true),
            ("mysql://u@h/d?pool=5&encoding=utf8mb4&reconnect=true", true),
            ("mysql://u@h/d?serverVersion=8.0.32&charset=utf8mb4", true),
            ("mysql://u@h/d?useSSL=false&serverTimezone=UTC&allowPublicKeyRetrieval=true", false),
            ("mysql://u@localhost/d?unix_socket=/run/mysqld/mysqld.sock", false),
        ] {
            let (params, _) = parse(url).unwrap_or_else(|e| panic!("{url}: {e}"));
            assert_eq!(params.servers[0].ssl_opts().is_some(), has_tls, "{url}");
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (url, part) in [
            ("mysql:db", "//"),
            ("mysql://app@db", "database"),
            ("mysql://app@/jobs", "host"),
            ("mysql://app@db:port/jobs", "port"),
            ("mysql://app@db/jobs?timeout=2", "timeout"),
            ("mysql://app@db/jobs?mode=magic", "lease, row, advisory, shedlock"),
            ("mysql://app@db/jobs?table=orders&column=id", "mode=row"),
            ("mysql://app@db/jobs?mode=advisory&table=orders&column=id", "mode=row"),
            ("mysql://app@db/jobs?mode=row&table=orders", "column="),
            ("mysql://app@db/jobs?mode=row&column=id", "table="),
            ("mysql://app@db/jobs?mode=row&table=orders&column=i`d", "column="),
            ("mysql://app@db/jobs?mode=shedlock&column=id", "column="),
            ("mysql://app@db/jobs?mode=row&session_timeout=5ms", "session_timeout="),
            ("mysql://app@db/jobs?mode=shedlock&table=a.b.c", "table="),
            ("mysql://app@db/jobs?mode=shedlock&table=a`b", "table="),
            ("mysql://app@db/jobs?prefix=a`b", "prefix="),
            ("mysql://app@db/jobs?schema=x", "schema"),
            ("mysql://app@db/jobs?connections=0", "connections="),
            ("mysql://app@db/jobs?socket=run/my.sock", "socket="),
            ("mysql://app@db/jobs?ssl-mode=PREFERRED", "write mysql://app:***@db/jobs?sslmode=verify-full"),
            ("mysql://app@db/jobs?ssl={\"rejectUnauthorized\":false}", "sslmode=verify-full"),
            ("mysql://app@db/jobs?sslmode=disable&ca=/dev/null", "sslmode=verify-full"),
            ("mysql://app@db/jobs?ca=/dev/null", "ca="),
            ("mysql://app@db/jobs?password_file=/nowhere", "password_file="),
        ] {
            let parsed = parse(&url.replace("app@", "app:secret@")).map(|(_, options)| options);
            let error = parsed.expect_err(url);
            assert_eq!(error.kind(), ErrorKind::Config, "{url}");
            let text = format!("{error} {error:?}");
            assert!(text.contains(part) && !text.contains("secret"), "{url}: {text}");
        }
    }
}

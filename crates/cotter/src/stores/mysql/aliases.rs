//! What other drivers and hosted services write into the URL of a MySQL server.

use crate::stores::shared::net::{Meaning, is_number, is_of_a_pool};

const VERIFIED: &str = "sslmode=verify-full";

/// cotter verifies the server or goes without TLS: what asks for TLS is followed, what would do without is not.
pub(super) fn meaning(key: &str, value: &str) -> Option<Meaning> {
    use Meaning::{Called, Instead, Nothing, Pair, Seconds};
    Some(match (key, &*value.to_ascii_lowercase().replace('_', "-")) {
        ("sslmode", "disable" | "verify-full") => return None,
        ("sslmode" | "ssl-mode" | "ssl_mode" | "sslMode", mode) => match mode {
            "require" | "required" | "verify-ca" | "verify-identity" | "verify-full" => Pair(VERIFIED),
            "disable" | "disabled" => Pair("sslmode=disable"),
            "prefer" | "preferred" | "allow" => {
                Instead("may go without TLS, and nothing would say so", VERIFIED)
            }
            _ => Instead("does not verify the server", VERIFIED),
        },
        ("ssl" | "useSSL" | "requireSSL", "true" | "1" | r#"{"rejectunauthorized":true}"#) => Pair(VERIFIED),
        ("ssl" | "useSSL" | "requireSSL", "false" | "0") => Pair("sslmode=disable"),
        ("ssl" | "useSSL" | "requireSSL", _) | ("sslaccept", "accept-invalid-certs") => {
            Instead("does not verify the server", VERIFIED)
        }
        // Prisma's `sslcert` is the authority, too.
        ("ssl-ca" | "ssl_ca" | "sslcert" | "serverSslCert", _) => Called("ca"),
        ("ssl-cert" | "ssl_cert", _) => Called("cert"),
        ("ssl-key" | "ssl_key", _) => Called("key"),
        ("unix_socket", _) => Called("socket"),
        ("connect_timeout", seconds) if is_number(seconds) => Seconds("connect_timeout"),
        ("user" | "password", _) => Instead("is not read here: put it before the @ of the URL", ""),
        // Character sets, times and comforts of drivers.
        (
            "collation"
            | "parseTime"
            | "loc"
            | "multiStatements"
            | "timezone"
            | "serverTimezone"
            | "connectionTimeZone"
            | "allowPublicKeyRetrieval"
            | "autoReconnect"
            | "reconnect"
            | "useUnicode"
            | "characterEncoding",
            _,
        ) => Nothing,
        (key, _) if is_of_a_pool(key) => Nothing,
        _ => return None,
    })
}

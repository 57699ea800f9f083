//! What libpq, other drivers and hosted services write into the URL of a PostgreSQL server.

use crate::stores::shared::net::{Meaning, is_number, is_of_a_pool, word};

const VERIFIED: &str = "sslmode=verify-full";

/// cotter verifies the server or goes without TLS: what asks for TLS is followed, what would do without is not.
pub(super) fn meaning(key: &str, value: &str) -> Option<Meaning> {
    use Meaning::{Called, Instead, Nothing, Pair, Seconds};
    Some(match (key, value) {
        ("sslmode" | "ssl-mode", "require" | "verify-ca") | ("ssl-mode", "verify-full") => Pair(VERIFIED),
        ("ssl" | "useSSL", "true" | "1") => Pair(VERIFIED),
        ("ssl-mode", "disable") => Pair("sslmode=disable"),
        ("sslmode" | "ssl-mode", "prefer" | "allow") => {
            Instead("may go without TLS, and nothing would say so", VERIFIED)
        }
        ("sslmode" | "ssl-mode", "no-verify") | ("sslaccept", "accept_invalid_certs") => {
            Instead("does not verify the server", VERIFIED)
        }
        ("ssl" | "useSSL", "false" | "0") => Pair("sslmode=disable"),
        ("ssl" | "useSSL", _) => Instead("does not verify the server", VERIFIED),
        // The authorities of this host are what counts without `ca=`.
        ("sslrootcert", "system") => Nothing,
        ("sslrootcert" | "ssl-root-cert" | "ssl-ca", _) => Called("ca"),
        ("sslcert" | "ssl-cert", _) => Called("cert"),
        ("sslkey" | "ssl-key", _) => Called("key"),
        ("connect_timeout", _) if is_number(value) => Seconds("connect_timeout"),
        ("application_name", _) if word(key, value.to_owned()).is_ok() => Called("client_name"),
        ("application_name", _) => Nothing,
        ("target_session_attrs", "any" | "read-write" | "primary") => Nothing,
        ("target_session_attrs", _) => Instead("leads to a standby, where nothing can be locked", ""),
        ("gssencmode", "disable" | "prefer") => Nothing,
        ("gssencmode", _) => Instead("is not supported", ""),
        ("password" | "passfile", _) => {
            Instead("is not read here: put the password before the @, or name a file with password_file=", "")
        }
        // Prisma's, and of poolers.
        (
            "pgbouncer"
            | "supa"
            | "uselibpqcompat"
            | "sslnegotiation"
            | "sslsni"
            | "fallback_application_name",
            _,
        ) => Nothing,
        (key, _) if key.starts_with("keepalives") || key == "tcp_user_timeout" || is_of_a_pool(key) => {
            Nothing
        }
        _ => return None,
    })
}

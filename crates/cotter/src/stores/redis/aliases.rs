//! What other clients and hosted services write into the URL of a Redis server.

use crate::stores::shared::net::{Meaning, is_of_a_pool};

pub(super) fn meaning(key: &str, value: &str) -> Option<Meaning> {
    use Meaning::{Called, Instead, Nothing};
    Some(match (key, value) {
        ("ssl_cert_reqs", "required" | "CERT_REQUIRED") => Nothing,
        ("ssl_cert_reqs", _) | ("ssl_check_hostname", "false" | "False" | "0") => {
            Instead("does not verify the server; trust its certificate by ca=", "")
        }
        ("ssl_ca_certs" | "ssl_ca_path" | "ssl-ca", _) => Called("ca"),
        ("ssl_certfile", _) => Called("cert"),
        ("ssl_keyfile", _) => Called("key"),
        ("ssl" | "tls", _) => Instead("is not read here: a URL that begins with rediss: has TLS", ""),
        ("password" | "username", _) => Instead("is not read here: put it before the @ of the URL", ""),
        // Comforts of clients.
        (
            "protocol"
            | "family"
            | "decode_responses"
            | "health_check_interval"
            | "socket_connect_timeout"
            | "socket_keepalive"
            | "retry_on_timeout"
            | "max_connections"
            | "ssl_check_hostname",
            _,
        ) => Nothing,
        (key, _) if is_of_a_pool(key) => Nothing,
        _ => return None,
    })
}

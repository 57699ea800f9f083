//! Whose requests are answered, and what a browser may do with the answers.

use axum::extract::Request;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, HOST, HeaderName, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::net::IpAddr;

/// Nothing but what this server has itself: no script in a page, nothing from elsewhere, and no page of others around it.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; form-action 'self'; \
    base-uri 'none'; frame-ancestors 'none'";

const HEADERS: [(HeaderName, &str); 5] = [
    (CONTENT_SECURITY_POLICY, POLICY),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    // Without any, the forms of these pages would not say where they are from.
    (REFERRER_POLICY, "same-origin"),
    (CACHE_CONTROL, "no-store"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

/// Refuses a request that names another host: a page of somebody else whose name leads to this address (DNS rebinding) could
/// read the answer.
pub(crate) async fn shield(request: Request, next: Next) -> Response {
    let mut answer = match is_for_this_host(request.headers()) {
        true => next.run(request).await,
        false => {
            let why = "open it as http://localhost or http://127.0.0.1, with the port that it was started with or forwarded to\n";
            (StatusCode::MISDIRECTED_REQUEST, why).into_response()
        }
    };
    for (name, value) in HEADERS {
        answer.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    answer
}

fn is_for_this_host(headers: &HeaderMap) -> bool {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok());
    host.is_some_and(|host| is_this_host(without_port(host)))
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => host,
    }
}

fn is_this_host(name: &str) -> bool {
    let address = name.trim_start_matches('[').trim_end_matches(']');
    name.eq_ignore_ascii_case("localhost") || address.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_this_host_are_answered() {
        let is_for_us = |host: &'static str| {
            is_for_this_host(&[(HOST, HeaderValue::from_static(host))].into_iter().collect())
        };
        for host in
            ["127.0.0.1:8787", "localhost:9000", "localhost", "[::1]:8787", "127.0.0.2", "LOCALHOST:1"]
        {
            assert!(is_for_us(host), "{host}");
        }
        for host in
            ["evil.example:8787", "localhost.evil.example", "127.0.0.1.evil.example", "192.0.2.1:8787", ""]
        {
            assert!(!is_for_us(host), "violation[a-foreign-name-is-answered] {host}");
        }
        assert!(!is_for_this_host(&HeaderMap::new()));
    }
}

//! What goes wrong in TLS, and what to do about it.

use crate::{Error, ErrorKind};
#[cfg(any(feature = "postgres", feature = "mysql"))]
use crate::{Result, error::config};
#[cfg(any(feature = "redis", feature = "etcd", feature = "zookeeper"))]
use rustls::ClientConfig;
#[cfg(any(feature = "redis", feature = "etcd", feature = "zookeeper"))]
use std::sync::Arc;

/// What errors say of a server whose certificate is one of an authority.
pub(super) const AUTHORITY_AS_SERVER: &str = "CaUsedAsEndEntity";

/// The alerts of TLS that say nothing about the client.
const PASSING_ALERTS: [&str; 3] = ["InternalError", "UserCanceled", "CloseNotify"];

/// The error for a connection that failed because of a certificate, of the server or of this client. `said` is the text of the
/// failure: the drivers have types of their own for it.
pub(crate) fn refused(said: &str) -> Option<Error> {
    if said.contains("invalid peer certificate") {
        return Some(Error::new(ErrorKind::Denied, format!("{said}{}", remedy(said))));
    }
    let (_, alert) = said.split_once("fatal alert: ")?;
    if PASSING_ALERTS.iter().any(|passing| alert.starts_with(passing)) {
        return None;
    }
    let why = match alert.contains("ertificate") || ["UnknownCA", "HandshakeFailure"].contains(&alert) {
        true => "the server does not accept the certificate of this client, or asks for one (cert= and key=)",
        false => "the server refuses TLS with this client",
    };
    Some(Error::new(ErrorKind::Denied, format!("{why}: {said}")))
}

/// What to do about a certificate of a server that is not accepted.
fn remedy(said: &str) -> &'static str {
    let says = |words: &[&str]| words.iter().any(|word| said.contains(word));
    if says(&["not valid for name", "NotValidForName"]) {
        "; the URL has to name the server as its certificate does"
    } else if says(&["xpired"]) {
        "; the server needs a new one, unless the clock of this host is wrong"
    } else if says(&["not valid yet", "NotValidYet"]) {
        "; compare the clock of this host with the server's"
    } else if says(&[AUTHORITY_AS_SERVER]) {
        "; it says that it is one of an authority: trust it by a file with itself in ca= (not for mysql:), or make the server's own \
         with `-addext basicConstraints=critical,CA:FALSE`"
    } else if says(&["UnsupportedCertVersion"]) {
        "; it is of version 1, which has no names: make one of version 3, with `-addext subjectAltName=DNS:…`"
    } else if says(&["UnknownIssuer", "BadSignature"]) {
        "; set ca= to a file with the trusted authorities"
    } else {
        ""
    }
}

/// Whether this value of `sslmode=` asks for TLS. There is none that does not verify the server.
#[cfg(any(feature = "postgres", feature = "mysql"))]
pub(crate) fn verifies(key: &str, mode: &str) -> Result<bool> {
    match mode {
        "verify-full" => Ok(true),
        "disable" => Ok(false),
        _ => {
            let why = "does not verify the server; use verify-full, or disable to go without TLS";
            Err(config(format!("{key}={mode} {why}")))
        }
    }
}

/// Begins TLS on a connection to a host.
#[cfg(any(feature = "redis", feature = "etcd", feature = "zookeeper"))]
pub(crate) async fn begin(
    tls: &Arc<ClientConfig>,
    host: &str,
    stream: tokio::net::TcpStream,
) -> std::io::Result<Box<dyn super::Stream>> {
    let name = rustls::pki_types::ServerName::try_from(host.to_owned()).map_err(std::io::Error::other)?;
    Ok(Box::new(tokio_rustls::TlsConnector::from(tls.clone()).connect(name, stream).await?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As rustls says it.
    #[test]
    fn the_advice_fits_the_failure() {
        for (said, advice) in [
            ("UnknownIssuer", "ca="),
            ("certificate not valid for name \"a\"; certificate is only valid for DnsName(\"b\")", "the URL"),
            (
                "certificate expired: verification time 3 (UNIX), but certificate is not valid after 2",
                "needs a new one",
            ),
            ("certificate not valid yet: verification time 1 (UNIX)", "compare the clock"),
            ("Other(OtherError(CaUsedAsEndEntity))", "ca="),
            ("Other(OtherError(UnsupportedCertVersion))", "subjectAltName"),
        ] {
            let error =
                refused(&format!("invalid peer certificate: {said}")).expect("it is about a certificate");
            let text = error.to_string();
            assert!(error.kind() == ErrorKind::Denied && !error.is_retryable(), "{text}");
            assert!(text.contains(said) && text.contains(advice), "{text}");
            assert_eq!(text.contains("ca="), advice == "ca=", "{text}");
        }
    }

    #[test]
    fn an_alert_about_the_client_is_no_outage() {
        for alert in ["CertificateRequired", "BadCertificate", "UnknownCA", "HandshakeFailure"] {
            let error = refused(&format!("received fatal alert: {alert}")).expect("it is about the client");
            assert!(error.kind() == ErrorKind::Denied && error.to_string().contains("cert="), "{error}");
        }
        let error = refused("received fatal alert: ProtocolVersion").expect("it is about the client");
        assert!(error.kind() == ErrorKind::Denied && !error.to_string().contains("cert="), "{error}");
        for said in ["received fatal alert: InternalError", "connection reset by peer"] {
            assert!(refused(said).is_none(), "{said}");
        }
    }
}

//! TLS configuration.

use super::options::read;
use crate::error::config;
use crate::{Error, Result};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};
use std::fmt;
use std::sync::Arc;

/// The contents of the files of `ca=`, `cert=` and `key=`.
#[derive(Default)]
pub(crate) struct Certificates {
    pub(crate) ca: Option<Vec<u8>>,
    pub(crate) cert: Option<Vec<u8>>,
    pub(crate) key: Option<Vec<u8>>,
}

impl Certificates {
    /// Reads the file of `ca=`, `cert=` or `key=`.
    pub(crate) fn read(&mut self, key: &str, path: &str) -> Result<()> {
        let bytes = Some(read(key, path)?);
        match key {
            "ca" => self.ca = bytes,
            "cert" => self.cert = bytes,
            _ => self.key = bytes,
        }
        Ok(())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.ca.is_none() && self.cert.is_none() && self.key.is_none()
    }

    /// Uses the crypto provider that the application has installed. If it has installed none, *ring* is used for these
    /// connections only: the process-wide provider is the application's choice.
    pub(crate) fn config(&self) -> Result<Arc<ClientConfig>> {
        let provider =
            CryptoProvider::get_default().cloned().unwrap_or_else(|| Arc::new(ring::default_provider()));
        let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let builder = builder.map_err(unusable)?.with_root_certificates(self.authorities()?);
        let config = match (&self.cert, &self.key) {
            (Some(cert), Some(key)) => {
                let chain: Vec<_> = CertificateDer::pem_slice_iter(cert)
                    .collect::<Result<_, _>>()
                    .map_err(|e| config(format!("the file of cert= is not PEM: {e}")))?;
                let key = PrivateKeyDer::from_pem_slice(key)
                    .map_err(|e| config(format!("the file of key= contains no PEM key: {e}")))?;
                builder.with_client_auth_cert(chain, key).map_err(unusable)?
            }
            (None, None) => builder.with_no_client_auth(),
            _ => return Err(config("cert= and key= must be given together")),
        };
        Ok(Arc::new(config))
    }

    fn authorities(&self) -> Result<RootCertStore> {
        let mut store = RootCertStore::empty();
        let Some(ca) = &self.ca else {
            // Certificates that cannot be read are skipped.
            let native = rustls_native_certs::load_native_certs();
            store.add_parsable_certificates(native.certs);
            return Ok(store);
        };
        for certificate in CertificateDer::pem_slice_iter(ca) {
            let certificate = certificate.map_err(|e| config(format!("the file of ca= is not PEM: {e}")))?;
            store.add(certificate).map_err(unusable)?;
        }
        if store.is_empty() {
            return Err(config("the file of ca= contains no certificate"));
        }
        Ok(store)
    }
}

/// The drivers' messages when the server has ended a TLS session because of its client's certificate, or for want of one.
#[cfg(any(feature = "postgres", feature = "mysql"))]
pub(crate) const TURNED_AWAY: &str = "fatal alert";

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

/// Connects to a host, with TLS if it is configured.
#[cfg(any(feature = "etcd", feature = "zookeeper"))]
pub(crate) async fn connect_with(
    tls: Option<&Arc<ClientConfig>>,
    host: &str,
    port: u16,
) -> std::io::Result<Box<dyn super::Stream>> {
    let stream = super::connect(host, port).await?;
    let Some(tls) = tls else { return Ok(Box::new(stream)) };
    let name = rustls::pki_types::ServerName::try_from(host.to_owned()).map_err(std::io::Error::other)?;
    Ok(Box::new(tokio_rustls::TlsConnector::from(tls.clone()).connect(name, stream).await?))
}

/// Returns the error for a server whose certificate is not trusted, if that is why it was not connected to. It is worth another
/// try as long as there are other members: theirs may be better.
#[cfg(any(feature = "etcd", feature = "zookeeper"))]
pub(crate) fn untrusted(e: &std::io::Error) -> Option<Error> {
    let rejected = e.get_ref()?.downcast_ref::<rustls::Error>()?;
    if !matches!(rejected, rustls::Error::InvalidCertificate(_)) {
        return None;
    }
    let why = format!("{rejected}; set ca= to a file with the trusted authorities");
    Some(Error::new(crate::ErrorKind::Denied, why).with_retryable(true))
}

fn unusable(e: impl fmt::Display) -> Error {
    config(format!("the certificates cannot be used: {e}"))
}

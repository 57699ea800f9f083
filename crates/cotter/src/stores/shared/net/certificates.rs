//! The certificates of connections, from files or from memory.

use super::named::Named;
use super::options::read;
use crate::error::config;
use crate::{Error, Result};
use rustls::client::WebPkiServerVerifier;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};
use std::fmt;
use std::sync::Arc;

/// The contents of the files of `ca=`, `cert=` and `key=`, or what was passed in their place.
#[derive(Clone, Default)]
pub(crate) struct Certificates {
    pub(crate) ca: Option<Vec<u8>>,
    pub(crate) cert: Option<Vec<u8>>,
    pub(crate) key: Option<Vec<u8>>,
    /// They are not from files.
    pub(super) is_passed: bool,
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

    /// What errors call one of them.
    fn what(&self, key: &str) -> String {
        match (self.is_passed, key) {
            (false, _) => format!("the file of {key}="),
            (true, "ca") => "what was passed to with_ca".to_owned(),
            (true, "cert") => "the certificate that was passed to with_identity".to_owned(),
            (true, _) => "the key that was passed to with_identity".to_owned(),
        }
    }

    /// Uses the crypto provider that the application has installed. If it has installed none, *ring* is used for these
    /// connections only: the process-wide provider is the application's choice.
    pub(crate) fn config(&self) -> Result<Arc<ClientConfig>> {
        let provider =
            CryptoProvider::get_default().cloned().unwrap_or_else(|| Arc::new(ring::default_provider()));
        let builder =
            ClientConfig::builder_with_provider(provider.clone()).with_safe_default_protocol_versions();
        let (builder, authorities) = (builder.map_err(unusable)?, self.authorities()?);
        let builder = if self.ca.is_none() {
            builder.with_root_certificates(authorities)
        } else {
            let verifier =
                WebPkiServerVerifier::builder_with_provider(Arc::new(authorities), provider).build();
            let verifier = Named { authorities: verifier.map_err(unusable)?, certificates: self.named() };
            // What it adds is not dangerous: certificates that the user has named, byte by byte.
            builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier))
        };
        let config = match (&self.cert, &self.key) {
            (Some(cert), Some(key)) => {
                let (chain, key) = (self.certificates("cert", cert)?, self.private_key(key)?);
                builder.with_client_auth_cert(chain, key).map_err(|e| self.mismatch(e))?
            }
            (None, None) => builder.with_no_client_auth(),
            _ => return Err(config("cert= and key= must be given together")),
        };
        Ok(Arc::new(config))
    }

    /// The certificates of a file, at least one.
    fn certificates(&self, key: &str, pem: &[u8]) -> Result<Vec<CertificateDer<'static>>> {
        let all: Vec<_> = CertificateDer::pem_slice_iter(pem)
            .collect::<Result<_, _>>()
            .map_err(|_| config(format!("{} is not PEM, or its line breaks are missing", self.what(key))))?;
        match all.is_empty() {
            true => Err(config(format!("{} contains no certificate in PEM", self.what(key)))),
            false => Ok(all),
        }
    }

    /// What cannot be read is not repeated: a key whose line breaks are missing is one line.
    fn private_key(&self, pem: &[u8]) -> Result<PrivateKeyDer<'static>> {
        PrivateKeyDer::from_pem_slice(pem).map_err(|_| {
            let why = "contains no PEM key, which is PRIVATE KEY between its first and its last line";
            config(format!("{} {why}", self.what("key")))
        })
    }

    fn mismatch(&self, e: rustls::Error) -> Error {
        match e {
            rustls::Error::InconsistentKeys(_) => {
                config(format!("{} does not belong to {}", self.what("key"), self.what("cert")))
            }
            e => unusable(e),
        }
    }

    /// The certificates of the file of `ca=`.
    fn named(&self) -> Vec<CertificateDer<'static>> {
        let named = self.ca.iter().flat_map(|ca| CertificateDer::pem_slice_iter(ca));
        named.filter_map(Result::ok).collect()
    }

    fn authorities(&self) -> Result<RootCertStore> {
        let mut store = RootCertStore::empty();
        let Some(ca) = &self.ca else {
            // Certificates that cannot be read are skipped.
            let native = rustls_native_certs::load_native_certs();
            store.add_parsable_certificates(native.certs);
            return Ok(store);
        };
        for certificate in self.certificates("ca", ca)? {
            store.add(certificate).map_err(unusable)?;
        }
        Ok(store)
    }
}

fn unusable(e: impl fmt::Display) -> Error {
    config(format!("the certificates cannot be used: {e}"))
}

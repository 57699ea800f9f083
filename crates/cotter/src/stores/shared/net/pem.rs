//! Certificates that an application passes to stores in code.

use super::Certificates;
use std::fmt;

/// Certificates for the connections of a store, as PEM in memory: for secrets that are no files. Each store with a server has
/// `with_tls` for them, in place of the options `ca`, `cert` and `key` of its URL.
///
/// They are checked by `with_tls`, whose errors name what is wrong. Servers are always verified.
///
/// ```no_run
/// # fn secret(_: &str) -> String { String::new() }
/// # fn main() -> cotter::Result<()> {
/// # #[cfg(feature = "etcd")] {
/// use cotter::{Tls, etcd::Store};
///
/// let tls = Tls::new().with_ca(secret("ca")).with_identity(secret("certificate"), secret("key"));
/// let store = Store::from_url("etcd://etcd-0,etcd-1,etcd-2")?.with_tls(&tls)?;
/// # }
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Tls(pub(crate) Certificates);

impl Tls {
    /// Trusts the authorities of the system, and has no certificate for this client.
    pub fn new() -> Self {
        Self(Certificates { is_passed: true, ..Certificates::default() })
    }

    /// Trusts these certificates of authorities instead of the system's, or the server's own certificate: one or more in PEM; `ca`
    /// in a URL.
    #[must_use]
    pub fn with_ca(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.0.ca = Some(pem.into());
        self
    }

    /// Shows this certificate to servers that ask for one: PEM, with those between it and its authority after it, and its private
    /// key in PEM; `cert` and `key` in a URL.
    #[must_use]
    pub fn with_identity(mut self, certificate: impl Into<Vec<u8>>, key: impl Into<Vec<u8>>) -> Self {
        (self.0.cert, self.0.key) = (Some(certificate.into()), Some(key.into()));
        self
    }
}

impl Default for Tls {
    fn default() -> Self {
        Self::new()
    }
}

/// Shows what there is, and no key.
impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Certificates { ca, cert, .. } = &self.0;
        f.debug_struct("Tls")
            .field("ca", &ca.is_some())
            .field("identity", &cert.is_some())
            .finish_non_exhaustive()
    }
}

//! An authority that signs certificates for tests of TLS.

use cotter::{Client, ErrorKind};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use std::path::PathBuf;
use tempfile::TempDir;

/// Files of an authority, and of what it has signed.
pub(crate) struct Authority {
    folder: TempDir,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        std::fs::write(folder.path().join("ca.pem"), params.self_signed(&key).unwrap().pem()).unwrap();
        Self { folder, issuer: Issuer::new(params, key) }
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn ca(&self) -> String {
        format!("ca={}", self.file("ca.pem").display())
    }

    /// Certificate and key for somebody of this name.
    pub(crate) fn signs(&self, name: &str) -> [PathBuf; 2] {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        let cert = params.signed_by(&key, &self.issuer).unwrap();
        let files = ["pem", "key"].map(|kind| self.file(&format!("{name}.{kind}")));
        for (file, text) in files.iter().zip([cert.pem(), key.serialize_pem()]) {
            std::fs::write(file, text).unwrap();
        }
        files
    }
}

/// Asserts that a server whose certificate is not trusted is not spoken to, and that the error says so.
pub(crate) async fn is_not_trusted(url: &str, why: &str) {
    let error = Client::connect(url).await.unwrap_err();
    assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Denied, false), "{why}: {error}");
    let text = error.to_string();
    assert!(text.contains("certificate") && text.contains("ca=") && !text.contains('\n'), "{why}: {text}");
}

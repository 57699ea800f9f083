//! An authority that signs certificates for tests of TLS.

use cotter::{Client, ErrorKind};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};
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
        self.writes(name, CertificateParams::new(vec![name.to_owned()]).unwrap())
    }

    /// A certificate that is out of date, and its key.
    pub(crate) fn signed_long_ago(&self, name: &str) -> [PathBuf; 2] {
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        params.not_before = date_time_ymd(2020, 1, 1);
        params.not_after = date_time_ymd(2021, 1, 1);
        self.writes(name, params)
    }

    /// A certificate that this server has signed itself, as `openssl req -x509` makes it, and its key. `ends`: the year.
    pub(crate) fn by_itself(&self, name: &str, ends: i32) -> [PathBuf; 2] {
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.not_before = date_time_ymd(2020, 1, 1);
        params.not_after = date_time_ymd(ends, 1, 1);
        let key = KeyPair::generate().unwrap();
        let files = ["pem", "key"].map(|kind| self.file(&format!("itself-{ends}.{kind}")));
        let cert = params.self_signed(&key).unwrap();
        for (file, text) in files.iter().zip([cert.pem(), key.serialize_pem()]) {
            std::fs::write(file, text).unwrap();
        }
        files
    }

    fn writes(&self, name: &str, mut params: CertificateParams) -> [PathBuf; 2] {
        let key = KeyPair::generate().unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        let cert = params.signed_by(&key, &self.issuer).unwrap();
        let files = ["pem", "key"].map(|kind| self.file(&format!("{name}.{kind}")));
        for (file, text) in files.iter().zip([cert.pem(), key.serialize_pem()]) {
            std::fs::write(file, text).unwrap();
        }
        files
    }
}

/// The remedies for an authority that is not trusted, for another name, and for a certificate that is out of date.
pub(crate) const TRUST_IT: &str = "ca=";
pub(crate) const NAME_IT: &str = "the URL has to name the server";
pub(crate) const RENEW_IT: &str = "the server needs a new one";

/// Asserts that a server whose certificate is not trusted is not spoken to, and that the error says so, and what to do.
pub(crate) async fn is_not_trusted(url: &str, why: &str, remedy: &str) {
    let error = Client::connect(url).await.unwrap_err();
    assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Denied, false), "{why}: {error}");
    let text = error.to_string();
    assert!(text.contains("certificate") && text.contains(remedy) && !text.contains('\n'), "{why}: {text}");
    assert_eq!(text.contains(TRUST_IT), remedy == TRUST_IT, "{why}: {text}");
}

/// Asserts that the error for a URL that begins TLS where there is none, or does not where there is, says what to do.
pub(crate) async fn speaks_otherwise(url: &str, remedy: &str) {
    let error = Client::connect(url).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    assert!(error.to_string().contains("TLS") && error.to_string().contains(remedy), "{error}");
}

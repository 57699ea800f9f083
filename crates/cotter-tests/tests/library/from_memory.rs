//! Certificates that an application passes in code.

use crate::authority::Authority;
use cotter::{Client, Error, ErrorKind, Tls};
use std::fs;
use std::path::PathBuf;

fn pem(file: &PathBuf) -> Vec<u8> {
    fs::read(file).unwrap()
}

/// A server of this authority that asks for certificates is connected to with the same as in files, and with no others; what is
/// wrong with them is told, and no key repeated.
pub(crate) async fn certificates_are_those_of_files(
    authority: &Authority,
    connect: impl AsyncFn(&Tls) -> Result<Client, Error>,
) {
    let stranger = Authority::new();
    let ca = pem(&authority.file("ca.pem"));
    let [cert, key] = authority.signs("app").map(|file| pem(&file));
    let [_, strange_key] = stranger.signs("app").map(|file| pem(&file));
    let ours = Tls::new().with_ca(ca.clone());
    let client = connect(&ours.clone().with_identity(cert.clone(), key.clone())).await.unwrap();
    client.mutex("a").lock().await.unwrap().finish().await.unwrap();

    let theirs = Tls::new().with_ca(pem(&stranger.file("ca.pem")));
    for tls in [theirs.with_identity(cert.clone(), key.clone()), ours.clone()] {
        let error = connect(&tls).await.unwrap_err();
        assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Denied, false), "{tls:?}: {error}");
    }
    let one_line = String::from_utf8(key.clone()).unwrap().replace('\n', " ").into_bytes();
    for (tls, why) in [
        (Tls::new().with_ca("no PEM"), "with_ca contains no certificate"),
        (ours.clone().with_identity("", key.clone()), "with_identity contains no certificate"),
        (ours.clone().with_identity(cert.clone(), cert.clone()), "with_identity contains no PEM key"),
        (ours.clone().with_identity(cert.clone(), one_line), "with_identity contains no PEM key"),
        (ours.clone().with_identity(cert, strange_key), "does not belong to the certificate"),
    ] {
        let error = connect(&tls).await.unwrap_err();
        assert!(error.kind() == ErrorKind::Config && error.to_string().contains(why), "{why}: {error}");
        let key = String::from_utf8(key.clone()).unwrap();
        let secret = key.lines().nth(1).expect("a line of the key");
        assert!(!format!("{error:?} {tls:?}").contains(secret), "{error:?}");
    }
}

//! Logging in to a database server: certificates of clients, passwords from files, and the settings of an application's own
//! driver.

use crate::authority::Authority;
use cotter::{Client, Error, ErrorKind};
use cotter_testkit::history::{Kind, demand};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The options of stores on the table `orders`, with a row 7, and on ShedLock's.
pub(crate) const ALL_MODES: [&str; 5] =
    ["", "mode=row", "mode=row&table=orders&column=id", "mode=advisory", "mode=shedlock"];

/// A server that asks for a certificate of this authority gets it, and turns away whoever has none, or one of another.
/// `url` verifies the server, and has these options too.
pub(crate) async fn a_certificate_is_asked_for(authority: &Authority, url: impl Fn(&str) -> String) {
    let stranger = Authority::new();
    let with = |[cert, key]: [PathBuf; 2]| {
        url(&format!("{}&cert={}&key={}", authority.ca(), cert.display(), key.display()))
    };
    let client = Client::connect(with(authority.signs("app"))).await.unwrap();
    let guard = client.mutex("a").lock().await.unwrap();
    let other = Client::connect(with(authority.signs("app"))).await.unwrap();
    let waiting = tokio::spawn(async move { other.mutex("a").lock().await.unwrap().finish().await.unwrap() });
    tokio::time::sleep(Duration::from_millis(300)).await;
    guard.finish().await.unwrap();
    waiting.await.unwrap();
    for (url, who) in [
        (url(&authority.ca()), "without a certificate"),
        (with(stranger.signs("app")), "with one of another authority"),
    ] {
        let error = Client::connect(&url).await.unwrap_err();
        assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Denied, false), "{who}: {error}");
    }
    let half = format!("{}&cert={}", authority.ca(), authority.signs("app")[0].display());
    let error = Client::connect(url(&half)).await.unwrap_err();
    assert!(error.kind() == ErrorKind::Config && error.to_string().contains("key="), "{error}");
}

/// The password is read from a file, whose last line break is none of it, and stands in no error.
pub(crate) async fn a_password_is_read_from_a_file(url: impl Fn(&Path) -> String) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("password");
    let url = url(&file);
    let (wrong, none) = (Some(ErrorKind::Denied), Some(ErrorKind::Config));
    for (password, refused) in [("secret\n", None), ("secret\r\n", None), ("not-secret\n", wrong), ("", none)]
    {
        fs::write(&file, password).unwrap();
        match (Client::connect(&url).await, refused) {
            (Ok(client), None) => {
                client.mutex("by-file").lock().await.unwrap().finish().await.unwrap();
            }
            (Err(error), Some(kind)) => {
                assert_eq!((error.kind(), error.is_retryable()), (kind, false), "{error}");
                assert!(!format!("{error:?}").contains("not-secret"), "{error:?}");
            }
            (other, _) => panic!("{password:?}: {other:?}"),
        }
    }
    fs::remove_file(&file).unwrap();
    let error = Client::connect(&url).await.unwrap_err();
    assert!(error.kind() == ErrorKind::Config && error.to_string().contains("password_file="), "{error}");
}

/// The locks of a store on an application's settings are those of a URL with the same options.
pub(crate) async fn they_share_locks(by_settings: &Client, by_url: &Client, options: &str) {
    assert_eq!(by_settings.info().instance, by_url.info().instance);
    let guard = by_settings.mutex("7").lock().await.unwrap();
    let taken = by_url.mutex("7").try_lock().await.unwrap();
    demand(taken.is_none(), Kind::Overlap, format!("{options}: it is held"));
    guard.finish().await.unwrap();
    by_url.mutex("7").lock().await.unwrap().finish().await.unwrap();
}

/// Each of these options is refused with an error that contains the text beside it.
pub(crate) fn are_refused<T: std::fmt::Debug>(
    change: impl Fn(&str) -> Result<T, Error>,
    options: &[(&str, &str)],
) {
    for (options, said) in options {
        let error = change(options).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Config, "{options}: {error}");
        assert!(error.to_string().contains(said), "{options}: {error}");
    }
}

//! `rediss://`, with certificates made for the test.

use super::setup::{client, eventually, queued};
use crate::authority::{Authority, NAME_IT, RENEW_IT, TRUST_IT, is_not_trusted, speaks_otherwise};
use crate::from_memory;
use crate::logins::a_certificate_is_asked_for;
use cotter::redis::Store;
use cotter::{Client, ErrorKind};
use cotter_testkit::in_own_process;
use cotter_testkit::servers::{Redis, free_port};
use std::path::{Path, PathBuf};
use std::time::Duration;

const TTL: Duration = Duration::from_secs(10);

struct Secure {
    server: Redis,
    port: u16,
}

/// A server that says it is `name`.
fn serve(authority: &Authority, name: &str, asks_clients: bool) -> Secure {
    serve_with(authority, authority.signs(name), asks_clients)
}

fn serve_with(authority: &Authority, [cert, key]: [PathBuf; 2], asks_clients: bool) -> Secure {
    let text = |path: &Path| path.display().to_string();
    let port = free_port();
    let builder = Redis::builder()
        .with("tls-port", &port.to_string())
        .with("tls-cert-file", &text(&cert))
        .with("tls-key-file", &text(&key))
        .with("tls-ca-cert-file", &text(&authority.file("ca.pem")))
        .with("tls-auth-clients", if asks_clients { "yes" } else { "no" });
    Secure { server: builder.start(), port }
}

impl Secure {
    fn url(&self, options: &str) -> String {
        let plain = format!("127.0.0.1:{}", self.server.port());
        let secure = format!("127.0.0.1:{}", self.port);
        self.server.url(options).replace("redis:", "rediss:").replace(&plain, &secure)
    }
}

/// The usual certificate of a server without an authority says that it is one, and is trusted where it is named itself.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn a_certificate_that_is_named_itself_is_trusted() {
    let authority = Authority::new();
    let own = authority.by_itself("127.0.0.1", 2099);
    let ca = |own: &[PathBuf; 2]| format!("ca={}", own[0].display());
    let secure = serve_with(&authority, own.clone(), false);
    client(&secure.url(&ca(&own)), TTL).await.mutex("a").lock().await.unwrap().finish().await.unwrap();
    // Another one of the same name, another name, and one that is out of date.
    let another = Authority::new();
    let stranger = another.by_itself("127.0.0.1", 2099);
    let elsewhere = authority.by_itself("elsewhere.example", 2098);
    let old = authority.by_itself("127.0.0.1", 2021);
    for (of_server, named, advice) in
        [(stranger, own, TRUST_IT), (elsewhere.clone(), elsewhere, NAME_IT), (old.clone(), old, RENEW_IT)]
    {
        let secure = serve_with(&authority, of_server, false);
        let error = Client::connect(secure.url(&ca(&named))).await.unwrap_err();
        assert!(error.kind() == ErrorKind::Denied && error.to_string().contains(advice), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn the_lock_is_handed_over_through_tls() {
    let authority = Authority::new();
    let secure = serve(&authority, "127.0.0.1", false);
    let url = secure.url(&authority.ca());
    let (one, other) = (client(&url, TTL).await, client(&url, TTL).await);
    let guard = one.mutex("a").lock().await.unwrap();
    let waiting = tokio::spawn(other.mutex("a").lock());
    eventually("it waits", || queued(&secure.server, "a") == 1).await;
    guard.finish().await.unwrap();
    waiting.await.unwrap().unwrap().finish().await.unwrap();
}

#[tokio::test]
#[ignore = "needs redis-server"]
async fn whom_nobody_vouches_for_is_not_spoken_to() {
    let (authority, stranger) = (Authority::new(), Authority::new());
    let secure = serve(&authority, "127.0.0.1", false);
    let other_name = serve(&authority, "elsewhere.example", false);
    let expired = serve_with(&authority, authority.signed_long_ago("127.0.0.1"), false);
    for (url, why, remedy) in [
        (secure.url(&stranger.ca()), "another authority", TRUST_IT),
        (secure.url(""), "the system's authorities", TRUST_IT),
        (other_name.url(&authority.ca()), "another name", NAME_IT),
        (expired.url(&authority.ca()), "out of date", RENEW_IT),
    ] {
        is_not_trusted(&url, why, remedy).await;
    }
}

#[tokio::test]
#[ignore = "needs redis-server"]
async fn a_port_without_tls_and_a_url_with_it_are_told_apart() {
    let authority = Authority::new();
    let secure = serve(&authority, "127.0.0.1", false);
    let (encrypted, plain) =
        (format!("127.0.0.1:{}", secure.port), format!("127.0.0.1:{}", secure.server.port()));
    speaks_otherwise(&format!("redis://{encrypted}"), "rediss:").await;
    // A server that reads no line end in the handshake waits for one.
    let hasty = format!("rediss://{plain}?{}&connect_timeout=500ms", authority.ca());
    speaks_otherwise(&hasty, "begin with redis:").await;
}

#[tokio::test]
#[ignore = "needs redis-server"]
async fn a_server_may_ask_for_a_certificate() {
    let authority = Authority::new();
    let secure = serve(&authority, "127.0.0.1", true);
    a_certificate_is_asked_for(&authority, |options| secure.url(options)).await;
}

#[tokio::test]
#[ignore = "needs redis-server"]
async fn certificates_from_memory_are_those_of_files() {
    let authority = Authority::new();
    let secure = serve(&authority, "127.0.0.1", true);
    let connect = async |tls: &cotter::Tls| {
        Client::builder().connect_to(Store::from_url(secure.url(""))?.with_tls(tls)?).await
    };
    from_memory::certificates_are_those_of_files(&authority, connect).await;
    for plain in ["redis://h", "redis+sentinel://h/s", "redis+cluster://h", "unix:///s"] {
        let error = Store::from_url(plain).unwrap().with_tls(&cotter::Tls::new()).unwrap_err();
        assert!(
            error.kind() == ErrorKind::Config && error.to_string().contains("rediss:"),
            "{plain}: {error}"
        );
    }
    for secure in ["rediss+sentinel://h/s", "rediss+cluster://h"] {
        Store::from_url(secure).unwrap().with_tls(&cotter::Tls::new()).unwrap();
    }
}

/// Which provider its process has is the application's to choose, before the first connection or after it.
#[test]
#[ignore = "needs redis-server"]
fn the_provider_of_the_process_is_left_to_the_application() {
    let runtime = || tokio::runtime::Runtime::new().unwrap();
    in_own_process(
        "redis::tls::the_provider_of_the_process_is_left_to_the_application",
        |_| (),
        || runtime().block_on(first_without_a_provider_then_with_one()),
    );
}

async fn first_without_a_provider_then_with_one() {
    let authority = Authority::new();
    let secure = serve(&authority, "127.0.0.1", false);
    let address = redis::ConnectionAddr::TcpTls {
        host: "127.0.0.1".into(),
        port: secure.port,
        insecure: false,
        tls_params: None,
    };
    let info = redis::IntoConnectionInfo::into_connection_info(address).unwrap();
    let theirs = || cotter::redis::Store::from_client(redis::Client::open(info.clone()).unwrap());
    let url = secure.url(&authority.ca());
    client(&url, TTL).await.mutex("a").lock().await.unwrap().finish().await.unwrap();
    // The driver would panic without one.
    let error = Client::builder().connect_to(theirs()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config, "{error}");
    assert!(error.to_string().contains("install_default"), "{error}");
    rustls::crypto::ring::default_provider().install_default().expect("nobody has installed one");
    client(&url, TTL).await.mutex("a").lock().await.unwrap().finish().await.unwrap();
    let error = Client::builder().connect_to(theirs()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Denied, "the system does not trust this server: {error}");
}

#[tokio::test]
async fn a_file_that_is_not_there_is_named() {
    let error = Client::connect("rediss://127.0.0.1:1?ca=/nowhere/ca.pem").await.unwrap_err();
    assert!(error.kind() == ErrorKind::Config && error.to_string().contains("/nowhere/ca.pem"), "{error}");
}

//! TLS with certificates on both sides, and users with passwords, on a real server.

use crate::authority::{Authority, NAME_IT, TRUST_IT, is_not_trusted, speaks_otherwise};
use crate::from_memory::certificates_are_those_of_files;
use crate::logins::a_certificate_is_asked_for;
use cotter::{Client, ErrorKind};
use cotter_testkit::bare::client;
use cotter_testkit::servers::{Etcd, free_port};
use std::path::Path;
use std::time::Duration;

const TTL: Duration = Duration::from_secs(10);

struct Secure {
    server: Etcd,
    port: u16,
}

/// A server that says it is `name`, beside its usual port on one for TLS.
fn serve(authority: &Authority, name: &str, asks_clients: bool) -> Secure {
    let [cert, key] = authority.signs(name);
    let text = |path: &Path| path.display().to_string();
    let port = free_port();
    let asks = format!("--client-cert-auth={asks_clients}");
    let args = [
        "--cert-file",
        &text(&cert),
        "--key-file",
        &text(&key),
        "--trusted-ca-file",
        &text(&authority.file("ca.pem")),
        &asks,
    ];
    Secure { server: Etcd::with_tls(port, &args), port }
}

impl Secure {
    fn url(&self, user: &str, options: &str) -> String {
        format!("etcd://{user}127.0.0.1:{}?tls=yes&{options}", self.port)
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs etcd"]
async fn certificates_and_a_password_are_asked_for() {
    let authority = Authority::new();
    let secure = serve(&authority, "127.0.0.1", true);
    secure.server.ctl(&["user", "add", "guest:guest"]);
    secure.server.require_logins();
    let [cert, key] = authority.signs("client.example");
    let options = format!("{}&cert={}&key={}", authority.ca(), cert.display(), key.display());

    a_certificate_is_asked_for(&authority, |options| secure.url("app:s3cret@", options)).await;
    let error = Client::connect(secure.url("app:wr0ng@", &options)).await.unwrap_err();
    assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Denied, false), "{error}");
    assert!(!error.to_string().contains("wr0ng"), "{error}");

    let url = secure.url("app:s3cret@", &options);
    let (one, other) = (client(&url, TTL).await, client(&url, TTL).await);
    let guard = one.mutex("a").lock().await.unwrap();
    let waiting = tokio::spawn(other.mutex("a").lock());
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert!(!waiting.is_finished());
    guard.finish().await.unwrap();
    waiting.await.unwrap().unwrap().finish().await.unwrap();

    let guest = client(&secure.url("guest:guest@", &options), TTL).await;
    let error = guest.mutex("a").try_lock().await.unwrap_err();
    assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Denied, false), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs etcd"]
async fn certificates_from_memory_are_those_of_files() {
    let authority = Authority::new();
    let secure = serve(&authority, "127.0.0.1", true);
    // They turn TLS on.
    let url = format!("etcd://127.0.0.1:{}", secure.port);
    let connect = async |tls: &cotter::Tls| {
        Client::builder().connect_to(cotter::etcd::Store::from_url(&url)?.with_tls(tls)?).await
    };
    certificates_are_those_of_files(&authority, connect).await;
}

#[tokio::test]
#[ignore = "needs etcd"]
async fn whom_nobody_vouches_for_is_not_spoken_to() {
    let (authority, stranger) = (Authority::new(), Authority::new());
    let secure = serve(&authority, "elsewhere.example", false);
    for (options, why, remedy) in [
        (stranger.ca(), "another authority", TRUST_IT),
        (String::new(), "the system's authorities", TRUST_IT),
        (authority.ca(), "another name", NAME_IT),
    ] {
        is_not_trusted(&secure.url("", &options), why, remedy).await;
    }
    speaks_otherwise(&format!("etcd://127.0.0.1:{}", secure.port), "set tls=yes").await;
    speaks_otherwise(&secure.server.url(&format!("tls=yes&{}", authority.ca())), "leave out tls=yes").await;
}

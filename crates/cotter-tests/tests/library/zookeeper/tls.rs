//! TLS, with certificates made for the test.

use crate::authority::{Authority, NAME_IT, TRUST_IT, is_not_trusted, speaks_otherwise};
use crate::from_memory::certificates_are_those_of_files;
use crate::logins::a_certificate_is_asked_for;
use cotter::Client;
use cotter::zookeeper::Store;
use cotter_testkit::bare::client;
use cotter_testkit::servers::{ZooKeeper, free_port};
use cotter_testkit::timing::eventually;
use std::fs;
use std::net::TcpStream;
use std::path::Path;
use std::time::{Duration, Instant};

const TTL: Duration = Duration::from_secs(10);

struct Secure {
    server: ZooKeeper,
    port: u16,
}

/// A server that says it is `name`, beside its usual port on one for TLS.
fn serve(authority: &Authority, name: &str, asks_clients: bool) -> Secure {
    let [cert, key] = authority.signs(name);
    let both = authority.file(&format!("{name}.both.pem"));
    let read = |path: &Path| fs::read_to_string(path).unwrap();
    fs::write(&both, read(&key) + &read(&cert)).unwrap();
    let port = free_port();
    let lines = format!(
        "secureClientPort={port}\nsecureClientPortAddress=127.0.0.1\n\
         serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory\n\
         ssl.keyStore.type=PEM\nssl.keyStore.location={}\nssl.trustStore.type=PEM\nssl.trustStore.location={}\n\
         ssl.clientAuth={}\n",
        both.display(),
        authority.file("ca.pem").display(),
        if asks_clients { "need" } else { "none" },
    );
    let server = ZooKeeper::with_settings(1, &lines, &[]);
    // It opens this port after the other one.
    let end = Instant::now() + TTL;
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(Instant::now() < end, "it does not listen for TLS");
        std::thread::sleep(Duration::from_millis(20));
    }
    Secure { server, port }
}

impl Secure {
    fn url(&self, options: &str) -> String {
        format!("zookeeper://127.0.0.1:{}?session=10s&connect_timeout=20s&tls=yes&{options}", self.port)
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs zookeeper"]
async fn the_lock_is_handed_over_through_tls() {
    let authority = Authority::new();
    let secure = serve(&authority, "127.0.0.1", true);
    a_certificate_is_asked_for(&authority, |options| secure.url(options)).await;
    let connect = async |tls: &cotter::Tls| {
        // They turn TLS on.
        let url = secure.url("").replace("&tls=yes", "");
        Client::builder().connect_to(Store::from_url(url)?.with_tls(tls)?).await
    };
    certificates_are_those_of_files(&authority, connect).await;
    let [cert, key] = authority.signs("client.example");
    let url = secure.url(&format!("{}&cert={}&key={}", authority.ca(), cert.display(), key.display()));
    let (one, other) = (client(&url, TTL).await, client(&url, TTL).await);
    let guard = one.mutex("a").lock().await.unwrap();
    let waiting = tokio::spawn(other.mutex("a").lock());
    eventually("it waits", || super::places(&secure.server, "a").len() == 2).await;
    guard.finish().await.unwrap();
    waiting.await.unwrap().unwrap().finish().await.unwrap();
}

#[tokio::test]
#[ignore = "needs zookeeper"]
async fn whom_nobody_vouches_for_is_not_spoken_to() {
    let (authority, stranger) = (Authority::new(), Authority::new());
    let secure = serve(&authority, "elsewhere.example", false);
    for (url, why, remedy) in [
        (secure.url(&stranger.ca()), "another authority", TRUST_IT),
        (secure.url(""), "the system's authorities", TRUST_IT),
        (secure.url(&authority.ca()), "another name", NAME_IT),
    ] {
        is_not_trusted(&url, why, remedy).await;
    }
    let plain = secure.url("").replace("tls=yes&", "");
    speaks_otherwise(&plain, "set tls=yes").await;
    speaks_otherwise(&secure.server.url(&format!("tls=yes&{}", authority.ca())), "leave out tls=yes").await;
    // Another member may have a better one, whichever is asked first.
    let trusted = serve(&authority, "127.0.0.1", false);
    let both = format!("zookeeper://127.0.0.1:{},", secure.port)
        + trusted.url(&authority.ca()).strip_prefix("zookeeper://").expect("a scheme");
    for _ in 0..4 {
        client(&both, TTL).await.mutex("a").try_lock().await.unwrap().expect("free").finish().await.unwrap();
    }
}

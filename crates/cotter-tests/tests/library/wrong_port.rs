//! A store at the port of another server.

use crate::authority::Authority;
use cotter::{Client, ErrorKind};
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::servers::{Etcd, Mariadb, Postgres, Redis, ZooKeeper};
use std::io::{Read, Write};
use std::net::TcpListener;

/// Name and scheme of each store, what stands before the host in its URL, and its usual port.
const STORES: [(&str, &str, &str, u16); 5] = [
    ("Redis", "redis", "", 6379),
    ("etcd", "etcd", "", 2379),
    ("ZooKeeper", "zookeeper", "", 2181),
    ("PostgreSQL", "postgres", "app@", 5432),
    ("MySQL", "mysql", "app@", 3306),
];

fn url((_, scheme, user, _): (&str, &str, &str, u16), port: u16) -> String {
    let path = if user.is_empty() { "" } else { "/cotter" };
    format!("{scheme}://{user}127.0.0.1:{port}{path}?connect_timeout=1s")
}

async fn each_store_is_told(what: &str, port: u16) {
    for store in STORES.into_iter().filter(|store| store.0 != what) {
        let error = Client::connect(url(store, port)).await.unwrap_err();
        let said = error.to_string();
        let is_named = said.contains(&format!("{what} listens at 127.0.0.1:{port}, and not {}", store.0));
        demand(is_named, Kind::Untrue, &*said);
        assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Config, false), "{said}");
        let usual = format!("the port of {} is usually {}", store.0, store.3);
        assert!(said.contains(&usual), "{said}");
    }
}

/// With real servers, because what they answer to questions of others is theirs.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server, etcd, zookeeper, postgres and mariadbd"]
async fn who_listens_there_is_named() {
    let (redis, etcd, zookeeper) = (Redis::start(), Etcd::start(1), ZooKeeper::start(1));
    let (postgres, mariadb) = (Postgres::start(), Mariadb::start());
    let ports = [redis.port(), etcd.port(0), zookeeper.port(0), postgres.port(), mariadb.port()];
    for ((what, ..), port) in STORES.into_iter().zip(ports) {
        each_store_is_told(what, port).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_http_server_is_named() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            std::thread::spawn(move || {
                let _ = stream.read(&mut [0; 512]);
                let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n");
            });
        }
    });
    each_store_is_told("an HTTP server", port).await;
}

/// It may be the right one, over TLS.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn a_server_with_tls_is_named_to_whom_speaks_without() {
    let authority = Authority::new();
    let [cert, key] = authority.signs("localhost");
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let server = Redis::builder()
        .with("tls-port", &port.to_string())
        .with("tls-cert-file", &cert.to_string_lossy())
        .with("tls-key-file", &key.to_string_lossy())
        .with("tls-auth-clients", "no")
        .start();
    for store in STORES {
        let error = Client::connect(url(store, port)).await.unwrap_err().to_string();
        assert!(error.contains(&format!("a server with TLS listens at 127.0.0.1:{port}")), "{error}");
    }
    let plain = format!("rediss://127.0.0.1:{}?connect_timeout=1s", server.port());
    let error = Client::connect(plain).await.unwrap_err().to_string();
    assert!(error.contains("the URL has to begin with redis:"), "{error}");
}

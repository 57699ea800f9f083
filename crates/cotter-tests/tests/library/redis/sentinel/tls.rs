//! `rediss+sentinel://`, with certificates made for the test.

use super::{allow, quick};
use crate::authority::Authority;
use cotter::{Client, ErrorKind};
use cotter_testkit::servers::{Redis, free_port};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs redis-server"]
async fn sentinels_and_servers_are_reached_through_tls() {
    let (authority, port) = (Authority::new(), free_port());
    let (files, ca) = (authority.signs("127.0.0.1"), authority.file("ca.pem"));
    let [cert, key] = &files;
    let builder = Redis::builder()
        .with("tls-port", &port.to_string())
        .with("tls-cert-file", &cert.display().to_string())
        .with("tls-key-file", &key.display().to_string())
        .with("tls-ca-cert-file", &ca.display().to_string())
        .with("tls-auth-clients", "no");
    let server = builder.start();
    allow(&server);
    let sentinels = quick().tls(&files, &ca, port).watch(&server, 0);
    let url = sentinels.tls_url(&authority.ca());
    let client = Client::connect(&url).await.unwrap();
    client.mutex("a").lock().await.unwrap().finish().await.unwrap();
    let connected = server.command(&["CLIENT", "LIST"]);
    let own = connected.lines().find(|line| line.contains("name=cotter")).expect("it is connected");
    assert!(own.contains(&format!("laddr=127.0.0.1:{port}")), "{own}");

    let error = Client::connect(sentinels.tls_url("")).await.expect_err("nobody trusts this authority");
    assert!(error.kind() == ErrorKind::Denied && error.to_string().contains("ca="), "{error}");
    let plain = url.replace("rediss+sentinel:", "redis+sentinel:").replace(&authority.ca(), "");
    let error = Client::connect(plain).await.expect_err("these ports are for TLS");
    assert!(error.to_string().contains("rediss+sentinel:"), "{error}");
    let tls = sentinels.url(&authority.ca()).replace("redis+sentinel:", "rediss+sentinel:");
    let error = Client::connect(tls).await.expect_err("these ports are not for TLS");
    assert!(error.to_string().contains("redis+sentinel:"), "{error}");
}

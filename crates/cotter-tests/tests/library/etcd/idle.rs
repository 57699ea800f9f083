//! Connections that end while nobody uses them.

use cotter::Client;
use cotter_testkit::servers::Etcd;

async fn lock(client: &Client) {
    let guard = client.mutex("a").try_lock().await.expect("no error").expect("it is free");
    guard.finish().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs etcd"]
async fn a_restart_costs_an_idle_client_no_error() {
    let mut server = Etcd::start(1);
    let idle = Client::connect(server.url("")).await.unwrap();
    server.kill(0);
    server.restart(0);
    // The engine, which both share, has read the end of the old connection before it opens this one.
    let other = Client::connect(server.url("")).await.unwrap();
    lock(&other).await;
    lock(&idle).await;
}

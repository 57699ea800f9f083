//! A master that is announced with an address at which it is not reached from here.

use super::played::Told;
use super::{server, told::url};
use cotter::{Client, ErrorKind};
use cotter_testkit::servers::Proxy;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs redis-server"]
async fn the_master_is_connected_to_where_the_url_says() {
    let mut master = server();
    let (told, way) = (Told::to_say(&master, 1), Proxy::start(master.port()));
    let announced = format!("127.0.0.1:{}", master.port());
    let options =
        |to: u16| format!("{}?announce={announced}=127.0.0.1:{to}&connect_timeout=500ms", url(&[&told]));
    let client = Client::connect(options(way.port())).await.unwrap();
    client.mutex("a").lock().await.unwrap().finish().await.unwrap();
    assert!(way.connections() > 0, "it has gone past the way that it was told");
    master.kill();
    let gone = client.mutex("a").try_lock().await.expect_err("nobody is there");
    assert!(!gone.to_string().contains("announce="), "it was there before: {gone}");

    let hint = |error: cotter::Error, why: &str| {
        let said = error.to_string();
        let instead = format!("write announce={announced}=HOST:PORT");
        assert!(
            error.kind() == ErrorKind::Unavailable && said.contains(&instead) && said.contains(why),
            "{said}"
        );
    };
    let short = format!("{}?connect_timeout=500ms", url(&[&told]));
    hint(Client::connect(short).await.expect_err("nobody is there"), "the servers announce this address");
    let wrong = Client::connect(options(1)).await.expect_err("nobody is there");
    hint(wrong, &format!("announce= in the URL has 127.0.0.1:1 for {announced}"));
}

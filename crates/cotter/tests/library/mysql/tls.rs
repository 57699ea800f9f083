//! `sslmode=verify-full`, with certificates made for the test.

use crate::authority::Authority;
use cotter::{Client, ErrorKind};
use cotter_testkit::servers::Mariadb;

/// A server that says it is `name`.
fn serve(authority: &Authority, name: &str) -> Mariadb {
    let [cert, key] = authority.signs(name);
    let server = Mariadb::builder().with_tls(&cert, &key).start();
    server.migrate("sslmode=disable");
    server
}

fn url(server: &Mariadb, options: &str) -> String {
    server.url(&format!("sslmode=verify-full&{options}"))
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs mariadbd"]
async fn locks_wait_and_are_handed_over_through_tls() {
    let authority = Authority::new();
    let server = serve(&authority, "127.0.0.1");
    let url = url(&server, &authority.ca());
    let (one, other) = (Client::connect(&url).await.unwrap(), Client::connect(&url).await.unwrap());
    let guard = one.mutex("a").lock().await.unwrap();
    let waiting = tokio::spawn(async move { other.mutex("a").lock().await.unwrap().finish().await.unwrap() });
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    let connections: u64 = server
        .sql(
            "SELECT variable_value FROM information_schema.global_status \
        WHERE variable_name = 'SSL_FINISHED_ACCEPTS'",
        )
        .parse()
        .unwrap();
    assert!(connections >= 2, "{connections} sessions were encrypted");
    guard.finish().await.unwrap();
    waiting.await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs mariadbd"]
async fn whom_nobody_vouches_for_is_not_spoken_to() {
    let (authority, stranger) = (Authority::new(), Authority::new());
    let (server, plain) = (serve(&authority, "127.0.0.1"), Mariadb::migrated());
    let elsewhere = serve(&authority, "elsewhere.example");
    for (url, why) in [
        (url(&server, &stranger.ca()), "another authority"),
        (url(&server, ""), "the system's authorities"),
        (url(&elsewhere, &authority.ca()), "another name"),
    ] {
        let error = Client::connect(&url).await.unwrap_err();
        assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Denied, false), "{why}: {error}");
        assert!(error.to_string().contains("ca="), "{why}: {error}");
    }
    let error = Client::connect(url(&plain, &authority.ca())).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config, "{error}");
    assert!(error.to_string().contains("sslmode=disable"), "{error}");
}

//! `sslmode=verify-full`, with certificates made for the test, of servers and of clients.

use crate::authority::{Authority, NAME_IT, TRUST_IT, is_not_trusted};
use crate::from_memory::certificates_are_those_of_files;
use crate::logins::a_certificate_is_asked_for;
use cotter::{Client, ErrorKind};
use cotter_testkit::servers::Postgres;

/// A server that says it is `name`.
fn serve(authority: &Authority, name: &str) -> Postgres {
    let [cert, key] = authority.signs(name);
    let server = Postgres::builder().with_tls(&cert, &key).start();
    server.migrate("sslmode=disable");
    server
}

fn url(server: &Postgres, options: &str) -> String {
    server.url(&format!("sslmode=verify-full&{options}"))
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs postgres"]
async fn locks_wait_and_are_handed_over_through_tls() {
    let authority = Authority::new();
    let server = serve(&authority, "127.0.0.1");
    let url = url(&server, &authority.ca());
    let (one, other) = (Client::connect(&url).await.unwrap(), Client::connect(&url).await.unwrap());
    let guard = one.mutex("a").lock().await.unwrap();
    let waiting = tokio::spawn(async move { other.mutex("a").lock().await.unwrap().finish().await.unwrap() });
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    let encrypted =
        "select bool_and(ssl) from pg_stat_ssl join pg_stat_activity using (pid) where usename = 'app'";
    assert_eq!(server.sql(encrypted), "t");
    guard.finish().await.unwrap();
    waiting.await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs postgres"]
async fn whom_nobody_vouches_for_is_not_spoken_to() {
    let (authority, stranger) = (Authority::new(), Authority::new());
    let (server, plain) = (serve(&authority, "127.0.0.1"), Postgres::migrated());
    let elsewhere = serve(&authority, "elsewhere.example");
    for (url, why, remedy) in [
        (url(&server, &stranger.ca()), "another authority", TRUST_IT),
        (url(&server, ""), "the system's authorities", TRUST_IT),
        (url(&elsewhere, &authority.ca()), "another name", NAME_IT),
    ] {
        is_not_trusted(&url, why, remedy).await;
    }
    let error = Client::connect(url(&plain, &authority.ca())).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config, "{error}");
    assert!(error.to_string().contains("sslmode=disable"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs postgres"]
async fn a_server_may_ask_for_a_certificate() {
    let authority = Authority::new();
    let [cert, key] = authority.signs("127.0.0.1");
    let server = Postgres::builder().with_tls(&cert, &key);
    let server = server.asking_for_certificates(&authority.file("ca.pem")).start();
    server.migrate("sslmode=disable");
    a_certificate_is_asked_for(&authority, |options| url(&server, options)).await;
    let connect = async |tls: &cotter::Tls| {
        let store = cotter::postgres::Store::from_url(url(&server, ""))?.with_tls(tls)?;
        Client::builder().connect_to(store).await
    };
    certificates_are_those_of_files(&authority, connect).await;
    let plain = cotter::postgres::Store::from_url(server.url("sslmode=disable")).unwrap();
    let error = plain.with_tls(&cotter::Tls::new()).unwrap_err();
    assert!(
        error.kind() == ErrorKind::Config && error.to_string().contains("sslmode=verify-full"),
        "{error}"
    );
}

/// The settings of an application decide whether there is TLS, and what it trusts is an option.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs postgres"]
async fn the_settings_of_an_application_may_ask_for_tls() {
    use cotter::postgres::Store;
    let (authority, stranger) = (Authority::new(), Authority::new());
    let server = serve(&authority, "127.0.0.1");
    let mut settings = super::setup::settings(&server);
    settings.ssl_mode(tokio_postgres::config::SslMode::Require);
    let store = |trusted: &Authority| {
        let store = Store::from_config(settings.clone()).unwrap().with_options(&trusted.ca()).unwrap();
        Client::builder().connect_to(store)
    };
    let client = store(&authority).await.unwrap();
    client.mutex("a").lock().await.unwrap().finish().await.unwrap();
    let encrypted =
        "select bool_and(ssl) from pg_stat_ssl join pg_stat_activity using (pid) where usename = 'app'";
    assert_eq!(server.sql(encrypted), "t");
    let error = store(&stranger).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
    settings.ssl_mode(tokio_postgres::config::SslMode::Disable);
    let error = Store::from_config(settings).unwrap().with_options(&authority.ca()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config, "{error}");
}

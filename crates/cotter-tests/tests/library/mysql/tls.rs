//! `sslmode=verify-full`, with certificates made for the test, of servers and of clients.

use crate::authority::{Authority, NAME_IT, TRUST_IT, is_not_trusted};
use crate::from_memory::certificates_are_those_of_files;
use crate::logins::a_certificate_is_asked_for;
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
#[ignore = "needs mariadbd"]
async fn a_server_may_ask_for_a_certificate() {
    let authority = Authority::new();
    let [cert, key] = authority.signs("127.0.0.1");
    let server = Mariadb::builder().with_tls(&cert, &key);
    let server = server.asking_for_certificates(&authority.file("ca.pem")).start();
    server.migrate("sslmode=disable");
    a_certificate_is_asked_for(&authority, |options| url(&server, options)).await;
    let connect = async |tls: &cotter::Tls| {
        let store = cotter::mysql::Store::from_url(url(&server, ""))?.with_tls(tls)?;
        Client::builder().connect_to(store).await
    };
    certificates_are_those_of_files(&authority, connect).await;
    let plain = cotter::mysql::Store::from_url(server.url("sslmode=disable")).unwrap();
    let error = plain.with_tls(&cotter::Tls::new()).unwrap_err();
    assert!(
        error.kind() == ErrorKind::Config && error.to_string().contains("sslmode=verify-full"),
        "{error}"
    );
}

/// The settings of an application say whether there is TLS, and what it trusts.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs mariadbd"]
async fn the_settings_of_an_application_may_ask_for_tls() {
    use cotter::mysql::Store;
    use mysql_async::{Opts, OptsBuilder, SslOpts};
    let (authority, stranger) = (Authority::new(), Authority::new());
    let server = serve(&authority, "127.0.0.1");
    server.sql("ALTER USER app REQUIRE SSL");
    let plain = Opts::from_url(&server.url("").replace("?", "")).unwrap();
    let store = |trusted: &Authority| {
        let ssl = SslOpts::default().with_disable_built_in_roots(true);
        let ssl = ssl.with_root_certs(vec![trusted.file("ca.pem").into()]);
        let opts = OptsBuilder::from_opts(plain.clone()).ssl_opts(ssl);
        Client::builder().connect_to(Store::from_opts(opts).unwrap())
    };
    store(&authority).await.unwrap().mutex("a").lock().await.unwrap().finish().await.unwrap();
    assert_eq!(store(&stranger).await.unwrap_err().kind(), ErrorKind::Denied);
    let error = Client::builder().connect_to(Store::from_opts(plain).unwrap()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
}

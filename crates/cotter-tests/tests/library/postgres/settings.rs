//! `from_config`: the settings of an application's own driver.

use super::setup::{client, driver, server, settings};
use crate::logins::{ALL_MODES, are_refused, they_share_locks};
use cotter::postgres::Store;
use cotter::{Client, ErrorKind};
use cotter_testkit::servers::{Database, Postgres};
use cotter_testkit::timing::FAR;
use std::time::Duration;

const TTL: Duration = Duration::from_secs(30);

async fn of(store: Store) -> Client {
    Client::builder().connect_to(store).await.unwrap()
}

/// In all modes the locks are those of a URL with the same options.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs postgres"]
async fn the_settings_of_an_application_are_enough() {
    let server = server();
    server.migrate("mode=shedlock");
    server.sql("grant select, insert, update on shedlock to app");
    server.sql("create table orders (id bigint primary key); insert into orders values (7)");
    server.sql("grant select, update on orders to app");
    for options in ALL_MODES {
        let store = Store::from_config(settings(&server)).unwrap().with_options(options).unwrap();
        let (ours, by_url) = (of(store).await, client(&server.url(options), TTL).await);
        they_share_locks(&ours, &by_url, options).await;
    }
}

/// What the settings say about sessions holds for those of the locks.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs postgres"]
async fn sessions_are_as_the_settings_say() {
    let server = server();
    let named = |name: &str| {
        let count = format!("select count(*) > 0 from pg_stat_activity where application_name = '{name}'");
        server.sql(&count) == "t"
    };
    let ours = of(Store::from_config(settings(&server)).unwrap()).await;
    ours.mutex("a").lock().await.unwrap().finish().await.unwrap();
    assert!(named("cotter"));
    let mut settings = settings(&server);
    // Neither spoils a lock: these are set right in each session.
    let options = "-c default_transaction_isolation=serializable -c search_path=pg_catalog";
    settings.application_name("shop").options(options).connect_timeout(Duration::from_secs(1));
    let shop = of(Store::from_config(settings).unwrap()).await;
    shop.mutex("a").lock().await.unwrap().finish().await.unwrap();
    assert!(named("shop"));
}

/// The first server cannot be reached, and the folder of a socket is a host.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs postgres"]
async fn all_hosts_are_tried_and_sockets_are_found() {
    let server = Postgres::migrated();
    let port = server.port();
    let login = "user=app password=secret dbname=cotter";
    for hosts in [
        format!("host=127.0.0.1,127.0.0.1 port=1,{port}"),
        format!("host={} port={port}", server.dir().display()),
    ] {
        let store = Store::from_config(format!("{hosts} {login}").parse().unwrap()).unwrap();
        of(store).await.mutex("hosts").lock().await.unwrap().finish().await.unwrap();
    }
}

/// An application with a single connection, which it needs while it holds a lock, gets it; and gets all that cotter had back.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs postgres"]
async fn the_connection_of_the_application_stays_its_own() {
    let server = server();
    let mut db = driver(&server).await;
    for mode in ["lease", "row", "advisory"] {
        let store = Store::from_config(settings(&server)).unwrap().with_options(&format!("mode={mode}"));
        let ours = of(store.unwrap()).await;
        let transaction = db.transaction().await.unwrap();
        transaction.execute("select 1", &[]).await.unwrap();
        let guard = ours.mutex("single").lock().await.unwrap();
        // It ends meanwhile, and the application's goes on.
        transaction.execute("select 1", &[]).await.unwrap();
        guard.finish().await.unwrap();
        transaction.commit().await.unwrap();
        ours.close(FAR).await.unwrap();
        super::setup::eventually("only the application's is left", || server.sessions() == 1).await;
    }
    assert!(server.end_sessions() == 1);
}

#[tokio::test]
async fn what_cannot_be_used_is_named() {
    let refused = |settings: &str| Store::from_config(settings.parse().unwrap()).unwrap_err();
    for (settings, said) in
        [("user=app dbname=shop", "host"), ("hostaddr=10.0.0.1 host=db user=app", "hostaddr")]
    {
        let error = refused(&format!("{settings} password=secret"));
        assert_eq!(error.kind(), ErrorKind::Config, "{error}");
        assert!(error.to_string().contains(said) && !format!("{error:?}").contains("secret"), "{error:?}");
    }
    let store = || Store::from_config("host=db user=app password=secret".parse().unwrap()).unwrap();
    assert!(!format!("{:?}", store()).contains("secret"));
    let options = [
        ("host=/run", "host="),
        ("sslmode=disable", "sslmode="),
        ("password_file=/nowhere", "password_file="),
        ("client_name=x", "client_name="),
        ("mode=magic", "lease, row, advisory, shedlock"),
        ("mode=row&table=orders", "column="),
        ("schema=a\"b", "schema="),
        ("what=x", "what"),
        ("ca=/nowhere", "/nowhere"),
    ];
    are_refused(|options| store().with_options(options), &options);
}

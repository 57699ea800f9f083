//! Time zones, sockets, names of tables, and hostile text.

use super::setup::{backend_on, server};
use crate::logins;
use cotter::{Client, Lease};
use cotter_testkit::servers::Postgres;
use std::path::Path;
use std::time::Duration;

const TTL: Duration = Duration::from_secs(30);

/// Sessions in different time zones agree on when a lease ends.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs postgres"]
async fn time_zones_do_not_matter() {
    let server = server();
    let mut clients = Vec::new();
    for zone in ["UTC", "America/New_York", "Asia/Kolkata", "Europe/Berlin", "Pacific/Kiritimati"] {
        server.sql(&format!("alter role app set timezone = '{zone}'"));
        let lease = Lease::renewed(TTL);
        clients.push(Client::builder().lease(lease).connect(server.url("")).await.unwrap());
    }
    for holder in &clients {
        let guard = holder.mutex("a").lock().await.unwrap();
        for other in &clients {
            assert!(other.mutex("a").try_lock().await.unwrap().is_none(), "a held lock was taken");
            let record = other.holder("a").await.unwrap().expect("it is held");
            let left = record.holders[0].remaining.unwrap();
            assert!(left > TTL / 2 && left <= TTL, "{left:?}");
        }
        guard.finish().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs postgres"]
async fn the_clocks_of_clients_do_not_matter() {
    let server = Postgres::migrated();
    crate::clocks::those_of_clients_do_not_matter(async |clock| backend_on(&server.url(""), clock).await)
        .await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs postgres"]
async fn a_socket_is_reached_by_its_folder() {
    let server = Postgres::migrated();
    let folder = server.dir().display().to_string();
    let url = format!("postgres://app@localhost:{}/cotter?host={folder}", server.port());
    let encoded = format!("postgres://app@{}:{}/cotter", folder.replace('/', "%2F"), server.port());
    let (one, other) = (Client::connect(url).await.unwrap(), Client::connect(encoded).await.unwrap());
    let guard = one.mutex("by-socket").lock().await.unwrap();
    assert!(other.mutex("by-socket").try_lock().await.unwrap().is_none());
    guard.finish().await.unwrap();
}

/// Whatever is in a name, a label, a key or a note is stored as it is.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs postgres"]
async fn statements_in_text_are_text() {
    let server = Postgres::migrated();
    let hostile = r#"'; drop table cotter_lock; -- \'; $$; $1 "x" {cotter} E'\\'"#;
    let client = Client::builder().label(hostile).connect(server.url("")).await.unwrap();
    let guard = client.mutex(hostile).lock().await.unwrap();
    guard.put_note(hostile).await.unwrap();
    assert_eq!(client.note(hostile).await.unwrap().unwrap().bytes, hostile.as_bytes());
    let record = client.holder(hostile).await.unwrap().expect("it is held");
    assert!(record.holders[0].label.contains(hostile), "{record:?}");
    assert_eq!(&*record.name, hostile);
    guard.finish().await.unwrap();
    assert_eq!(server.sql("select count(*) from cotter_lock where name like '%drop table%'"), "1");
}

/// The statement of docs/stores/postgres.md deletes what was not used for a day, and nothing that is held or waited for.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs postgres"]
async fn old_names_can_be_deleted() {
    const PAGE: &str = include_str!("../../../../../docs/stores/postgres.md");
    let statement =
        PAGE.lines().find(|line| line.starts_with("delete from cotter_lock")).expect("the page has it");
    let server = server();
    let client = Client::connect(server.url("")).await.unwrap();
    let mut tokens = Vec::new();
    for name in ["old", "recent", "held", "shared"] {
        let guard = client.mutex(name).lock().await.unwrap();
        tokens.push(guard.token());
        guard.finish().await.unwrap();
    }
    let held = client.mutex("held").lock().await.unwrap();
    let shared = client.rwlock("shared").read().await.unwrap();
    server.sql("update cotter_lock set since = now() - interval '2 days' where name <> 'recent'");
    server.sql(statement);
    assert_eq!(
        server.sql("select string_agg(name, ' ' order by name) from cotter_lock"),
        "held recent shared"
    );
    let again = client.mutex("old").lock().await.unwrap();
    assert!(again.token() > tokens[0]);
    again.finish().await.unwrap();
    held.finish().await.unwrap();
    shared.finish().await.unwrap();
}

/// Two prefixes, or two schemas, are two sets of locks.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs postgres"]
async fn schemas_and_prefixes_are_apart() {
    let server = Postgres::start();
    let mut guards = Vec::new();
    for options in ["schema=one", "schema=two", "schema=two&prefix=other"] {
        let url = server.url_of("owner", options);
        Client::builder().migrate(&url).await.unwrap();
        let client = Client::connect(&url).await.unwrap();
        guards.push(client.mutex("a").try_lock().await.unwrap().expect("it is another lock"));
        assert!(client.mutex("a").try_lock().await.unwrap().is_none());
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs postgres"]
async fn a_password_is_read_from_a_file() {
    let server = Postgres::migrated();
    let url = |file: &Path| {
        format!("postgres://app@127.0.0.1:{}/cotter?password_file={}", server.port(), file.display())
    };
    logins::a_password_is_read_from_a_file(url).await;
}

/// Tables that an earlier version has created are completed.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs postgres"]
async fn tables_of_an_earlier_version_are_completed() {
    let server = server();
    for table in ["cotter_lock", "cotter_claim"] {
        server.sql(&format!("alter table {table} drop column lasts"));
    }
    server.migrate("");
    let client = Client::builder().lease(Lease::renewed(TTL)).connect(server.url("")).await.unwrap();
    client.rwlock("a").read().await.unwrap().finish().await.unwrap();
    client.mutex("a").lock().await.unwrap().finish().await.unwrap();
}

//! Time zones, clocks, sockets, names of tables, and hostile text.

use super::setup::{backend_on, server};
use crate::logins;
use cotter::{Client, Lease};
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::servers::Mariadb;
use std::path::Path;
use std::time::Duration;

const TTL: Duration = Duration::from_secs(30);

/// Sessions in different time zones, one of them with summer time, agree on when a lease ends.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs mariadbd"]
async fn time_zones_do_not_matter() {
    let server = server();
    server.load_time_zone("America/New_York");
    let mut clients = Vec::new();
    for zone in ["+00:00", "America/New_York", "+05:30", "+13:00"] {
        server.sql(&format!("SET GLOBAL time_zone = '{zone}'"));
        let lease = Lease::renewed(TTL);
        clients.push(Client::builder().lease(lease).connect(server.url("")).await.unwrap());
    }
    for holder in &clients {
        let guard = holder.mutex("a").lock().await.unwrap();
        for other in &clients {
            let taken = other.mutex("a").try_lock().await.unwrap();
            demand(taken.is_none(), Kind::Overlap, "a held lock was taken from another time zone");
        }
        for other in &clients {
            let record = other.holder("a").await.unwrap().expect("it is held");
            let left = record.holders[0].remaining.unwrap();
            assert!(left > TTL / 2 && left <= TTL, "{left:?}");
        }
        guard.finish().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs mariadbd"]
async fn the_clocks_of_clients_do_not_matter() {
    let server = Mariadb::migrated();
    crate::clocks::those_of_clients_do_not_matter(async |clock| backend_on(&server.url(""), clock).await)
        .await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs mariadbd"]
async fn a_socket_is_reached_by_its_path() {
    let server = Mariadb::migrated();
    let url = format!("mysql://app:secret@localhost/cotter?socket={}", server.socket().display());
    let (one, other) = (Client::connect(url).await.unwrap(), Client::connect(server.url("")).await.unwrap());
    let guard = one.mutex("by-socket").lock().await.unwrap();
    assert!(other.mutex("by-socket").try_lock().await.unwrap().is_none());
    guard.finish().await.unwrap();
}

/// Whatever is in a name, a label, a key or a note is stored as it is.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs mariadbd"]
async fn statements_in_text_are_text() {
    let server = Mariadb::migrated();
    let hostile = r#"'; DROP TABLE cotter_locks; -- \'; ` ? "x" {prefix} \\' 雪 "#.trim_end();
    let client = Client::builder().label(hostile).connect(server.url("")).await.unwrap();
    let guard = client.mutex(hostile).lock().await.unwrap();
    let bytes = [hostile.as_bytes(), &[0, 0xff, 0xfe, b'\'', b'\\']].concat();
    guard.put_note_at(hostile, &*bytes).await.unwrap();
    assert_eq!(client.note_at(hostile, hostile).await.unwrap().unwrap().bytes, bytes);
    let record = client.holder(hostile).await.unwrap().expect("it is held");
    assert!(record.holders[0].label.contains(hostile), "{record:?}");
    assert_eq!(&*record.name, hostile);
    guard.finish().await.unwrap();
    assert_eq!(server.sql("SELECT COUNT(*) FROM cotter_locks WHERE name LIKE '%DROP TABLE%'"), "1");
}

/// Names that a collation takes for equal are different locks.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs mariadbd"]
async fn names_are_bytes() {
    let server = Mariadb::migrated();
    let client = Client::connect(server.url("")).await.unwrap();
    let mut guards = Vec::new();
    for name in ["Job", "job", "job ", "jób", "jo\u{301}b"] {
        guards.push(client.mutex(name).try_lock().await.unwrap().expect("it is another lock"));
    }
}

/// Two prefixes are two sets of locks.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs mariadbd"]
async fn prefixes_are_apart() {
    let server = Mariadb::migrated();
    let mut guards = Vec::new();
    for options in ["prefix=one", "prefix=two"] {
        let url = server.url_of("owner", options);
        Client::builder().migrate(&url).await.unwrap();
        let client = Client::connect(&url).await.unwrap();
        guards.push(client.mutex("a").try_lock().await.unwrap().expect("it is another lock"));
        assert!(client.mutex("a").try_lock().await.unwrap().is_none());
    }
}

/// Unused rows are deleted, held ones are not, and the floor keeps their tokens from coming again.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs mariadbd"]
async fn unused_names_are_forgotten_after_an_hour() {
    let server = server();
    let client = Client::connect(server.url("")).await.unwrap();
    for name in ["old", "recent", "held"] {
        client.mutex(name).lock().await.unwrap().finish().await.unwrap();
    }
    let _held = client.mutex("held").lock().await.unwrap();
    server.sql("UPDATE cotter_locks SET last_token = last_token - 7200000000 WHERE name <> 'recent'");
    for _ in 0..256 {
        client.mutex("recent").lock().await.unwrap().finish().await.unwrap();
    }
    assert_eq!(server.sql("SELECT GROUP_CONCAT(name ORDER BY name) FROM cotter_locks"), "held,recent");
    // As if the clock had been set back: the floor is later.
    server.sql("UPDATE cotter_floor SET token = token + 7200000000");
    let floor: u64 = server.sql("SELECT token FROM cotter_floor").parse().unwrap();
    let token = client.mutex("old").lock().await.unwrap().token().get();
    demand(token > floor, Kind::TokenOrder, format!("{token} is not above {floor}"));
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs mariadbd"]
async fn a_password_is_read_from_a_file() {
    let server = Mariadb::migrated();
    let url = |file: &Path| {
        format!("mysql://app@127.0.0.1:{}/cotter?password_file={}", server.port(), file.display())
    };
    logins::a_password_is_read_from_a_file(url).await;
}

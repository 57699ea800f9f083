//! Behind a proxy that numbers the sessions of its clients by itself, as those do that hand connections around.

use super::setup::{client, eventually, queued};
use cotter::{Client, ErrorKind, Severity};
use cotter_testkit::servers::Mariadb;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

const TTL: Duration = Duration::from_secs(30);

/// Listens on a free port, and passes everything on but the number of a session in the greeting of the server.
fn renumbering(server: u16) -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for client in listener.incoming() {
            thread::spawn(move || relay(client?, TcpStream::connect(("127.0.0.1", server))?));
        }
    });
    port
}

fn relay(mut client: TcpStream, mut server: TcpStream) -> io::Result<()> {
    // Three bytes with the length, one with a number, one with the version of the protocol; the server's version, the number.
    let mut head = [0; 4];
    server.read_exact(&mut head)?;
    let mut greeting = vec![0; usize::from(u16::from_le_bytes([head[0], head[1]]))];
    server.read_exact(&mut greeting)?;
    let version = greeting.iter().skip(1).position(|byte| *byte == 0).expect("a version");
    let number = &mut greeting[version + 2..version + 6];
    number.copy_from_slice(&0x0107_0000_u32.to_le_bytes());
    client.write_all(&[&head[..], &greeting].concat())?;
    let (mut requests, mut to) = (client.try_clone()?, server.try_clone()?);
    thread::spawn(move || io::copy(&mut requests, &mut to));
    io::copy(&mut server, &mut client).map(drop)
}

fn behind(server: &Mariadb, options: &str) -> String {
    let port = renumbering(server.port());
    server.url(options).replace(&format!(":{}/", server.port()), &format!(":{port}/"))
}

/// A lock that lives with a session is held by nobody where each transaction may have another session.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs mariadbd"]
async fn locks_that_live_with_a_session_are_refused() {
    let server = Mariadb::migrated();
    for mode in ["row", "advisory"] {
        let mode = format!("mode={mode}");
        let client = Client::connect(server.url(&mode)).await.unwrap();
        client.mutex("a").lock().await.unwrap().finish().await.unwrap();
        let proxied = Client::connect(behind(&server, &mode)).await;
        let error = match proxied {
            Ok(client) => client.mutex("a").lock().await.unwrap_err(),
            Err(e) => e,
        };
        assert_eq!(error.kind(), ErrorKind::Config, "{error}");
        assert!(error.to_string().contains("proxy") && error.to_string().contains("mode=lease"), "{error}");
    }
}

/// Leases work, waiters poll, and `doctor` says so.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs mariadbd"]
async fn leases_work_and_waiters_poll() {
    let server = Mariadb::migrated();
    let clients = [client(&behind(&server, ""), TTL).await, client(&behind(&server, ""), TTL).await];
    let mut guard = clients[0].mutex("proxied").lock().await.unwrap();
    for round in 1..5 {
        let mutex = clients[round % 2].mutex("proxied");
        let waiting = tokio::spawn(async move { mutex.lock().await.unwrap() });
        eventually("it waits", || queued(&server, "proxied") == 1).await;
        let token = guard.token();
        guard.finish().await.unwrap();
        guard = waiting.await.unwrap();
        assert!(guard.token() > token);
    }
    let findings = clients[0].admin().diagnose().await.unwrap();
    let waiting = findings.iter().find(|finding| finding.subject == "waiting").expect("it is checked");
    assert_eq!(waiting.severity, Severity::Warning, "{waiting:?}");
}

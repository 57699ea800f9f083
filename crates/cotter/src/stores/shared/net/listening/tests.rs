//! What servers answer, and what is said of it.

use super::*;
use tokio::net::TcpListener;

/// A server that says this first, and answers so whatever it is asked.
async fn server(greeting: &'static [u8], answer: &'static [u8]) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let _ = stream.write_all(greeting).await;
                if stream.read(&mut [0; 64]).await.is_ok_and(|n| n > 0) {
                    let _ = stream.write_all(answer).await;
                }
            });
        }
    });
    port
}

async fn told(ours: Listening, kind: ErrorKind, port: u16) -> Error {
    ours.instead(Error::new(kind, "as it was"), [("127.0.0.1".to_owned(), port)]).await
}

#[tokio::test]
async fn each_answer_is_told_apart() {
    let page = b"HTTP/1.0 200 OK\r\n\r\n{\"etcdserver\":\"3.4.23\",\"etcdcluster\":\"3.4.0\"}";
    for (greeting, answer, found) in [
        (&b""[..], &b"N"[..], Some(Postgres)),
        (b"", b"Zookeeper version: 3.8.0", Some(ZooKeeper)),
        (b"", b"srvr is not executed because it is not in the whitelist.", Some(ZooKeeper)),
        (b"", b"+PONG\r\n", Some(Redis)),
        (b"", b"-NOAUTH Authentication required.\r\n", Some(Redis)),
        (b"", page, Some(Etcd)),
        (b"", b"HTTP/1.1 400 Bad Request\r\n\r\n", Some(Http)),
        (b"", &[21, 3, 1, 0, 2, 2, 50], Some(Tls)),
        (&[74, 0, 0, 0, 10, b'5'], b"", Some(Mysql)),
        (&[74, 0, 0, 0, 255, 105, 4], b"", Some(Mysql)),
        (b"220 mail ESMTP\r\n", b"500 what?\r\n", None),
    ] {
        assert_eq!(at("127.0.0.1", server(greeting, answer).await).await, found, "{answer:?}");
    }
}

#[tokio::test]
async fn an_error_says_what_was_found_and_what_to_write() {
    let port = server(b"", b"+PONG\r\n").await;
    let error = told(Etcd, ErrorKind::Unavailable, port).await;
    assert!(error.kind() == ErrorKind::Config && !error.is_retryable(), "{error}");
    let said = format!(
        "Redis listens at 127.0.0.1:{port}, and not etcd: write redis://127.0.0.1:{port} if it is meant"
    );
    assert!(error.to_string().contains(&said), "{error}");
    assert!(error.to_string().ends_with("the port of etcd is usually 2379"), "{error}");
}

#[tokio::test]
async fn the_right_server_and_a_refused_login_keep_their_error() {
    let port = server(b"", b"+PONG\r\n").await;
    assert_eq!(told(Redis, ErrorKind::Unavailable, port).await.to_string(), "unavailable: as it was");
    assert_eq!(told(Etcd, ErrorKind::Denied, port).await.to_string(), "denied: as it was");
    let nobody = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
    assert_eq!(told(Etcd, ErrorKind::Unavailable, nobody).await.to_string(), "unavailable: as it was");
}

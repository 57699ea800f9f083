//! The connections of a process: one, or a few while many tasks use locks at once.

use super::setup::server;
use crate::steps::many_take_turns;
use cotter::Client;
use cotter_testkit::servers::Postgres;

/// The most sessions that this many tasks had. The engine has connections of its own.
async fn sessions_of(server: &Postgres, options: &str, tasks: u32) -> usize {
    let client = Client::connect(server.url(options)).await.unwrap();
    for _ in 0..5 {
        many_take_turns(&client, tasks).await;
    }
    let sessions = server.sessions();
    client.close(std::time::Duration::from_secs(5)).await.unwrap();
    drop(client);
    super::setup::eventually("all are closed", || server.sessions() == 0).await;
    sessions
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs postgres"]
async fn a_process_has_as_many_connections_as_it_needs() {
    let server = server();
    assert!(sessions_of(&server, "", 1).await <= 2, "one task after the other needs one, and the engine one");
    let many = sessions_of(&server, "", 50).await;
    assert!((3..=8).contains(&many), "{many} sessions");
    assert!(sessions_of(&server, "connections=1", 50).await <= 2);
}

/// What is beyond the limit of the server is done without.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs postgres"]
async fn a_server_without_sessions_to_spare_is_enough() {
    let server = server();
    server.sql("alter role app connection limit 2");
    assert!(sessions_of(&server, "", 50).await <= 2);
}

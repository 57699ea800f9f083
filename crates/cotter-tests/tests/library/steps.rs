//! Steps that many tests take.

use cotter::Client;

/// As many tasks at once, each with a lock of its own, which it takes 20 times.
pub(crate) async fn many_take_turns(client: &Client, tasks: u32) {
    let tasks: Vec<_> = (0..tasks)
        .map(|n| {
            let mutex = client.mutex(format!("name {n}"));
            tokio::spawn(async move {
                for _ in 0..20 {
                    mutex.lock().await.unwrap().finish().await.unwrap();
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
}

/// How many wait for the lock "a".
pub(crate) fn waiters(client: &Client) -> u32 {
    client.holder("a").wait().unwrap().and_then(|record| record.waiters).unwrap_or(0)
}

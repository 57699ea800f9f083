//! Behind pgpool2.

use cotter::Client;
use cotter_testkit::servers::{Pgpool, Postgres};
use std::time::Duration;

const GOODBYE: Duration = Duration::from_secs(30);

/// It has a session on the primary for each of its clients, and names that of the standby to some of them.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs postgres and pgpool2"]
async fn it_is_not_noticed_by_chance() {
    let primary = Postgres::start();
    primary.migrate("");
    let standby = Postgres::builder().start_standby_of(&primary);
    let pgpool = Pgpool::before(&primary, &standby);
    for mode in ["mode=row", "mode=advisory"] {
        for round in 0..12 {
            let client = Client::connect(pgpool.url(mode)).await;
            let client = client.unwrap_or_else(|e| panic!("violation[refused]: {mode}, round {round}: {e}"));
            let other = Client::connect(primary.url(mode)).await.unwrap();
            let guard = client.mutex("a").lock().await.unwrap();
            let taken = other.mutex("a").try_lock().await.unwrap();
            assert!(taken.is_none(), "violation[overlap]: {mode}, round {round}");
            guard.finish().await.unwrap();
            client.close(GOODBYE).await.unwrap();
        }
    }
}

//! Behind something that sends reads to a replica that is behind. Statements that call a volatile function go to the primary.

use crate::splitter;
use cotter_testkit::servers::{Postgres, Splitter};

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs postgres"]
async fn what_a_holder_has_written_the_next_one_reads() {
    let server = Postgres::migrated();
    splitter::what_a_holder_has_written_the_next_one_reads(&Splitter::before_postgres(&server)).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs postgres"]
async fn whoever_has_read_an_old_note_writes_nothing() {
    let server = Postgres::migrated();
    let splitter = Splitter::careless_before_postgres(&server);
    splitter::whoever_has_read_an_old_note_writes_nothing(|mode| server.url(mode), &splitter).await;
}

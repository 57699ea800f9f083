//! Behind something that sends reads to a replica that is behind. Statements that have a locking clause go to the primary.

use crate::splitter;
use cotter_testkit::servers::{Mariadb, Splitter};

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs mariadbd"]
async fn what_a_holder_has_written_the_next_one_reads() {
    let server = Mariadb::migrated();
    splitter::what_a_holder_has_written_the_next_one_reads(&Splitter::before_mariadb(&server)).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs mariadbd"]
async fn whoever_has_read_an_old_note_writes_nothing() {
    let server = Mariadb::migrated();
    let splitter = Splitter::careless_before_mariadb(&server);
    splitter::whoever_has_read_an_old_note_writes_nothing(|mode| server.url(mode), &splitter).await;
}

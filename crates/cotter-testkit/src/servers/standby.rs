//! A standby of a PostgreSQL server: a copy that replays what its primary has written.

use super::cluster;
use super::instance::Instance;
use super::postgres::{Postgres, PostgresBuilder, spawn};
use crate::timing::until;

impl PostgresBuilder {
    /// Starts it as a standby, and waits until the primary sends to it. Its data is a copy of the primary's, so that only settings
    /// count here: `("recovery_min_apply_delay", "2s")`.
    ///
    /// # Panics
    /// When it does not start, or `pg_basebackup` is not in `PATH`.
    pub fn start_standby_of(self, primary: &Postgres) -> Postgres {
        let instance = Instance::without_data().expect("a folder");
        let mut copy = cluster::program("pg_basebackup").expect("scripts/servers installs PostgreSQL");
        copy.args(["--host=127.0.0.1", "--username=postgres", "--checkpoint=fast", "--wal-method=stream"])
            .args(["--no-sync", "--write-recovery-conf"])
            .arg(format!("--port={}", primary.port()))
            .arg("--pgdata")
            .arg(instance.data());
        cluster::run(&mut copy).unwrap_or_else(|e| panic!("the primary is not copied: {e}"));
        let mut standby = Postgres { instance, settings: self.settings };
        standby.instance.first_start(|instance| spawn(instance, &standby.settings));
        until("the standby follows", || primary.streaming() > 0);
        standby
    }
}

impl Postgres {
    /// How many standbys it sends to.
    ///
    /// # Panics
    /// When the server does not answer.
    pub fn streaming(&self) -> usize {
        let count = self.sql("select count(*) from pg_stat_replication where state = 'streaming'");
        count.parse().expect("a number")
    }

    /// Makes a standby a primary, and waits until it takes writes.
    ///
    /// # Panics
    /// When it is none.
    pub fn promote(&self) {
        assert_eq!(self.sql("select pg_promote()"), "t", "it is not promoted");
    }
}

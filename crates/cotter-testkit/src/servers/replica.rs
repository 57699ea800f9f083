//! A replica of a MariaDB server, and a primary whose commits wait for it.

use super::mariadb::{Mariadb, MariadbBuilder};
use crate::timing::until;

impl MariadbBuilder {
    /// With a log that replicas read.
    #[must_use]
    pub fn with_log(self) -> Self {
        self.with("log-bin", "binlog").with("server-id", "1")
    }

    /// Starts it as a replica of a server [with a log](Self::with_log), and has each commit there wait for this replica, however
    /// long that takes. Both have the same tables from then on; what is in them so far is not copied.
    ///
    /// # Panics
    /// When it does not start, or does not follow.
    pub fn start_replica_of(self, primary: &Mariadb) -> Mariadb {
        let replica = self.with("log-bin", "binlog").with("server-id", "2").start();
        replica.migrate_all();
        primary.sql("GRANT REPLICATION SLAVE ON *.* TO owner@'%'");
        replica.sql(&format!(
            "SET GLOBAL gtid_slave_pos = '{}'; SET GLOBAL rpl_semi_sync_slave_enabled = ON, GLOBAL read_only = ON; \
             CHANGE MASTER TO master_host = '127.0.0.1', master_port = {}, master_user = 'owner', \
             master_password = 'secret', master_use_gtid = slave_pos; START SLAVE",
            primary.sql("SELECT @@gtid_binlog_pos"),
            primary.port(),
        ));
        primary.sql(
            "SET GLOBAL rpl_semi_sync_master_wait_point = 'AFTER_SYNC', GLOBAL rpl_semi_sync_master_enabled = ON, \
             GLOBAL rpl_semi_sync_master_timeout = 86400000",
        );
        let waits = "SELECT variable_value FROM information_schema.global_status \
             WHERE variable_name = 'RPL_SEMI_SYNC_MASTER_CLIENTS'";
        until("the replica follows", || primary.sql(waits) == "1");
        replica
    }
}

impl Mariadb {
    /// Makes a replica a primary.
    ///
    /// # Panics
    /// When the server refuses.
    pub fn promote(&self) {
        self.sql("STOP SLAVE; RESET SLAVE ALL; SET GLOBAL read_only = OFF");
    }
}

//! Locking a name inside a transaction of the caller's own.

use super::Store;
use crate::Result;
use crate::error::config;
use crate::stores::shared::sql::Mode;

/// Locks inside the caller's own transaction.
impl Store {
    /// Returns the statement that locks a name inside the caller's own transaction, over any driver. It has one
    /// parameter, the name. It needs `mode=row`.
    ///
    /// The statement waits until the name is held neither in another such transaction nor through a client of this
    /// store, and then keeps the name locked until the transaction ends, however it ends. `innodb_lock_wait_timeout`
    /// limits the wait: after it, and after a deadlock, the statement fails. What the transaction writes to this
    /// database is committed only if it held the lock to the end, so that work needs no fencing token, and there is
    /// none: where something else has to be protected, let a client of this store take the lock.
    ///
    /// Make it the first statement of the transaction: where transactions are `REPEATABLE READ`, the default, one that
    /// has read something before sees the other rows as they were then. With `table=` and `column=`, the statement
    /// returns the name in one row; if it returns no row, **nothing is locked**. Without them, it returns no rows, and
    /// creates what it locks.
    ///
    /// # Errors
    /// [`ErrorKind::Config`](crate::ErrorKind::Config): the store is not in `mode=row`.
    ///
    /// ```no_run
    /// use cotter::mysql::Store;
    /// use mysql_async::prelude::Queryable;
    ///
    /// async fn clear_orders(db: &mut mysql_async::Conn) -> Result<(), Box<dyn std::error::Error>> {
    ///     let store = Store::from_url("mysql://app@db-1/shop?mode=row")?;
    ///     let mut transaction = db.start_transaction(Default::default()).await?;
    ///     transaction.exec_drop(store.lock_statement()?, ("clear-orders",)).await?;
    ///     transaction.query_drop("DELETE FROM orders WHERE state = 'done'").await?;
    ///     transaction.commit().await?;
    ///     Ok(())
    /// }
    /// ```
    pub fn lock_statement(&self) -> Result<String> {
        let options = &self.0.options;
        if options.mode != Mode::Row {
            return Err(config("a lock inside a transaction requires mode=row in the URL of the store"));
        }
        Ok(match &options.table {
            Some(table) => {
                let (name, column) = (table.quoted('`'), &table.column);
                format!("SELECT `{column}` FROM {name} WHERE `{column}` = ? FOR UPDATE")
            }
            None => format!(
                "INSERT INTO `{}_row` (name) VALUES (?) ON DUPLICATE KEY UPDATE name = VALUES(name)",
                options.prefix
            ),
        })
    }
}

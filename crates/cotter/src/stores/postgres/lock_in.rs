//! Locking a name inside a transaction of the caller's own.

use super::Store;
use super::sessions::in_transaction;
use crate::Result;
use crate::error::config;
use crate::stores::shared::sql::Mode;

/// Locks inside the caller's own transaction.
impl Store {
    /// Returns the statement that locks a name inside the caller's own transaction, over any driver. It has one
    /// parameter, the name as `text`, and returns one row with one column: a fencing token, as `bigint`. It needs
    /// `mode=row`.
    ///
    /// The statement waits until the name is held neither in another such transaction nor through a client of this
    /// store, and then keeps the name locked until the transaction ends, however it ends. `SET LOCAL lock_timeout`
    /// limits the wait. What the transaction writes to this database is committed only if it held the lock to the end,
    /// so that work needs no fencing token. Writes elsewhere do: pass the token to them. A token of a transaction that
    /// was rolled back is not issued again unless the clock of the server is set back.
    ///
    /// The transaction must be `READ COMMITTED`, or the statement fails with `CT001`: at another isolation level, it
    /// would see the other rows as they were before it waited. With `table=` and `column=`, a missing row is the error
    /// `CT004`.
    ///
    /// # Errors
    /// [`ErrorKind::Config`](crate::ErrorKind::Config): the store is not in `mode=row`.
    ///
    /// ```no_run
    /// use cotter::postgres::Store;
    ///
    /// async fn clear_orders(db: &mut tokio_postgres::Client) -> Result<(), Box<dyn std::error::Error>> {
    ///     let store = Store::from_url("postgres://app@db-1/shop?mode=row")?;
    ///     let transaction = db.transaction().await?;
    ///     let row = transaction.query_one(&store.lock_statement()?, &[&"clear-orders"]).await?;
    ///     let token: i64 = row.get(0);
    ///     transaction.execute("delete from orders where state = 'done'", &[]).await?;
    ///     println!("cleared under token {token}");
    ///     transaction.commit().await?;
    ///     Ok(())
    /// }
    /// ```
    pub fn lock_statement(&self) -> Result<String> {
        let options = &self.0.options;
        if options.common.mode != Mode::Row {
            return Err(config("a lock inside a transaction requires mode=row in the URL of the store"));
        }
        Ok(in_transaction(options))
    }
}

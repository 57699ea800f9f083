//! The tables, and the three ways to close an order.

use super::connection::Connection;
use cotter_console::Failure;

/// How an order is protected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// Only the lock.
    Nothing,
    /// The transaction refuses a token that is smaller than one that it has seen.
    Fence,
    /// The transaction locks the row of the order, and looks at it again. It would do without the lock.
    Row,
}

impl Way {
    pub(super) const ALL: [Self; 3] = [Self::Nothing, Self::Fence, Self::Row];

    pub(super) const fn words(self) -> &'static str {
        match self {
            Self::Nothing => "nothing but the lock",
            Self::Fence => "fencing token",
            Self::Row => "row lock",
        }
    }

    pub(super) const fn key(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Fence => "fence",
            Self::Row => "row_lock",
        }
    }
}

/// The tables of one run.
#[derive(Debug)]
pub(super) struct Orders {
    pub(super) connection: Connection,
    suffix: String,
}

impl Orders {
    pub(super) const fn new(connection: Connection, suffix: String) -> Self {
        Self { connection, suffix }
    }

    pub(super) fn suffix(&self) -> &str {
        &self.suffix
    }

    /// A statement, with the names of the tables filled in.
    fn filled(&self, statement: &str) -> String {
        let mut statement = statement.to_owned();
        for table in ["orders", "item", "closing", "fence"] {
            statement =
                statement.replace(&format!("{{{table}}}"), &format!("cotter_demo_{table}_{}", self.suffix));
        }
        statement
    }

    pub(super) async fn run(&mut self, statement: &str) -> Result<(), Failure> {
        let statement = self.filled(statement);
        self.connection.run(&statement).await
    }

    pub(super) async fn numbers(&mut self, statement: &str) -> Result<Vec<Vec<i64>>, Failure> {
        let statement = self.filled(statement);
        self.connection.numbers(&statement).await
    }

    /// Creates the tables, with this many overdue orders for each way. Each of them has one item.
    pub(super) async fn create(&mut self, count: u32) -> Result<(), Failure> {
        for table in [
            "CREATE TABLE {orders} (id INTEGER PRIMARY KEY, way INTEGER NOT NULL, closed INTEGER NOT NULL)",
            "CREATE TABLE {item} (way INTEGER PRIMARY KEY, stock INTEGER NOT NULL)",
            "CREATE TABLE {closing} (orders INTEGER NOT NULL, replica INTEGER NOT NULL, token BIGINT NOT NULL, refused INTEGER NOT NULL)",
            "CREATE TABLE {fence} (token BIGINT NOT NULL)",
            "INSERT INTO {fence} VALUES (0)",
        ] {
            self.run(table).await?;
        }
        for way in Way::ALL {
            let number = way as u32;
            self.run(&format!("INSERT INTO {{item}} VALUES ({number}, 0)")).await?;
            let rows: Vec<_> =
                (1..=count).map(|n| format!("({}, {number}, 0)", number * count + n)).collect();
            self.run(&format!("INSERT INTO {{orders}} VALUES {}", rows.join(", "))).await?;
        }
        Ok(())
    }

    /// Drops those tables that are there.
    pub(super) async fn drop(&mut self) -> Result<(), Failure> {
        for table in ["orders", "item", "closing", "fence"] {
            self.run(&format!("DROP TABLE IF EXISTS {{{table}}}")).await?;
        }
        Ok(())
    }

    /// The orders that are open, and the largest token seen before. From now on the fence refuses smaller ones than this.
    pub(super) async fn read(&mut self, token: i64) -> Result<(Vec<(i64, Way)>, i64), Failure> {
        self.begin().await?;
        let before = self.fence().await?;
        self.run(&format!("UPDATE {{fence}} SET token = {token} WHERE token < {token}")).await?;
        self.run("COMMIT").await?;
        let open = self.numbers("SELECT id, way FROM {orders} WHERE closed = 0 ORDER BY id").await?;
        let order = |row: Vec<i64>| (row[0], Way::ALL[row[1] as usize]);
        Ok((open.into_iter().map(order).collect(), before))
    }

    /// Closes an order that was read as open, in its way. What a way refuses is written down.
    pub(super) async fn close(
        &mut self,
        (order, way): (i64, Way),
        replica: u32,
        token: i64,
    ) -> Result<(), Failure> {
        self.begin().await?;
        let refused = match way {
            Way::Nothing => false,
            Way::Fence => self.fence().await? > token,
            Way::Row => self.is_closed(order).await?,
        };
        if !refused {
            self.run(&format!("UPDATE {{orders}} SET closed = 1 WHERE id = {order}")).await?;
            self.run(&format!("UPDATE {{item}} SET stock = stock + 1 WHERE way = {}", way as u32)).await?;
        }
        let refused = u32::from(refused);
        self.run(&format!("INSERT INTO {{closing}} VALUES ({order}, {replica}, {token}, {refused})")).await?;
        self.run("COMMIT").await
    }

    async fn begin(&mut self) -> Result<(), Failure> {
        let begin = self.connection.begin();
        self.run(begin).await
    }

    /// The largest token seen. Nobody else reads it before the transaction ends.
    async fn fence(&mut self) -> Result<i64, Failure> {
        let statement = format!("SELECT token FROM {{fence}}{}", self.connection.for_update());
        let rows = self.numbers(&statement).await?;
        Ok(rows.first().and_then(|row| row.first()).copied().unwrap_or(0))
    }

    async fn is_closed(&mut self, order: i64) -> Result<bool, Failure> {
        let statement =
            format!("SELECT closed FROM {{orders}} WHERE id = {order}{}", self.connection.for_update());
        Ok(self.numbers(&statement).await?.iter().any(|row| row[0] != 0))
    }
}

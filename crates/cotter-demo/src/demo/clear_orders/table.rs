//! The orders, the items, and the closings, in a SQLite file that all replicas write to.

use cotter_console::{Exit, Failure};
use rusqlite::{Connection, OpenFlags, params};
use std::path::Path;
use std::time::{Duration, SystemTime};

/// The items and their initial stock.
const ITEMS: [(&str, i64); 3] = [("iPhone 7", 1000), ("desk lamp", 1000), ("tea pot", 1000)];
/// One paid order per this many overdue ones, and as many that are not due for a day.
const OTHERS_DIVISOR: u32 = 4;
/// How long writers wait for each other.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

const SCHEMA: &str = "
    CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT NOT NULL, at_first INTEGER NOT NULL, stock INTEGER NOT NULL);
    CREATE TABLE orders (
        id INTEGER PRIMARY KEY, item INTEGER NOT NULL REFERENCES item, quantity INTEGER NOT NULL,
        status TEXT NOT NULL CHECK (status IN ('unpaid', 'paid', 'closed')),
        due INTEGER NOT NULL -- milliseconds since 1970
    );
    CREATE TABLE closing ( -- only ever added to
        id INTEGER PRIMARY KEY AUTOINCREMENT, orders INTEGER NOT NULL, replica INTEGER NOT NULL,
        slot INTEGER NOT NULL /* seconds since 1970 */, token INTEGER, stock INTEGER NOT NULL
    );";

/// The amount of work.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plan {
    pub(super) slots: u32,
    pub(super) orders: u32,
    pub(super) every: Duration,
}

impl Plan {
    /// The number of orders that become overdue.
    pub(super) fn overdue(&self) -> u32 {
        self.slots * self.orders
    }
}

/// An order that has to be closed.
#[derive(Debug)]
pub(super) struct Order {
    id: i64,
    item: i64,
    quantity: i64,
}

/// The record of closing an order.
#[derive(Debug)]
pub(super) struct Closing {
    pub(super) id: i64,
    pub(super) order: i64,
    pub(super) item: String,
    pub(super) quantity: i64,
    pub(super) replica: u32,
    pub(super) slot: i64,
    pub(super) token: Option<i64>,
    /// The stock afterwards.
    pub(super) stock: i64,
}

/// The replica that closes orders, and its slot.
#[derive(Debug, Clone, Copy)]
pub(super) struct Closer {
    pub(super) replica: u32,
    pub(super) slot: i64,
    pub(super) token: Option<i64>,
}

#[derive(Debug)]
pub(super) struct Table(pub(super) Connection);

/// The failure of a command that needs the table.
pub(super) fn unusable(error: rusqlite::Error) -> Failure {
    Failure::new(Exit::Unreachable, format!("the table of orders cannot be used: {error}"))
}

pub(super) fn millis(time: SystemTime) -> i64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

impl Table {
    fn at(dir: &Path, flags: OpenFlags) -> rusqlite::Result<Self> {
        let connection = Connection::open_with_flags(dir.join("orders.db"), flags)?;
        connection.busy_timeout(BUSY_TIMEOUT)?;
        Ok(Self(connection))
    }

    /// Opens an existing file.
    pub(super) fn open(dir: &Path) -> rusqlite::Result<Self> {
        Self::at(dir, OpenFlags::SQLITE_OPEN_READ_WRITE)
    }

    /// Opens an existing file for reading only.
    pub(super) fn open_to_read(dir: &Path) -> rusqlite::Result<Self> {
        Self::at(dir, OpenFlags::SQLITE_OPEN_READ_ONLY)
    }

    /// Creates a file. The due times of its orders are relative until [`begin`](Self::begin) is called.
    pub(super) fn create(dir: &Path, plan: &Plan) -> rusqlite::Result<Self> {
        let mut table = Self::at(dir, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE)?;
        let all = table.0.transaction()?;
        all.execute_batch(SCHEMA)?;
        for (name, stock) in ITEMS {
            all.execute(
                "INSERT INTO item (name, at_first, stock) VALUES (?1, ?2, ?2)",
                params![name, stock],
            )?;
        }
        let overdue = plan.overdue();
        let length = plan.every * plan.slots;
        for n in 0..overdue {
            add(&all, n, "unpaid", length * n / overdue)?;
        }
        for n in 0..overdue / OTHERS_DIVISOR {
            add(&all, n, "paid", length * n / overdue)?;
            add(&all, n, "unpaid", Duration::from_secs(86_400))?;
        }
        all.commit()?;
        Ok(table)
    }

    /// Sets the start of the relative due times.
    pub(super) fn begin(&self, now: SystemTime) -> rusqlite::Result<()> {
        self.0.execute("UPDATE orders SET due = due + ?1", [millis(now)]).map(drop)
    }

    /// The orders that are overdue at a slot, in seconds since 1970, as queried by the job of an ordinary program.
    pub(super) fn overdue(&self, slot: i64) -> rusqlite::Result<Vec<Order>> {
        let mut query = self
            .0
            .prepare("SELECT id, item, quantity FROM orders WHERE status = 'unpaid' AND due <= ?1 * 1000")?;
        let order =
            |row: &rusqlite::Row<'_>| Ok(Order { id: row.get(0)?, item: row.get(1)?, quantity: row.get(2)? });
        query.query_map([slot], order)?.collect()
    }

    /// Closes an order, without checking whether it was closed since it was read: that is what the lock is for.
    pub(super) fn close(&mut self, order: &Order, by: Closer) -> rusqlite::Result<()> {
        let all = self.0.transaction()?;
        all.execute("UPDATE orders SET status = 'closed' WHERE id = ?1", [order.id])?;
        all.execute("UPDATE item SET stock = stock + ?1 WHERE id = ?2", [order.quantity, order.item])?;
        all.execute(
            "INSERT INTO closing (orders, replica, slot, token, stock)
             VALUES (?1, ?2, ?3, ?4, (SELECT stock FROM item WHERE id = ?5))",
            params![order.id, by.replica, by.slot, by.token, order.item],
        )?;
        all.commit()
    }

    /// Whether all orders of the plan are overdue and closed.
    pub(super) fn is_clear(&self, now: SystemTime) -> rusqlite::Result<bool> {
        let query = "SELECT NOT EXISTS (SELECT 1 FROM orders WHERE status = 'unpaid' AND due < ?1)";
        // Not those that are due in a day.
        self.0.query_row(query, [millis(now + Duration::from_secs(43_200))], |row| row.get(0))
    }

    /// The closings after a given one.
    pub(super) fn closings(&self, after: i64) -> rusqlite::Result<Vec<Closing>> {
        let mut query = self.0.prepare(
            "SELECT c.id, c.orders, i.name, o.quantity, c.replica, c.slot, c.token, c.stock FROM closing c
             JOIN orders o ON o.id = c.orders JOIN item i ON i.id = o.item WHERE c.id > ?1 ORDER BY c.id",
        )?;
        let closing = |row: &rusqlite::Row<'_>| {
            Ok(Closing {
                id: row.get(0)?,
                order: row.get(1)?,
                item: row.get(2)?,
                quantity: row.get(3)?,
                replica: row.get(4)?,
                slot: row.get(5)?,
                token: row.get(6)?,
                stock: row.get(7)?,
            })
        };
        query.query_map([after], closing)?.collect()
    }
}

/// Adds an order and takes its items from the stock.
fn add(all: &Connection, n: u32, status: &str, due: Duration) -> rusqlite::Result<()> {
    let (item, quantity) = (n % 3 + 1, n % 2 + 1);
    let due = i64::try_from(due.as_millis()).unwrap_or(i64::MAX);
    all.execute(
        "INSERT INTO orders (item, quantity, status, due) VALUES (?1, ?2, ?3, ?4)",
        params![item, quantity, status, due],
    )?;
    all.execute("UPDATE item SET stock = stock - ?1 WHERE id = ?2", params![quantity, item]).map(drop)
}

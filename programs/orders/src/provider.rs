//! The provider of payments, which takes its time.

use std::time::Duration;

/// The number of the order makes a repeated charge the same charge.
pub async fn charge(order: i64) -> String {
    tokio::time::sleep(Duration::from_secs(1)).await;
    format!("receipt {order}")
}

//! A direct connection to the Redis of a store, for comparisons.

use crate::store::Store;
use cotter_console::{Exit, Failure};
use redis::IntoConnectionInfo;
use redis::aio::MultiplexedConnection;

/// `None` if the store is not a Redis, or needs more than an address and a password.
pub(crate) async fn connect(store: &dyn Store) -> Result<Option<MultiplexedConnection>, Failure> {
    let Some(address) = address(store.secret_url()) else { return Ok(None) };
    let mut info = address.into_connection_info().map_err(unreachable)?;
    if let Some(password) = store.password()? {
        let settings = info.redis_settings().clone().set_password(password);
        info = info.set_redis_settings(settings);
    }
    let client = redis::Client::open(info).map_err(unreachable)?;
    client.get_multiplexed_async_connection().await.map(Some).map_err(unreachable)
}

/// The URL for the driver, without the options that only cotter knows.
fn address(url: &str) -> Option<String> {
    let plain = url.split_once('?').map_or(url, |(plain, _)| plain);
    match plain.split_once(':') {
        Some(("redis", _)) => Some(plain.to_owned()),
        Some(("unix", path)) => Some(format!("unix://{}", path.trim_start_matches("//"))),
        _ => None,
    }
}

fn unreachable(error: redis::RedisError) -> Failure {
    Failure::new(Exit::Unreachable, format!("the store cannot be reached: {error}"))
}

//! A direct connection to the Redis of a store, for comparisons.

use crate::server_url::ServerUrl;
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
    let ServerUrl { scheme, rest, .. } = ServerUrl::of(url);
    match &*scheme {
        "redis" => Some(format!("redis:{rest}")),
        "unix" => Some(format!("unix://{}", rest.trim_start_matches("//"))),
        _ => None,
    }
}

fn unreachable(error: redis::RedisError) -> Failure {
    Failure::new(Exit::Unreachable, format!("the store cannot be reached: {error}"))
}

#[cfg(test)]
mod tests {
    use super::address;

    #[test]
    fn the_driver_gets_the_address_only() {
        for (url, expected) in [
            ("redis://:pw@h:1/2?retain=1s", Some("redis://:pw@h:1/2")),
            ("valkey://h", Some("redis://h")),
            (" REDIS://h\n", Some("redis://h")),
            ("unix:///run/redis.sock?db=1", Some("unix:///run/redis.sock")),
            ("rediss://h", None),
            ("valkeys://h", None),
            ("redis+sentinel://h/main", None),
            ("redis+cluster://h", None),
            ("mysql://h/db", None),
        ] {
            assert_eq!(address(url).as_deref(), expected, "{url}");
        }
    }
}

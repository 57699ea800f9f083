//! The store's own limit: bare commands through the driver that the backend uses.

use cotter_testkit::servers::Redis;
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Cmd, IntoConnectionInfo};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

static NEXT: AtomicU64 = AtomicU64::new(0);

/// A name that was never used.
pub(crate) fn fresh() -> String {
    format!("name {}", NEXT.fetch_add(1, Ordering::Relaxed))
}

fn id() -> String {
    format!("{:032x}", rand::random::<u128>())
}

/// Set up as the backend does it.
pub(crate) async fn wire(server: &Redis) -> MultiplexedConnection {
    let config = AsyncConnectionConfig::new()
        .set_response_timeout(Some(Duration::from_secs(2)))
        .set_pipeline_buffer_size(32);
    let info = format!("redis://127.0.0.1:{}", server.port()).into_connection_info().unwrap();
    let info = info.set_tcp_settings(redis::io::tcp::TcpSettings::default().set_nodelay(true));
    redis::Client::open(info).unwrap().get_multiplexed_async_connection_with_config(&config).await.unwrap()
}

/// The text of a step, as the backend sends it.
fn script(name: &str) -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../cotter/src/stores/redis/lua/");
    let source = std::fs::read_to_string(format!("{folder}{name}.lua")).unwrap();
    let mut body = String::new();
    for line in source.lines().map(str::trim) {
        if let Some(part) = line.strip_prefix("--@include ") {
            body += &script(part);
        } else if !line.is_empty() && !line.starts_with("--") {
            body += line;
            body.push('\n');
        }
    }
    body
}

/// The scripts of one server, loaded.
pub(crate) struct Scripts {
    acquire: String,
    release: String,
    delete: String,
    set: String,
}

impl Scripts {
    pub(crate) fn load(server: &Redis) -> Self {
        let load = |text: &str| server.command(&["SCRIPT", "LOAD", text]);
        let delete =
            "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0";
        Self {
            acquire: load(&format!("#!lua\n{}", script("acquire_free"))),
            release: load(&format!("#!lua flags=allow-oom\n{}", script("release_alone"))),
            delete: load(delete),
            set: load("return redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2])"),
        }
    }

    fn call(sha: &str, keys: &[&str], id: &str) -> Cmd {
        let mut cmd = redis::cmd("EVALSHA");
        cmd.arg(sha).arg(keys.len()).arg(keys).arg(id);
        cmd
    }

    /// The two scripts of the native lock.
    pub(super) async fn native(&self, wire: &mut MultiplexedConnection) {
        let [acquire, release] = self.pair(&fresh());
        assert!(acquire.query_async::<String>(wire).await.unwrap().starts_with('g'));
        assert_eq!(release.query_async::<String>(wire).await.unwrap(), "f");
    }

    /// The requests that acquire and release a name.
    pub(crate) fn pair(&self, name: &str) -> [Cmd; 2] {
        let (key, id) = (format!("cotter:{{{name}}}"), id());
        let queue = format!("{key}:q");
        let mut acquire = Self::call(&self.acquire, &[&*key, &queue], &id);
        acquire.arg("00000030000000").arg("00001").arg("host/1").arg("3690000");
        let mut release = Self::call(&self.release, &[&*key], &id);
        release.arg("00001").arg("60000");
        [acquire, release]
    }

    /// `SET NX PX` and compare-and-delete.
    pub(super) async fn plain(&self, wire: &mut MultiplexedConnection) {
        let (key, id) = (fresh(), id());
        let mut set = redis::cmd("SET");
        set.arg(&key).arg(&id).arg("NX").arg("PX").arg(30_000);
        let () = set.query_async(wire).await.unwrap();
        assert_eq!(Self::call(&self.delete, &[&key], &id).query_async::<u64>(wire).await.unwrap(), 1);
    }

    /// `SET NX PX` in a script.
    pub(super) async fn set(&self, wire: &mut MultiplexedConnection) {
        let () = Self::call(&self.set, &[&fresh()], &id()).arg(30_000).query_async(wire).await.unwrap();
    }
}

//! What people would use instead.

use super::raw::fresh;
use cotter_testkit::servers::Redis;
use rslock::LockManager;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

const TTL: Duration = Duration::from_secs(30);

/// On one server or several, separated by commas.
pub(crate) fn rslock(urls: &str) -> LockManager {
    LockManager::new(urls.split(',').map(str::to_owned).collect())
}

/// A name of its own.
pub(crate) async fn pair(manager: &LockManager) {
    let lock = manager.lock(&*fresh(), TTL).await.unwrap();
    manager.unlock(&lock).await;
}

/// The same with one name for all: its own way of waiting, again and again.
pub(super) async fn take(manager: &LockManager, name: &str, held: impl Fn()) {
    loop {
        if let Ok(lock) = manager.lock(name, TTL).await {
            held();
            return manager.unlock(&lock).await;
        }
    }
}

/// Thousands of pairs a second of redis-py in one thread; `None` where it is not installed.
pub(super) fn redis_py(server: &Redis) -> Option<f64> {
    let python = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/servers/python/bin/python");
    let code = format!(
        "import redis, time\n\
         r = redis.Redis(port={})\n\
         n, start = 0, time.time()\n\
         while time.time() - start < 2:\n\
         \x20   lock = r.lock('py %d' % n, timeout=30)\n\
         \x20   assert lock.acquire()\n\
         \x20   lock.release()\n\
         \x20   n += 1\n\
         print(n / (time.time() - start) / 1000)",
        server.port()
    );
    let said = Command::new(python).args(["-c", &code]).output().ok()?;
    String::from_utf8(said.stdout).ok()?.trim().parse().ok()
}

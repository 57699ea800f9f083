//! Holds a lock, is stopped for 5 s and says what it believes at its first instruction afterwards.
use cotter::Client;
use sketches::advisory::Advisory;
use std::time::{Duration, Instant};

fn main() {
    let config = "host=127.0.0.1 port=54391 user=postgres application_name=stopped".into();
    let client = Client::builder()
        .backend(Advisory { config, lasts: Duration::from_secs(2) })
        .connect()
        .wait()
        .unwrap();
    let guard = client.mutex("stopped").lock().wait().unwrap();
    std::thread::sleep(Duration::from_secs(3));
    println!("valid {} remaining {:?}", guard.is_valid(), guard.remaining());
    let pid = std::process::id();
    let sh = format!(
        "kill -STOP {pid}; s=$(date +%s%N); until [ $(/usr/lib/postgresql/15/bin/psql -h 127.0.0.1 -p 54391 -U postgres -Atc \
         \"select count(*) from pg_locks l join pg_stat_activity a using (pid) where locktype = 'advisory' and application_name = 'stopped'\") = 0 ]; do :; done; \
         echo server let go after $(( ($(date +%s%N) - s) / 1000000 )) ms; sleep 2; kill -CONT {pid}"
    );
    let mut child = std::process::Command::new("sh").args(["-c", &sh]).spawn().unwrap();
    let mut last = Instant::now();
    loop {
        let valid = guard.is_valid();
        if last.elapsed() > Duration::from_secs(1) {
            println!(
                "after {:?}: valid {valid} remaining {:?} check {:?}",
                last.elapsed(),
                guard.remaining(),
                guard.check().map_err(|e| e.to_string())
            );
            break;
        }
        last = Instant::now();
        std::thread::sleep(Duration::from_millis(1));
    }
    child.wait().unwrap();
}

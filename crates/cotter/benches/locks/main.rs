//! What locks cost here, each figure beside a yardstick of the same run: `cargo bench -p cotter --bench locks [PART]…`.
#![allow(clippy::print_stdout, reason = "a benchmark talks")]

mod file;
mod handover;
mod pair;
mod redis;
mod renewal;
mod rounds;

fn main() {
    if file::is_child() {
        return file::child();
    }
    if redis::is_child() {
        return redis::child();
    }
    let wanted: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    let parts: [(&str, fn()); 10] = [
        ("pair", pair::run),
        ("handover", handover::run),
        ("file-pair", file::pair),
        ("file-handover", file::handover),
        ("renewal", renewal::run),
        ("redis-pairs", redis::pairs),
        ("redis-server", redis::server_time),
        ("redis-handover", redis::handover),
        ("redis-contended", redis::contended),
        ("redis-renewal", redis::renewal),
    ];
    for (name, part) in parts {
        if wanted.is_empty() || wanted.iter().any(|w| w == name) {
            println!("\n## {name}");
            part();
        }
    }
}

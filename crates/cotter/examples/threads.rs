//! Blocking code with threads and no runtime.
#![allow(clippy::print_stdout, reason = "an example prints")]

use cotter::{Client, Result};
use std::thread;

fn main() -> Result<()> {
    let url = std::env::args().nth(1).unwrap_or_else(|| "file:".to_owned());
    let client = Client::connect(url).wait()?;
    let workers: Vec<_> = (0..4)
        .map(|i| {
            let mutex = client.mutex("example:printer");
            thread::spawn(move || {
                let guard = mutex.lock().wait()?;
                println!("worker {i} prints under token {}", guard.token());
                guard.finish().wait()
            })
        })
        .collect();
    workers.into_iter().try_for_each(|w| w.join().expect("no worker panics"))
}

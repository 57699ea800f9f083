//! Program 9: blocking code with threads and no runtime.
#![allow(clippy::print_stdout, reason = "an example talks")]

use cotter::{Client, Result};
use std::thread;

fn main() -> Result<()> {
    let client = Client::connect("memory:").wait()?;
    let workers: Vec<_> = (0..4)
        .map(|i| {
            let mutex = client.mutex("printer");
            thread::spawn(move || -> Result<()> {
                let guard = mutex.lock().wait()?;
                println!("worker {i} prints under token {}", guard.token());
                Ok(())
            })
        })
        .collect();
    workers.into_iter().try_for_each(|w| w.join().expect("no worker panics"))
}

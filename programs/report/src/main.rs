//! A report that may be asked for at any time, and is made once at a time on this host: no server, no runtime.
//!
//! `report OUTPUT [FOLDER]`: locks are in FOLDER, or where the command line has them.

use cotter::{Client, Error, Guard};
use std::process::ExitCode;
use std::time::Duration;
use std::{env, fs, io, thread};

/// What there is to report, in parts.
const PARTS: [&str; 3] = ["orders", "payments", "returns"];

fn main() -> ExitCode {
    let mut arguments = env::args().skip(1);
    let Some(output) = arguments.next() else {
        eprintln!("usage: report OUTPUT [FOLDER]");
        return ExitCode::from(64);
    };
    let url = arguments.next().map_or("file:".into(), |folder| format!("file://{folder}"));
    match run(&url, &output) {
        Ok(true) => ExitCode::SUCCESS,
        // As `cotter run --no-wait` has it: try again later.
        Ok(false) => ExitCode::from(75),
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run(url: &str, output: &str) -> Result<bool, Box<dyn std::error::Error>> {
    let client = Client::builder().label("report").connect(url).wait()?;
    let Some(guard) = client.mutex("report").try_lock().wait()? else {
        let record = client.holder("report").wait()?;
        let holder = record.as_ref().and_then(|record| record.holders.first());
        println!("{} is making it", holder.map_or("somebody", |holder| &holder.label));
        return Ok(false);
    };
    let report = make(&guard)?;
    write(output, &report)?;
    println!("made under token {}", guard.token());
    guard.finish().wait()?;
    Ok(true)
}

fn make(guard: &Guard) -> Result<String, Error> {
    let mut report = String::new();
    for part in PARTS {
        guard.check()?; // somebody else may have begun
        thread::sleep(Duration::from_millis(500)); // the work
        report += &format!("{part}\n");
    }
    Ok(report)
}

/// Readers see the old report or the new one.
fn write(output: &str, report: &str) -> io::Result<()> {
    let new = format!("{output}.new");
    fs::write(&new, report)?;
    fs::rename(new, output)
}

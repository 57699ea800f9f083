//! `cotter latch`: waits until a number of parties have arrived.

use crate::store::Chosen;
use clap::{Args, Subcommand};
use cotter::{Client, LatchEnd, LatchState, Name};
use cotter_console::duration::{parse, words};
use cotter_console::{Console, Exit, Failure, clean};
use rustix::process::getppid;
use rustix::system::uname;
use serde_json::{Value, json};
use std::fs;
use std::io::Write;
use std::time::Duration;

/// Wait until a number of parties have finished
///
/// A latch is created for N parties and opens when N different parties have counted down. It stays open until it is deleted.
/// A party is identified by an id: counting down again with the same id counts once.
///
/// Exits with 0 on success, with 65 if the latch exists for a different number of parties, with 75 if `wait` gave up, and
/// with 1 if there is no such latch: it was deleted, or never created. `delete` exits with 0 in this case, too.
#[derive(Debug, Args)]
pub(crate) struct Latch {
    /// The name of the latch: 1 to 512 bytes, no control characters
    name: String,
    #[command(subcommand)]
    step: Step,
}

#[derive(Debug, Subcommand)]
enum Step {
    /// Create the latch; do nothing if it exists for the same number of parties
    Create {
        /// The number of parties, at most 1000
        #[arg(value_name = "N")]
        parties: u32,
    },
    /// Count down for a party, and print how many are left
    CountDown {
        /// The id of the party; the same id counts only once [default: this host and the calling process, unless that is the first one of a container]
        #[arg(long)]
        id: Option<String>,
    },
    /// Wait until it is open
    Wait {
        /// Give up after this time, for example 5s or 1m30s [default: never, as long as the store answers]
        #[arg(short, long, value_name = "DUR", allow_hyphen_values = true, value_parser = parse)]
        wait: Option<Duration>,
    },
    /// Show who has counted down
    Show,
    /// Delete it; its waiters wake up and exit with 1
    Delete,
}

/// Carries out one step.
pub(crate) async fn run(args: &Latch, store: &Chosen, console: &Console) -> Result<Exit, Failure> {
    let name = Name::new(&args.name)?;
    let client = store.connect(Client::builder(), console).await?;
    let latch = client.latch(&name);
    match &args.step {
        Step::Create { parties } => {
            latch.create(*parties).await?;
            say(console, &name, json!({ "of": parties }), None)
        }
        Step::CountDown { id } => {
            let id = id.clone().map_or_else(caller, Ok)?;
            let left = latch.count_down(id).await?;
            say(console, &name, json!({ "left": left }), Some(format!("{left} left")))
        }
        Step::Wait { wait } => {
            let end = match wait {
                Some(wait) => latch.wait_for(*wait).await?,
                None => Some(latch.wait().await?),
            };
            ended(end, wait.unwrap_or_default(), &name, console)
        }
        Step::Show => show(latch.state().await?, &name, console),
        Step::Delete => {
            latch.delete().await?;
            say(console, &name, json!({ "deleted": true }), None)
        }
    }
}

/// A script that repeats a step counts once.
///
/// Without a caller, as at the start of a container, or with one that has ended, there is nothing that would be the same at the next
/// call and different elsewhere.
fn caller() -> Result<String, Failure> {
    let parent = getppid().map_or(0, |pid| pid.as_raw_nonzero().get());
    if parent <= 1 {
        let why = "it is not known which process calls this (its parent is process 0 or 1, as in a container): give the party an id \
                   with --id";
        return Err(Failure::new(Exit::Usage, why));
    }
    Ok(party(&uname().nodename().to_string_lossy(), parent, birth(parent)))
}

/// What tells a process from others of this number, on hosts of this name: the kernel that runs it, its namespace of numbers, and
/// when it was started. `None` where the system does not say.
fn birth(pid: i32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // Its name, in parentheses, may contain anything.
    let started = stat.rsplit_once(')')?.1.split_whitespace().nth(19)?.to_owned();
    let namespace = fs::read_link("/proc/self/ns/pid").ok()?;
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(digest(&format!("{} {} {started}", boot.trim(), namespace.display())))
}

/// FNV-1a: the same in every version of this program.
fn digest(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

/// An id has up to 64 bytes, of which a process needs up to 20. A longer host is cut in the middle: hosts of one kind differ at
/// the beginning (`db-1.example.com`) or at the end (`worker-7d9f8b6c5d-x2x4z`), and their processes may have the same numbers.
fn party(host: &str, process: i32, birth: Option<u32>) -> String {
    let host: String = host.chars().filter(char::is_ascii_graphic).collect();
    let host = match host.len() {
        ..=43 => host,
        length => format!("{}~{}", &host[..21], &host[length - 21..]),
    };
    let birth = birth.map(|birth| format!("-{birth:08x}")).unwrap_or_default();
    format!("{host}/{process}{birth}")
}

fn ended(end: Option<LatchEnd>, waited: Duration, name: &Name, console: &Console) -> Result<Exit, Failure> {
    let word = match end {
        Some(LatchEnd::Open) => "open",
        Some(LatchEnd::Gone) => "gone",
        None => "closed",
        Some(_) => "unknown",
    };
    say(console, name, json!({ "state": word }), None)?;
    let name = clean(name);
    match end {
        Some(LatchEnd::Open) => Ok(Exit::Done),
        None => {
            console.remark(&format!("{name} is not open; gave up after {}", words(waited)));
            Ok(Exit::Busy(Exit::BUSY))
        }
        _ => Err(missing(&name)),
    }
}

fn show(state: Option<LatchState>, name: &Name, console: &Console) -> Result<Exit, Failure> {
    let Some(LatchState { of, left, parties, .. }) = state else {
        say(console, name, json!({ "exists": false }), None)?;
        return Err(missing(&clean(name)));
    };
    let more = json!({ "exists": true, "open": left == 0, "of": of, "left": left, "parties": parties });
    let mut lines = vec![format!("{}: {} of {of}, {left} left", clean(name), of - left)];
    lines.extend(parties.iter().map(|party| format!("  {}", clean(party))));
    say(console, name, more, Some(lines.join("\n")))
}

fn missing(name: &str) -> Failure {
    Failure::new(
        Exit::Free,
        format!("{name:?}: there is no latch of this name: it was deleted, or never created"),
    )
}

/// Prints an object with `--json`, otherwise the text, if there is one.
fn say(console: &Console, name: &Name, more: Value, text: Option<String>) -> Result<Exit, Failure> {
    let mut out = console.out();
    if console.json {
        let mut object = json!({ "name": name.as_str() });
        if let (Some(object), Value::Object(more)) = (object.as_object_mut(), more) {
            object.extend(more);
        }
        writeln!(out, "{object}")?;
    } else if let Some(text) = text.filter(|_| !console.quiet) {
        writeln!(out, "{text}")?;
    }
    Ok(Exit::Done)
}

#[cfg(test)]
mod tests {
    use super::{birth, party};

    #[test]
    fn processes_with_the_same_number_on_hosts_with_long_names_are_different_parties() {
        assert_eq!(party("web-3", 7, None), "web-3/7");
        let party = |host: &str, process| party(host, process, Some(u32::MAX));
        assert_eq!(party("web-3", 7), "web-3/7-ffffffff");
        let long = "nightly-import-of-the-orders-".repeat(2);
        let hosts = [0, 1].map(|n| [format!("{long}{n}"), format!("{n}{long}")]);
        let parties = hosts.each_ref().map(|hosts| hosts.each_ref().map(|host| party(host, i32::MAX)));
        for at in [0, 1] {
            assert_ne!(parties[0][at], parties[1][at]);
        }
        assert!(parties.iter().flatten().all(|party| party.len() <= 64), "{parties:?}");
        let worker = |end: &str| party(&format!("nightly-import-worker-deployment-7d9f8b6c5d-{end}"), 7);
        assert_ne!(worker("x2x4z"), worker("b9k8q"));
    }

    /// Two containers may have one name, and their processes the same numbers.
    #[test]
    fn a_process_is_told_from_others_of_its_number() {
        let own = i32::try_from(std::process::id()).unwrap();
        // A process counts in hundredths of a second.
        std::thread::sleep(std::time::Duration::from_millis(30));
        let mut other = std::process::Command::new("sleep").arg("5").spawn().unwrap();
        let of_other = birth(i32::try_from(other.id()).unwrap());
        assert!(birth(own).is_some() && birth(own) == birth(own) && of_other != birth(own));
        other.kill().unwrap();
        other.wait().unwrap();
        assert_eq!(party("web", 1, Some(1)), "web/1-00000001");
        assert_ne!(party("web", 1, Some(1)), party("web", 1, Some(2)));
    }
}

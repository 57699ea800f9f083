//! `cotter evict`: takes a lock away from its holder.

use crate::store::Chosen;
use clap::Args;
use cotter::{Client, EvictOrder, Eviction, FencingToken, Name};
use cotter_console::eviction::{after, must_exit, not_held};
use cotter_console::{Console, Exit, Failure, clean};
use serde_json::json;
use std::io::Write;

/// Take a lock away from its holder
///
/// The holder is notified at its next renewal, and the lock passes on when the lease ends. If several hold it, as readers or
/// with permits, all of them are evicted unless a token is given.
///
/// Exits with 0 if the lock is not held, or no longer held, and with 75 if it is still held because it is tied to
/// a process: no store can take such a lock away. The message names the process that has to end.
#[derive(Debug, Args)]
pub(crate) struct Evict {
    /// The name of the lock
    pub(crate) name: String,
    /// Evict only the holder with this token
    #[arg(long, value_name = "N")]
    pub(crate) token: Option<u64>,
    /// Pass the lock on immediately: the next holder may start before this one has noticed
    #[arg(long)]
    pub(crate) now: bool,
}

/// Takes a lock away, or reports why that is not possible.
pub(crate) async fn run(args: &Evict, store: &Chosen, console: &Console) -> Result<Exit, Failure> {
    let name = Name::new(&args.name)?;
    let client = store.connect(Client::builder(), console).await?;
    let mut order = EvictOrder::new();
    order.token = args.token.map(FencingToken::from);
    order.now = args.now;
    match client.admin().evict_with(&name, order).await? {
        Eviction::Evicted { token } => {
            let more = json!({ "token": token.to_string() });
            let then = if args.now { AT_ONCE } else { after(&client, &name, token).await };
            print(console, &name, "evicted", more, &format!("evicted (token {token}){then}"))?;
            Ok(Exit::Done)
        }
        Eviction::NotHeld => {
            print(console, &name, "not_held", json!({}), &not_held(args.token))?;
            Ok(Exit::Done)
        }
        Eviction::HolderMustExit { pid } => {
            if console.json {
                print(console, &name, "holder_must_exit", json!({ "pid": pid }), "")?;
            }
            Err(Failure::new(Exit::Busy(Exit::BUSY), must_exit(&name, pid)))
        }
        _ => Err(Failure::new(
            Exit::Protocol,
            "the store returned a result that this version of cotter does not know",
        )),
    }
}

const AT_ONCE: &str = " immediately: its holder may continue for up to its ttl";

fn print(
    console: &Console,
    name: &str,
    result: &str,
    more: serde_json::Value,
    text: &str,
) -> Result<(), Failure> {
    let mut out = console.out();
    if !console.json {
        writeln!(out, "{}: {text}", clean(name))?;
        return Ok(());
    }
    let mut object = json!({ "name": name, "result": result });
    if let (Some(object), serde_json::Value::Object(more)) = (object.as_object_mut(), more) {
        object.extend(more);
    }
    writeln!(out, "{object}")?;
    Ok(())
}

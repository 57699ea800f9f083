//! `cotter evict`: takes a lock away from its holder.

use crate::store::Chosen;
use clap::Args;
use cotter::{Client, EvictOrder, Eviction, FencingToken, Filter, Name, Record};
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
            let by = args.token.map(|token| format!(" with token {token}")).unwrap_or_default();
            print(console, &name, "not_held", json!({}), &format!("not held by anybody{by}; nothing to do"))?;
            Ok(Exit::Done)
        }
        Eviction::HolderMustExit { pid } => {
            if console.json {
                print(console, &name, "holder_must_exit", json!({ "pid": pid }), "")?;
            }
            let why = format!(
                "{:?}: the lock is tied to process {pid} and ends with it: end that process (kill {pid})",
                clean(&name)
            );
            Err(Failure::new(Exit::Busy(Exit::BUSY), why))
        }
        _ => Err(Failure::new(
            Exit::Protocol,
            "the store returned a result that this version of cotter does not know",
        )),
    }
}

const AT_ONCE: &str = " immediately: its holder may continue for up to its ttl";

/// What happens after an eviction. A store deletes the entry of a holder that it cannot notify: a key of etcd without a lease, or
/// one of another client.
async fn after(client: &Client, name: &Name, token: FencingToken) -> &'static str {
    let left = client.admin().list(Filter::exactly(name).with_free()).next().await;
    let is_gone = |record: &Record| record.holders.iter().all(|holder| !holder.owns(token));
    match left {
        Ok(None) => ": it no longer holds the lock",
        Ok(Some(record)) if is_gone(&record) && record.unlisted == 0 => ": it no longer holds the lock",
        _ => ": its holder is notified at its next renewal, and the lock passes on when its lease ends",
    }
}

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

//! `cotter list`: all locks that are held.

use crate::show;
use crate::store::Chosen;
use crate::table;
use crate::watching::{Changes, Watch, page, watch};
use clap::Args;
use cotter::{Client, Filter, Name, Record};
use cotter_console::duration::{since, words};
use cotter_console::lock::{self, mode, permits, token};
use cotter_console::{Console, Exit, Failure, clean};
use std::collections::BTreeMap;
use std::io::Write;

/// List the locks that are held
///
/// Sorted by name, with one line per holder; a shared lock and a semaphore can have several. PERMITS is the number of permits
/// taken and their limit.
#[derive(Debug, Args)]
pub(crate) struct List {
    /// List only names that begin with this
    pub(crate) prefix: Option<String>,
    /// Include free names, as far as the store remembers them
    #[arg(long)]
    pub(crate) all: bool,
    /// Show all columns: also MODE, PERMITS and WAITING where they say nothing, and TOKEN
    #[arg(long)]
    pub(crate) wide: bool,
    #[command(flatten)]
    pub(crate) again: Watch,
}

/// Prints the locks, as a table or as JSON.
pub(crate) async fn run(args: &List, store: &Chosen, console: &Console) -> Result<Exit, Failure> {
    let client = store.connect(Client::builder(), console).await?;
    let Some(every) = args.again.watch else {
        let (records, cautions) = look(args, &client).await?;
        cautions.iter().for_each(|caution| console.warning(caution));
        if console.json {
            records.values().try_for_each(|record| writeln!(console.out(), "{}", show::json(record)))?;
            return Ok(Exit::Done);
        }
        print(&records, args, &client, console)?;
        return Ok(Exit::Done);
    };
    let (mut known, mut told) = (Changes::default(), Vec::new());
    watch(every, console, async || {
        let (records, cautions) = look(args, &client).await?;
        let warn = |cautions: &[String]| cautions.iter().for_each(|caution| console.warning(caution));
        if console.json {
            if told != cautions {
                warn(&cautions);
                told = cautions;
            }
            return print_changes(&records, &mut known, console);
        }
        page(|| {
            warn(&cautions);
            print(&records, args, &client, console)
        })
    })
    .await
}

/// The locks, and what has to be said about the list.
async fn look(args: &List, client: &Client) -> Result<(BTreeMap<Name, Record>, Vec<String>), Failure> {
    let mut filter = Filter::prefix(args.prefix.clone().unwrap_or_default());
    if args.all {
        filter = filter.with_free();
    }
    Ok(lock::list(client, filter).await?)
}

/// Prints the locks that have changed, and those that are not listed any more. The time that is left always changes.
fn print_changes(
    records: &BTreeMap<Name, Record>,
    known: &mut Changes<String>,
    console: &Console,
) -> Result<(), Failure> {
    let lasting = |record: &Record| {
        let mut record = record.clone();
        record.holders.iter_mut().for_each(|holder| holder.remaining = None);
        show::json(&record)
    };
    let now = records.iter().map(|(name, record)| (name.to_string(), lasting(record))).collect();
    known.print("name", now, |name| records.get(name).map(show::json), console)
}

fn print(
    records: &BTreeMap<Name, Record>,
    args: &List,
    client: &Client,
    console: &Console,
) -> Result<(), Failure> {
    for record in records.values() {
        if let Some(problem) = &record.problem {
            console.warning(&format!("{}: {}", clean(&record.name), clean(problem)));
        }
    }
    let rows: Vec<_> = records.values().flat_map(lines).collect();
    if rows.is_empty() {
        let (whose, which) = (clean(&client.info().instance), beginning(args));
        console.confirm(&match args.all {
            true => format!("no lock{which} is known in {whose}"),
            false => format!("no lock{which} is held in {whose}"),
        });
    }
    let taken = records.values().flat_map(taken);
    let rows: Vec<Vec<String>> = rows.into_iter().zip(taken).map(|(row, taken)| with(row, taken)).collect();
    let shown: Vec<usize> = (0..HEAD.len()).filter(|column| args.wide || is_told(*column, &rows)).collect();
    let head: Vec<&str> = shown.iter().map(|column| HEAD[*column]).collect();
    let rows = rows.into_iter().map(|row| shown.iter().map(|column| row[*column].clone()).collect());
    table::print_some(&head, rows.collect(), console)
}

/// The columns, and what is usual in those that are left out where all is as usual. A token is for programs, and for `show`.
const HEAD: [&str; 8] = ["NAME", "HELD BY", "MODE", "HELD FOR", "LEFT", "TOKEN", "WAITING", "PERMITS"];
const USUAL: [Option<&[&str]>; 8] =
    [None, None, Some(&["exclusive", "-"]), None, None, Some(&[]), Some(&["0", "-"]), Some(&["-"])];

/// Returns true if a column says something.
fn is_told(column: usize, rows: &[Vec<String>]) -> bool {
    let is_usual = |cell: &str, usual: &[&str]| cell.is_empty() || usual.contains(&cell);
    let Some(usual) = USUAL[column] else { return true };
    !usual.is_empty() && !rows.iter().all(|row| is_usual(&row[column], usual))
}

/// A row with one more column.
fn with(row: [String; 7], last: String) -> Vec<String> {
    row.into_iter().chain([last]).collect()
}

/// The permits taken and their limit, for each line of a name.
fn taken(record: &Record) -> Vec<String> {
    let first = permits(record).map_or_else(|| "-".to_owned(), |p| format!("{}/{}", p.taken, p.limit));
    let rows = record.holders.len() + usize::from(record.unlisted > 0);
    let others = (1..rows).map(|_| String::new());
    std::iter::once(first).chain(others).collect()
}

fn beginning(args: &List) -> String {
    args.prefix.as_ref().map(|prefix| format!(" beginning with {:?}", clean(prefix))).unwrap_or_default()
}

/// One line per holder; columns that concern the name are filled only in the first.
fn lines(record: &Record) -> Vec<[String; 7]> {
    let none = || "-".to_owned();
    let waiting = record.waiters.map_or_else(none, |n| n.to_string());
    let name = clean(&record.name);
    if record.holders.is_empty() {
        let token = record.last_token.map_or_else(none, |t| t.to_string());
        let holder = if record.problem.is_some() { "unknown" } else { "nobody" };
        return vec![[name, holder.into(), none(), none(), none(), token, waiting]];
    }
    let line = |(i, holder): (usize, &cotter::Holder)| {
        let first = |text: &str| if i == 0 { text.to_owned() } else { String::new() };
        [
            first(&name),
            clean(&holder.label),
            mode(holder.mode),
            holder.since.map_or_else(none, |then| words(since(then))),
            holder.remaining.map_or_else(none, words),
            token(holder).unwrap_or_else(none),
            first(&waiting),
        ]
    };
    let others = (record.unlisted > 0).then(|| {
        let [a, b, c, d, e, f] = [(); 6].map(|()| String::new());
        [a, format!("and {} more", record.unlisted), b, c, d, e, f]
    });
    record.holders.iter().enumerate().map(line).chain(others).collect()
}

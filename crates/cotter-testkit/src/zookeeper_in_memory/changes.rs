//! Requests that change the tree, alone or several together.

use super::jute::Writer;
use super::requests::{CHECK, CREATE, Created, DELETE, Request, SET};
use super::tree::{Code, Transaction, Tree};
use super::watches::Change;
use std::cmp::Ordering;

pub(super) const UNIMPLEMENTED: Code = -6;
/// What the operations behind one that has failed are answered with.
const RUNTIME_INCONSISTENCY: Code = -2;
/// In the place of the code of an operation that was not carried out, or at the end.
const NONE: i32 = -1;

/// An answer, and what has happened.
type Done = (Writer, Vec<(Change, String)>);

/// Changes the tree. The answer begins with `body`.
pub(super) fn carry_out(
    tree: &mut Tree,
    change: &Request,
    by: Transaction,
    body: Writer,
) -> Result<Done, Code> {
    Ok(match change {
        Request::Create { path, data, kind, answer } => {
            let path = tree.create(path, data, *kind, by)?;
            let body = body.text(&path);
            let body = if *answer == Created::Path { body } else { tree.get(&path)?.stat(body) };
            (body, vec![(Change::Created, path)])
        }
        Request::Delete { path, version } => {
            tree.delete(path, *version, by)?;
            (body, vec![(Change::Deleted, path.clone())])
        }
        Request::Set { path, data, version } => {
            let body = tree.set(path, data, *version, by)?.stat(body);
            (body, vec![(Change::Data, path.clone())])
        }
        Request::Check { path, version } => {
            tree.check(path, *version)?;
            (body, Vec::new())
        }
        Request::Multi(all) => all_or_none(tree, all, by, body),
        _ => return Err(UNIMPLEMENTED),
    })
}

/// If one of them fails, nothing has changed, and the answer says which.
fn all_or_none(tree: &mut Tree, all: &[Request], by: Transaction, body: Writer) -> Done {
    let (mut changed, mut events, mut results) = (tree.clone(), Vec::new(), Writer::default());
    for (number, change) in all.iter().enumerate() {
        match carry_out(&mut changed, change, by, head(results, code(change), 0)) {
            Ok((done, more)) => {
                results = done;
                events.extend(more);
            }
            Err(code) => return (end(failed(all.len(), number, code, body)), Vec::new()),
        }
    }
    *tree = changed;
    (end(body.then(&results)), events)
}

/// The results of so many, of which one has failed.
fn failed(of: usize, number: usize, code: Code, body: Writer) -> Writer {
    (0..of).fold(body, |body, other| {
        let code = match other.cmp(&number) {
            Ordering::Less => 0,
            Ordering::Equal => code,
            Ordering::Greater => RUNTIME_INCONSISTENCY,
        };
        head(body, NONE, code).int(code)
    })
}

fn head(body: Writer, what: i32, code: Code) -> Writer {
    body.int(what).flag(false).int(code)
}

fn end(body: Writer) -> Writer {
    body.int(NONE).flag(true).int(NONE)
}

fn code(change: &Request) -> i32 {
    match change {
        Request::Create { .. } => CREATE,
        Request::Delete { .. } => DELETE,
        Request::Set { .. } => SET,
        _ => CHECK,
    }
}

//! `--diff`: what starting with the file would change.

use super::file::File;
use super::serve::host;
use crate::config;
use crate::global::Global;
use crate::store;
use cotter::Client;
use cotter_console::{Console, Exit, Failure, clean};
use cotter_scheduler::{Comparison, Difference, Jobs, Label};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io::Write;

/// Prints a line for each job that differs from what is in effect. Changes nothing.
pub(super) async fn print(
    file: &File,
    labels: &[Label],
    global: &Global,
    console: &Console,
) -> Result<Exit, Failure> {
    let chosen = store::choose(global, file.place.as_ref(), config::environment)?.set_explicitly()?;
    let client = chosen.connect(Client::builder(), console).await?;
    let jobs = Jobs::new(&client, &file.group);
    let mut known: BTreeSet<_> = jobs.list().await?.into_iter().map(|job| job.name).collect();
    let specs = file.of_all_hosts(&host(), &labels.iter().cloned().collect(), &known);
    let all: Vec<_> = specs.iter().map(|spec| spec.job(|_| async {})).collect();
    let mut differs = false;
    for (spec, compared) in specs.iter().zip(jobs.compare(&all).await?) {
        known.remove(&spec.name);
        differs |= tell(&spec.name, Some(&compared), console)?;
    }
    for name in &known {
        differs |= tell(name, None, console)?;
    }
    if !differs {
        console.confirm("the file has the definitions that are in effect");
    }
    Ok(if differs { Exit::Unclean } else { Exit::Done })
}

/// Prints what is different about a job, or that the file does not have it. Returns whether there was anything.
fn tell(job: &str, compared: Option<&Comparison>, console: &Console) -> Result<bool, Failure> {
    let (change, text) = match compared {
        None => ("not_in_file", "not in the file".to_owned()),
        Some(Comparison::New) => ("new", "new".to_owned()),
        Some(Comparison::Differs { takes_effect: true, differences, .. }) => ("changed", all(differences)),
        Some(Comparison::Differs { differences, generation, by, .. }) => {
            let by = by.as_deref().map(|by| format!(" of host {}", clean(by))).unwrap_or_default();
            (
                "outranked",
                format!("{}; without effect: generation {generation}{by} is larger", all(differences)),
            )
        }
        Some(_) => return Ok(false),
    };
    match console.json {
        true => writeln!(console.out(), "{}", object(job, change, compared))?,
        false => writeln!(console.out(), "{}: {text}", clean(job))?,
    }
    Ok(true)
}

fn all(differences: &[Difference]) -> String {
    let one = |Difference { name, stored, here, .. }: &Difference| match &**name {
        "work" => "its work is another one, such as the command or its environment".to_owned(),
        "trigger" => format!("trigger {:?} instead of {:?}", clean(here), clean(stored)),
        _ => format!("{name} {} instead of {}", clean(here), clean(stored)),
    };
    match differences {
        [] => "a setting or the command is another one".to_owned(),
        some => some.iter().map(one).collect::<Vec<_>>().join(", "),
    }
}

fn object(job: &str, change: &str, compared: Option<&Comparison>) -> Value {
    let (mut list, mut of) = (Vec::new(), (None, None));
    if let Some(Comparison::Differs { differences, by, generation, .. }) = compared {
        let one = |d: &Difference| json!({ "name": d.name, "stored": d.stored, "file": d.here });
        list = differences.iter().map(one).collect();
        of = (by.as_ref(), Some(generation));
    }
    json!({ "job": job, "change": change, "differences": list, "by": of.0, "generation": of.1 })
}

//! Help, and errors of the command line.

use crate::args::{self, Cli};
use clap::error::ErrorKind;
use clap::{ArgMatches, CommandFactory, Error};
use cotter_console::{Console, Exit, Failure};
use std::io::Write;

/// Prints the help, the version, or a one-line error.
pub(crate) fn answer(error: &Error) -> Exit {
    match error.kind() {
        ErrorKind::DisplayHelp => print(for_help().as_ref().unwrap_or(error)),
        ErrorKind::DisplayVersion => print(error),
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let _ = for_help().as_ref().unwrap_or(error).print();
            Exit::Usage
        }
        _ => fail(&Failure::usage(one_line(&error.render().to_string()))),
    }
}

/// The same with the help as people see it.
fn for_help() -> Option<Error> {
    args::for_help().try_get_matches_from(std::env::args_os()).err()
}

/// Prints what was asked for.
fn print(help: &Error) -> Exit {
    // The last line may not be complete, so that it is still in a buffer.
    match help.print().and_then(|()| std::io::stdout().flush()) {
        Ok(()) => Exit::Done,
        Err(error) => fail(&error.into()),
    }
}

fn fail(failure: &Failure) -> Exit {
    Console::new(clap::ColorChoice::Auto, false, false, false).failure(failure);
    failure.exit
}

/// Whether a command line with a mistake may be meant for this command: it is, or it names no command that can be made out, and
/// has this word.
pub(crate) fn may_be(command: &str) -> bool {
    let words = || std::env::args_os();
    let parsed = Cli::command().ignore_errors(true).try_get_matches_from(words());
    match parsed.as_ref().ok().and_then(ArgMatches::subcommand_name) {
        Some(name) => name == command,
        None => words().any(|word| word == command),
    }
}

/// Joins an error of clap to one line: the error is in the first paragraph, hints are in `tip:` lines.
fn one_line(text: &str) -> String {
    let text = text.strip_prefix("error: ").unwrap_or(text);
    let what = text.split("\n\n").next().unwrap_or_default();
    let what = plain(what.lines().map(str::trim).collect::<Vec<_>>().join(" "));
    let tips = text.lines().filter_map(|line| line.trim().strip_prefix("tip: "));
    let tips: String = tips.map(|tip| format!("; {tip}")).collect();
    format!("{what}{tips}{}", where_to_look(text).unwrap_or_default())
}

/// The words of the standard library about a number say nothing to whoever has typed it.
fn plain(what: String) -> String {
    let bare = ["invalid digit found in string", "cannot parse integer from empty string"];
    match bare.iter().find_map(|words| what.strip_suffix(words)) {
        Some(before) => format!("{before}write a whole number"),
        None => what,
    }
}

/// A reference to the help of the command in the usage line. There is none for invalid values, because their messages say
/// what to write.
fn where_to_look(text: &str) -> Option<String> {
    let usage = text.lines().find_map(|line| line.trim().strip_prefix("Usage: "))?;
    let words = usage.split(' ').take_while(|word| word.starts_with(|c: char| c.is_ascii_lowercase()));
    Some(format!("; try '{} --help'", words.collect::<Vec<_>>().join(" ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_says_what_and_where_to_look() {
        let text = "error: unexpected argument '--wiat' found\n\n  tip: a similar argument exists: '--wait'\n\n\
                    Usage: cotter run [OPTIONS] <NAME> <CMD>...\n\nFor more information, try '--help'.\n";
        assert_eq!(
            one_line(text),
            "unexpected argument '--wiat' found; a similar argument exists: '--wait'; try 'cotter run --help'"
        );
        let text = "error: the following required arguments were not provided:\n  <NAME>\n  <CMD>...\n\nUsage: cotter run <NAME> <CMD>...\n";
        assert_eq!(
            one_line(text),
            "the following required arguments were not provided: <NAME> <CMD>...; try 'cotter run --help'"
        );
    }
}

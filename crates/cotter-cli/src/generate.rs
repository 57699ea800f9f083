//! Shell completions and manual pages, generated from the declaration of the command line.

use crate::args::{self, Cli, Completions, Man};
use crate::exit_codes;
use clap::{Command, CommandFactory};
use clap_mangen::roff::{Roff, roman};
use cotter_console::{Console, Exit, Failure};
use std::io::Write;

/// Prints shell completions.
pub(crate) fn completions(args: &Completions, console: &Console) -> Result<Exit, Failure> {
    no_json(console, "completions")?;
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut offered(), "cotter", &mut script);
    console.out().write_all(&script)?;
    Ok(Exit::Done)
}

/// The command line as completions offer it: each command has the global options that it takes.
fn offered() -> Command {
    let cotter = visible(&Cli::command());
    let globals: Vec<_> = cotter.get_arguments().filter(|arg| arg.is_global_set()).cloned().collect();
    cotter.mut_args(|arg| arg.global(false)).mut_subcommands(|command| {
        let name = command.get_name().to_owned();
        command.args(globals.iter().filter(|arg| args::takes(&name, arg)))
    })
}

/// The command without what its help hides, which the generators of completions would offer.
fn visible(command: &Command) -> Command {
    let about = command.get_about().cloned().unwrap_or_default();
    let aliases: Vec<_> = command.get_visible_aliases().map(str::to_owned).collect();
    let mut bare = Command::new(command.get_name().to_owned()).about(about).visible_aliases(aliases);
    if let Some(version) = command.get_version() {
        bare = bare.version(version.to_owned());
    }
    let bare = bare.args(command.get_arguments().filter(|arg| !arg.is_hide_set()).cloned());
    bare.subcommands(command.get_subcommands().filter(|command| !command.is_hide_set()).map(visible))
}

/// Prints the manual page of the program or of one command.
pub(crate) fn man(args: &Man, console: &Console) -> Result<Exit, Failure> {
    no_json(console, "man")?;
    let mut cotter = Cli::command();
    cotter.build();
    let page = match &args.command {
        None => page(cotter, Some("run"))?,
        Some(name) => page(
            taken(subcommand(&cotter, name)?),
            Some(&**name).filter(|name| ["run", "elect"].contains(name)),
        )?,
    };
    console.out().write_all(&page)?;
    Ok(Exit::Done)
}

/// The command without the global options that it does not take.
fn taken(command: Command) -> Command {
    let name = command.get_name().to_owned();
    command.mut_args(|arg| if args::takes(&name, &arg) { arg } else { arg.hide(true) })
}

fn subcommand(cotter: &Command, name: &str) -> Result<Command, Failure> {
    let found = cotter.find_subcommand(name).cloned();
    found.ok_or_else(|| {
        let known: Vec<_> = cotter.get_subcommands().map(Command::get_name).collect();
        Failure::usage(format!("there is no command {name:?}: the commands are {}", known.join(", ")))
    })
}

/// A manual page, with the exit codes of `run` or `elect`; the tables after the options have sections of their own.
fn page(command: Command, codes_of: Option<&str>) -> Result<Vec<u8>, Failure> {
    let (has_subcommands, is_program) = (command.has_subcommands(), command.get_version().is_some());
    let man = clap_mangen::Man::new(command.after_long_help(None::<&str>));
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if has_subcommands {
        man.render_subcommands_section(&mut page)?;
    }
    if is_program {
        which_store().to_writer(&mut page)?;
    }
    if let Some(name) = codes_of {
        exit_status(name).to_writer(&mut page)?;
    }
    if is_program {
        man.render_version_section(&mut page)?;
    }
    Ok(page)
}

fn which_store() -> Roff {
    let mut roff = Roff::new();
    roff.control("SH", ["STORES"]).control("nf", []);
    roff.text(args::WHERE.lines().flat_map(|line| [roman(line), roman("\n")]).collect::<Vec<_>>());
    roff.control("fi", []);
    roff
}

fn exit_status(command: &str) -> Roff {
    let mut roff = Roff::new();
    roff.control("SH", ["EXIT STATUS"]);
    for (code, meaning) in exit_codes::rows(command) {
        roff.control("TP", []).text([roman(*code)]).text([roman(*meaning)]);
    }
    roff
}

fn no_json(console: &Console, command: &str) -> Result<(), Failure> {
    if console.json {
        return Err(Failure::usage(format!("--json has no effect on `cotter {command}`: leave it out")));
    }
    Ok(())
}

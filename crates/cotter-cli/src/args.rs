//! The command line as it is declared. Reading it does nothing yet.

use crate::bench::Bench;
use crate::cron::Cron;
use crate::demo::Demo;
use crate::doctor::Doctor;
use crate::evict::Evict;
use crate::global::Global;
use crate::jobs::Jobs;
use crate::list::List;
use crate::run::Run;
use crate::schedule::Schedule;
use crate::show::Show;
use clap::{Arg, Args, CommandFactory, Parser, Subcommand};

/// Wider lines are hard to read.
const WIDTH: usize = 100;

/// Run commands under a distributed lock, and look after the locks.
#[derive(Debug, Parser)]
#[command(name = "cotter", version, max_term_width = WIDTH, after_long_help = WHERE)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What the manual page says about the place of the locks.
pub(crate) const WHERE: &str = "\
Which store, the first that is given:
  --url URL, --store NAME    the command line
  COTTER_STORE, COTTER_URL   the environment
  default = \"NAME\"           the configuration
  file:                      a directory of this user on this host

Named stores stand in ~/.config/cotter/config.toml (below $HOME) or /etc/cotter.toml:
  default = \"prod\"
  [store.prod]
  url = \"redis://redis.example\"
  password_file = \"/run/secrets/redis\"";

/// The part of it that is used most, and so often that making the rest would be felt.
#[derive(Debug, Parser)]
#[command(name = "cotter", disable_help_subcommand = true)]
struct Short {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: ShortCommand,
}

#[derive(Debug, Subcommand)]
enum ShortCommand {
    Run(Run),
}

/// Reads the command line of this process.
pub(crate) fn read() -> Result<Cli, clap::Error> {
    if std::env::args_os().nth(1).is_some_and(|word| word == "run")
        && let Ok(Short { global, command: ShortCommand::Run(run) }) = Short::try_parse()
    {
        return Ok(Cli { global, command: Command::Run(run) });
    }
    // What is wrong, or asks for help, is answered by the whole.
    Cli::try_parse()
}

/// With the options of every command in the help of each command in their short form: `cotter --help` has the long one.
pub(crate) fn with_short_globals() -> clap::Command {
    let cotter = Cli::command();
    let globals: Vec<_> = cotter.get_arguments().filter(|arg| arg.is_global_set()).cloned().collect();
    let list =
        clap::Command::new("").disable_help_flag(true).disable_version_flag(true).max_term_width(WIDTH);
    let list = list.help_template("{all-args}").args(globals.clone()).render_help().to_string();
    cotter.mut_subcommands(|command| with(command, &globals, &list))
}

fn with(command: clap::Command, globals: &[Arg], list: &str) -> clap::Command {
    let before = command.get_after_long_help().map(|text| format!("{text}\n")).unwrap_or_default();
    let command = command.after_long_help(format!("{before}{}", list.trim_end()));
    let command = command.args(globals.iter().map(|arg| arg.clone().hide_long_help(true)));
    command.mut_subcommands(|command| with(command, globals, list))
}

/// One variant for each command. Each has a module of its own, and is described where its arguments are.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Run(Run),
    #[command(visible_alias = "ls")]
    List(List),
    Show(Show),
    #[command(visible_alias = "break")]
    Evict(Evict),
    Doctor(Doctor),
    Schedule(Schedule),
    Jobs(Jobs),
    Cron(Cron),
    Bench(Bench),
    Demo(Demo),
    Completions(Completions),
    Man(Man),
}

/// Print the completions for a shell
#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// The shell
    pub(crate) shell: clap_complete::Shell,
}

/// Print the manual page
///
/// For example: cotter man run | man -l -
#[derive(Debug, Args)]
pub(crate) struct Man {
    /// The page of this command
    pub(crate) command: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_short_way_reads_what_the_whole_reads() {
        for line in ["run a true", "run -q -s --url memory: a -- sh -c x -- y", "run -w 5s --json a b -v"] {
            let words: Vec<_> = std::iter::once("cotter").chain(line.split(' ')).collect();
            let short = Short::try_parse_from(&words).unwrap();
            let whole = Cli::try_parse_from(&words).unwrap();
            let ShortCommand::Run(run) = short.command;
            let short = Cli { global: short.global, command: Command::Run(run) };
            assert_eq!(format!("{short:?}"), format!("{whole:?}"));
        }
    }
}

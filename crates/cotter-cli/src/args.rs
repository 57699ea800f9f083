//! The declaration of the command line. Parsing it has no effects.

use crate::cron::Cron;
use crate::doctor::Doctor;
use crate::elect::Elect;
use crate::evict::Evict;
use crate::global::Global;
use crate::grouped::grouped;
use crate::jobs::Jobs;
use crate::latch::Latch;
use crate::list::List;
use crate::migrate::Migrate;
use crate::prune::Prune;
use crate::run::Run;
use crate::schedule::Schedule;
use crate::show::Show;
use crate::ticket::{Acquire, Release, Renew};
use clap::{Arg, Args, CommandFactory, Parser, Subcommand};
use cotter_scheduler::Zone;
use std::sync::LazyLock;

/// The maximum width of help texts.
const WIDTH: usize = 100;

/// The version, and that of the data about time zones, on which `--version` has a line.
static LONG_VERSION: LazyLock<String> =
    LazyLock::new(|| format!("{}\ntime zones {}", env!("CARGO_PKG_VERSION"), Zone::data_version()));

/// Run commands under a distributed lock, and manage locks and scheduled jobs.
#[derive(Debug, Parser)]
#[command(name = "cotter", version, long_version = LONG_VERSION.as_str(), max_term_width = WIDTH, after_long_help = WHERE)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// How the store is chosen, for `--help` and the manual page.
pub(crate) const WHERE: &str = "\
The store is the first of these that is set:
  --url URL, --store NAME    the command line
  COTTER_STORE, COTTER_URL   the environment
  default = \"NAME\"           the configuration file
  file:                      a directory of the current user on this host

Named stores are defined in ~/.config/cotter/config.toml (under $HOME) or /etc/cotter.toml:
  default = \"prod\"
  [store.prod]
  url = \"redis://redis.example\"
  password_file = \"/run/secrets/redis\"";

/// Only `cotter run`: it is used so often that building the parsers of all other commands would be noticeable.
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

/// Parses the command line of this process.
pub(crate) fn read() -> Result<Cli, clap::Error> {
    if std::env::args_os().nth(1).is_some_and(|word| word == "run")
        && let Ok(Short { global, command: ShortCommand::Run(run) }) = Short::try_parse()
    {
        return Ok(Cli { global, command: Command::Run(run) });
    }
    // Errors and help come from the complete parser.
    Cli::try_parse()
}

/// The commands that refuse `--json`: what they print is not theirs, or is for a program that knows no JSON. `elect` takes it
/// together with `--observe`.
const WITHOUT_JSON: [&str; 3] = ["run", "completions", "man"];

/// Whether a command takes this global option.
pub(crate) fn takes(command: &str, global: &Arg) -> bool {
    global.get_id() != "json" || !WITHOUT_JSON.contains(&command)
}

/// The command line as its help shows it: the commands in groups, and the global options in short form in the help of each command;
/// `cotter --help` has the long form.
pub(crate) fn for_help() -> clap::Command {
    grouped(with_short_globals())
}

fn with_short_globals() -> clap::Command {
    let cotter = Cli::command();
    let globals: Vec<_> = cotter.get_arguments().filter(|arg| arg.is_global_set()).cloned().collect();
    cotter.mut_subcommands(|command| {
        let name = command.get_name().to_owned();
        let globals = globals.iter().map(|arg| arg.clone().hide(!takes(&name, arg))).collect::<Vec<_>>();
        with(command, &globals, &list(&globals))
    })
}

fn list(globals: &[Arg]) -> String {
    let list =
        clap::Command::new("").disable_help_flag(true).disable_version_flag(true).max_term_width(WIDTH);
    list.help_template("{all-args}").args(globals).render_help().to_string()
}

fn with(command: clap::Command, globals: &[Arg], list: &str) -> clap::Command {
    let before = command.get_after_long_help().map(|text| format!("{text}\n")).unwrap_or_default();
    let command = command.after_long_help(format!("{before}{}", list.trim_end()));
    let command = command.args(globals.iter().map(|arg| arg.clone().hide_long_help(true)));
    command.mut_subcommands(|command| with(command, globals, list))
}

/// The commands. Each has its own module, which declares and documents its arguments.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Run(Run),
    Elect(Elect),
    Latch(Latch),
    #[command(visible_alias = "ls")]
    List(List),
    Show(Show),
    #[command(visible_alias = "break")]
    Evict(Evict),
    Acquire(Acquire),
    Renew(Renew),
    Release(Release),
    Doctor(Doctor),
    Migrate(Migrate),
    Prune(Prune),
    Schedule(Schedule),
    Jobs(Jobs),
    Cron(Cron),
    #[cfg(feature = "dashboard")]
    Dashboard(cotter_dashboard::Dashboard),
    #[cfg(feature = "demo")]
    Bench(cotter_demo::Bench),
    #[cfg(feature = "demo")]
    Demo(cotter_demo::Demo),
    #[cfg(feature = "verify")]
    Verify(cotter_verify::Verify),
    Completions(Completions),
    Man(Man),
}

/// Print shell completions
#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// The shell to print completions for
    pub(crate) shell: clap_complete::Shell,
}

/// Print the manual page
///
/// For example: cotter man run | man -l -
#[derive(Debug, Args)]
pub(crate) struct Man {
    /// The command to print the manual page of [default: cotter itself]
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

    fn walk(command: &clap::Command, look: &mut impl FnMut(&clap::Command)) {
        look(command);
        command.get_subcommands().for_each(|command| walk(command, look));
    }

    /// A store that is away is given up, whatever the command.
    #[test]
    fn nothing_is_said_to_wait_forever() {
        let mut seen = 0;
        walk(&Cli::command(), &mut |command| {
            let wait = command.get_arguments().find(|arg| arg.get_long() == Some("wait"));
            for help in wait.into_iter().filter_map(Arg::get_help).map(ToString::to_string) {
                let is_told = help.contains("store") && !help.contains("forever");
                assert!(is_told, "{}: {help}", command.get_name());
                seen += 1;
            }
        });
        assert_eq!(seen, 6, "run, elect, acquire, latch, jobs trigger and jobs stop wait");
    }

    #[test]
    fn the_workbench_is_there_with_its_feature_only() {
        let has = |name: &str| Cli::command().find_subcommand(name).is_some();
        assert_eq!(["bench", "demo", "run"].map(has), [cfg!(feature = "demo"), cfg!(feature = "demo"), true]);
        assert_eq!(has("verify"), cfg!(feature = "verify"));
        assert_eq!(has("dashboard"), cfg!(feature = "dashboard"));
    }
}

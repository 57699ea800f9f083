//! The `cotter` command.
//!
//! | file | concept |
//! |---|---|
//! | `args`, `global`, `grouped`, `usage`, `generate` | the command line; global options; the list of commands in its help; usage errors and help; completions and manual pages |
//! | `run/`, `command/` | `cotter run`; a command under a guard, in its shim |
//! | `ticket/` | locks for scripts: `acquire`, `renew`, `release` |
//! | `elect/`, `latch` | `cotter elect`: a command under a leadership; `cotter latch` |
//! | `list`, `show`, `evict`, `doctor` | inspecting and evicting locks |
//! | `verify` | proving locks on a deployment |
//! | `migrate`, `prune` | creating the tables of a store; deleting the files of unused names |
//! | `schedule/`, `jobs`, `cron` | scheduled jobs; operating them; cron expressions |
//! | `store`, `config`, `password` | choosing the store; the configuration file; the password file |
//! | `table`, `watching` | tables; `--watch` |
//! | `prometheus`, `nearest` | the text format of Prometheus; suggestions |
//! | `exit_codes`, `raise` | the table of exit codes; ending by a signal |
//!
//! `cotter bench` and `cotter demo` are in `cotter-demo`, `cotter verify` and `cotter dashboard` in crates of their names, and what
//! all commands share is in `cotter-console`.

mod args;
mod command;
mod config;
mod cron;
mod doctor;
mod elect;
mod evict;
mod exit_codes;
mod generate;
mod global;
mod grouped;
mod jobs;
mod latch;
mod list;
mod migrate;
mod nearest;
mod password;
mod prometheus;
mod prune;
mod raise;
mod run;
mod schedule;
mod show;
mod store;
mod table;
mod ticket;
mod usage;
#[cfg(feature = "verify")]
mod verify;
mod watching;

use args::{Cli, Command};
use command::signals::{Signals, keep_children, keep_going_at_the_file_limit, until_stopped};
#[cfg(feature = "dashboard")]
use cotter::Client;
use cotter_console::{Console, Exit, Failure};
use std::process::ExitCode;

fn main() -> ExitCode {
    if std::env::args_os().nth(1).is_some_and(|word| word == command::shim::WORD) {
        return command::shim::main();
    }
    let cli = match args::read() {
        Ok(cli) => cli,
        Err(error) => {
            let exit = usage::answer(&error);
            if usage::may_be("acquire") {
                ticket::fail_in_shell(exit);
            }
            return exit.into();
        }
    };
    let global = &cli.global;
    let console = Console::new(global.color, global.quiet, global.verbose, global.json);
    let exit = dispatch(&cli, &console).unwrap_or_else(|failure| {
        console.failure(&failure);
        failure.exit
    });
    if matches!(cli.command, Command::Acquire(_)) {
        ticket::fail_in_shell(exit);
    }
    if matches!(cli.command, Command::Run(_) | Command::Elect(_) | Command::Acquire(_)) {
        raise::if_parent_expects_it(exit);
    }
    exit.into()
}

fn dispatch(cli: &Cli, console: &Console) -> Result<Exit, Failure> {
    match &cli.command {
        Command::Completions(args) => return generate::completions(args, console),
        Command::Man(args) => return generate::man(args, console),
        Command::Cron(args) => {
            args.doubt().iter().for_each(|doubt| console.warning(doubt));
            return Ok(args.run(cli.global.json, &mut console.out(), &mut console.err())?);
        }
        #[cfg(feature = "verify")]
        Command::Verify(args) if args.is_without_store() => return args.run_without_store(console),
        _ => {}
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|e| Failure::new(Exit::System, format!("cannot start: {e}")))?;
    runtime.block_on(async {
        keep_children()?;
        keep_going_at_the_file_limit()?;
        // These may take the store from a file.
        match &cli.command {
            Command::Schedule(args) => return schedule::run(args, &cli.global, console).await,
            Command::Jobs(args) => return until_stopped(jobs::run(args, &cli.global, console)).await,
            _ => {}
        }
        let store = store::choose(&cli.global, None, config::environment);
        if let Command::Run(args) = &cli.command {
            // Its report says so if there is no store.
            let known = store.as_ref().map_err(Failure::clone);
            let done = run::run(args, known, &mut Signals::listen()?, console).await;
            if let Ok(store) = &store {
                store.farewell().await;
            }
            return done;
        }
        let store = store?;
        let done = match &cli.command {
            // These listen for signals themselves.
            Command::Acquire(args) => ticket::acquire(args, &store, console).await,
            Command::Elect(args) => elect::run(args, &store, console).await,
            #[cfg(feature = "demo")]
            Command::Bench(args) => args.run(&store, console).await,
            #[cfg(feature = "demo")]
            Command::Demo(args) => args.run(&store, console).await,
            #[cfg(feature = "verify")]
            Command::Verify(args) => verify::run(args, &store, console).await,
            command => until_stopped(ask(command, &store, console)).await,
        };
        store.farewell().await;
        done
    })
}

/// Commands that a signal may end at any moment.
async fn ask(command: &Command, store: &store::Chosen, console: &Console) -> Result<Exit, Failure> {
    match command {
        Command::Renew(args) => ticket::renew(args, store, console).await,
        Command::Release(args) => ticket::release(args, store, console).await,
        Command::Latch(args) => latch::run(args, store, console).await,
        Command::List(args) => list::run(args, store, console).await,
        Command::Show(args) => show::run(args, store, console).await,
        Command::Evict(args) => evict::run(args, store, console).await,
        Command::Doctor(args) => doctor::run(args, store, console).await,
        Command::Migrate(args) => migrate::run(args, store, console).await,
        Command::Prune(args) => prune::run(args, store, console).await,
        #[cfg(feature = "dashboard")]
        Command::Dashboard(args) => args.run(store.connect(Client::builder(), console).await?, console).await,
        _ => unreachable!("answered above"),
    }
}

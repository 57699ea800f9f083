//! `cotter jobs`: inspection and control of the jobs of a group.
//!
//! | file | concept |
//! |---|---|
//! | `list` | the status of all jobs |
//! | `watch` | the same again and again |
//! | `unseen` | jobs of the file that nobody could make known |
//! | `arguments` | the arguments of a requested run |
//! | `hosts` | the schedulers that run |
//! | `forget` | jobs that were removed |
//! | `history`, `since` | which of the last runs; since when |
//! | `runs` | runs as tables and JSON |
//! | `check` | whether all is well |
//! | `log` | who has asked for what |
//! | `failed` | which jobs have failed lately |
//! | `trigger` | a run as soon as possible, also for slots that have passed |
//! | `stop` | the end of a run in progress |
//! | `one_shots` | runs at a time of their own |

pub(crate) mod arguments;
mod check;
mod failed;
mod forget;
mod history;
mod hosts;
mod list;
mod log;
mod one_shots;
mod runs;
mod since;
mod stop;
mod trigger;
mod unseen;
mod watch;

use crate::config;
use crate::global::Global;
use crate::schedule::file;
use crate::store::{self, StoreRef};
use crate::watching::Watch;
use clap::builder::NonEmptyStringValueParser;
use clap::{ArgGroup, Args, Subcommand};
use cotter::Client;
use cotter_console::duration::parse_positive;
use cotter_console::requests::{self, operator};
use cotter_console::{Console, Exit, Failure};
use cotter_scheduler::ErrorKind;
use list::Width;
use std::path::PathBuf;
use std::time::Duration;
use unseen::OnEach;

/// Inspect and control scheduled jobs
///
/// Requests are written to the store; every scheduler of the group sees them within a second or so.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("which").required(true).args(["file", "group"])))]
pub(crate) struct Jobs {
    /// Use the group and the store of this job file
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Use this group, in the store chosen as for other commands
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    group: Option<String>,
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List all jobs that have ever been started
    ///
    /// LAST 10 has a character for each of the last ten runs and attempts, the newest on the right: `.` for one that succeeded, `x` for
    /// one that did not, `r` for one that was replaced. With --file, jobs on each host that no host has had are named, too.
    #[command(visible_alias = "ls")]
    List {
        #[command(flatten)]
        again: Watch,
        /// Show all columns, and times of day instead of times from now
        #[arg(long)]
        wide: bool,
    },
    /// List the schedulers of the group that run
    ///
    /// A scheduler says that it runs when it starts, every two minutes, and when it ends. One that was killed is listed for up to
    /// five minutes. SEEN is when it last said so; BUSY and CLOCK OFF are as of then.
    Hosts,
    /// Start no more slots of a job until it is resumed; a run in progress is not affected
    Pause {
        #[command(flatten)]
        which: Which,
        /// End it by itself after this time, such as 2h; of two pauses, the later end counts
        #[arg(long = "for", value_name = "DURATION", value_parser = parse_positive)]
        lasting: Option<Duration>,
        /// The reason, for others to read
        #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
        reason: String,
    },
    /// Start slots again, from now on
    Resume {
        #[command(flatten)]
        which: Which,
    },
    /// Run a job once as soon as possible, even if it is paused
    ///
    /// Requests that wait for a run in progress count as one, except for those with arguments, each of which gets its own run.
    /// Exits with 75 if too many of these are waiting. With --slot, or --from and --to, it runs for slots that have passed, which the
    /// command sees as if it had been started for them.
    Trigger(trigger::Trigger),
    /// End the run of a job that is in progress, on whichever host
    ///
    /// The command gets TERM and later KILL, as when its scheduler is stopped and the grace period is over. The run is recorded as
    /// stopped by you, and is not repeated; later slots are not affected. Exits with 0 if the run has ended, also if it has done so
    /// by itself; with 1 if it has not within the time; and with 75 if no run is in progress.
    Stop(stop::Stop),
    /// Add one run of a job at a given time, and print its id
    ///
    /// It is kept in the store: a scheduler of the group runs it once, even if none is running now. Exits with 75 if too many
    /// runs are pending.
    AddOnce(one_shots::AddOnce),
    /// List the runs that were added and have not ended
    Pending,
    /// Cancel a run that was added; exits with 75 if no such run is waiting, for example because it has started
    Cancel {
        /// The id of the run
        id: String,
    },
    /// Show the last runs of all jobs, or of some, oldest first
    History(history::Which),
    /// List the jobs with runs that failed lately, the latest last: how often, when, where, why, and the last line of their output
    Failed(failed::Which),
    /// Show who has asked for what, and when: requests to the jobs, the last ones of each, newest last
    ///
    /// They are pause, resume, trigger, stop, add-once, cancel and forget, as far as they have changed anything.
    Log(log::Which),
    /// Report jobs that are overdue, have failed, or have no scheduler; exits with 1 if there are any
    ///
    /// A job is reported if something is due for longer than --max-overdue that no scheduler has started, if its last run has failed
    /// and is not repeated, and if no scheduler has it; and the group, if no scheduler runs. A job that is paused is not overdue. With
    /// --file, a job on each host that no host has had is reported as well.
    Check(check::Check),
    /// Forget a job that was removed: its state, its history, and any requests for it; exits with 75 while it is running
    Forget(forget::Forget),
}

/// One job, or all.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct Which {
    /// The name of the job within the group
    job: Option<String>,
    /// The whole group, including jobs that are added later
    #[arg(long)]
    all: bool,
}

/// Executes the command.
pub(crate) async fn run(args: &Jobs, global: &Global, console: &Console) -> Result<Exit, Failure> {
    let (group, place, on_each) = args.group()?;
    let chosen = store::choose(global, place.as_ref(), config::environment)?.set_explicitly()?;
    let client = chosen.connect(Client::builder(), console).await?;
    let jobs = cotter_scheduler::Jobs::new(&client, group).by(operator());
    match &args.action {
        Action::List { again: Watch { watch: None }, wide } => {
            let all = jobs.list().await?;
            list::print(&all, jobs.now().await?, Width::of(*wide), console)?;
            unseen::remark(&on_each, &all, console);
        }
        Action::List { again: Watch { watch: Some(every) }, wide } => {
            return watch::run(&jobs, *every, Width::of(*wide), console).await;
        }
        Action::Pause { which: Which { job, .. }, lasting, reason } => {
            let jobs = jobs.reason(reason);
            let jobs = match lasting {
                Some(time) => jobs.lasting(*time),
                None => jobs,
            };
            let done = match job {
                Some(job) => jobs.pause(job).await?,
                None => jobs.pause_all().await?,
            };
            say(console, done.changed, &requests::paused(job.as_deref(), &done));
        }
        Action::Resume { which: Which { job, .. } } => {
            let done = match job {
                Some(job) => jobs.resume(job).await?,
                None => jobs.resume_all().await?,
            };
            say(console, done.changed && done.pause.is_none(), &requests::resumed(job.as_deref(), &done));
        }
        Action::Trigger(which) => return trigger::run(&jobs, which, console).await,
        Action::Stop(which) => return stop::run(&jobs, which, console).await,
        Action::AddOnce(run) => {
            one_shots::add(&jobs, run, console).await?;
            hosts::remark_if_none(&jobs, &run.job, console).await;
        }
        Action::Hosts => hosts::print(&jobs, console).await?,
        Action::Pending => one_shots::print(&jobs.pending().await?, console)?,
        Action::Cancel { id } => return one_shots::cancel(&jobs, id, console).await,
        Action::History(which) => history::print(&jobs, which, console).await?,
        Action::Failed(which) => failed::print(&jobs, which, console).await?,
        Action::Log(which) => log::print(&jobs, which, console).await?,
        Action::Check(which) => return check::run(&jobs, which, &on_each, console).await,
        Action::Forget(which) => return forget::run(&jobs, which, console).await,
    }
    Ok(Exit::Done)
}

/// Confirms what was asked for where somebody looks, and says everywhere that something else is the case.
fn say(console: &Console, is_as_asked: bool, text: &str) {
    if is_as_asked { console.confirm(text) } else { console.remark(text) }
}

/// The failure of a request. Unlike the jobs of a file, what is wrong with it is on the command line.
fn refused(error: cotter_scheduler::Error) -> Failure {
    let is_wrong = error.kind() == ErrorKind::Job && error.store().is_none() && !error.is_retryable();
    let failure = Failure::from(error);
    if is_wrong { Failure::usage(failure.message) } else { failure }
}

impl Jobs {
    /// The group, its store, and the jobs of the file that run on each host.
    fn group(&self) -> Result<(String, Option<StoreRef>, Vec<OnEach>), Failure> {
        let Some(path) = &self.file else {
            return Ok((self.group.clone().unwrap_or_default(), None, Vec::new()));
        };
        match file::read(path)? {
            Ok(file) => {
                let on_each = OnEach::of(&file);
                Ok((file.group, file.place, on_each))
            }
            Err(mistakes) => {
                let first = mistakes.first().map(|mistake| mistake.of(path)).unwrap_or_default();
                let more = mistakes.len().saturating_sub(1);
                let rest = if more > 0 {
                    format!("; {more} more, see `cotter schedule --validate`")
                } else {
                    String::new()
                };
                Err(Failure::config(format!("{first}{rest}")))
            }
        }
    }
}

//! The options of every command.

use clap::{Args, ColorChoice};
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(next_help_heading = "Options of every command")]
pub(crate) struct Global {
    /// The store: memory:, file:, file:///DIR, flock:/PATH, redis://HOST/DB, rediss://HOST,
    /// unix:/SOCKET or sqlite:///PATH
    ///
    /// Do not put a password here: every user of the host can read it in the process list. Use --password-file, or put the
    /// URL into COTTER_URL or the configuration file.
    #[arg(long, global = true, value_name = "URL", conflicts_with = "store")]
    pub(crate) url: Option<String>,
    /// A named store from the configuration file
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) store: Option<String>,
    /// A file with the password of the store; a trailing line break is ignored
    ///
    /// Can also be set as COTTER_PASSWORD_FILE, or as password_file of a named store. Commands get only the path.
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) password_file: Option<PathBuf>,
    /// Print JSON, one object per line
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Suppress warnings and the waiting line
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Print which store is used and why, and what a run waits for
    #[arg(short, long, global = true)]
    pub(crate) verbose: bool,
    /// When to use colours
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: ColorChoice,
}

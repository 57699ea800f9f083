//! What every command understands.

use clap::{Args, ColorChoice};
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(next_help_heading = "Options of every command")]
pub(crate) struct Global {
    /// The store: memory:, file:, file:///DIR, flock:/PATH, redis://HOST/DB, rediss://HOST or unix:/SOCKET
    ///
    /// A password does not belong here, because everybody on the host can read it in the list of processes: give
    /// --password-file, or put such a URL into COTTER_URL or the configuration file.
    #[arg(long, global = true, value_name = "URL", conflicts_with = "store")]
    pub(crate) url: Option<String>,
    /// A store from the configuration file
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) store: Option<String>,
    /// A file with the password of the store; a line break at its end does not count
    ///
    /// Also COTTER_PASSWORD_FILE, and password_file of a named store. Only the path is passed on to commands.
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) password_file: Option<PathBuf>,
    /// Print JSON, one object a line
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// No word about waiting, and no warnings
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Say which store is used and why, and for whom a run waits
    #[arg(short, long, global = true)]
    pub(crate) verbose: bool,
    /// When to use colours
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: ColorChoice,
}

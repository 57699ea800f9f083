//! The options of every command.

use clap::{Args, ColorChoice};
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Global {
    /// Use the store at URL, such as file:///DIR or sqlite:///PATH
    #[arg(long, global = true, value_name = "URL", conflicts_with = "store", long_help = stores())]
    pub(crate) url: Option<String>,
    /// Use this store from the configuration file
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) store: Option<String>,
    /// Read the password of the store from FILE; a trailing newline is ignored
    ///
    /// Can also be set with COTTER_PASSWORD_FILE, or with password_file of a named store. Commands are given only the path.
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

/// The stores that this build has.
fn stores() -> String {
    let mut urls = vec!["memory:", "file:", "file:///DIR", "flock:/PATH"];
    if cfg!(feature = "redis") {
        urls.extend(["redis://HOST/DB", "rediss://HOST", "unix:///SOCKET"]);
        urls.extend(["redis+sentinel://HOST,HOST,HOST/SERVICE", "redis+cluster://HOST,HOST,HOST"]);
        urls.push("redlock://HOST,HOST,HOST");
    }
    urls.extend(cfg!(feature = "postgres").then_some("postgres://HOST/DATABASE"));
    urls.extend(cfg!(feature = "mysql").then_some("mysql://HOST/DATABASE"));
    urls.extend(cfg!(feature = "etcd").then_some("etcd://HOST,HOST"));
    urls.extend(cfg!(feature = "zookeeper").then_some("zookeeper://HOST,HOST"));
    let passwords = "Do not put a password here: every user on the host can see it in the process list. Use --password-file, \
                     or put the URL into COTTER_URL or the configuration file.";
    format!("Use the store at URL: {} or sqlite:///PATH\n\n{passwords}", urls.join(", "))
}

//! The arguments, and the start.

use crate::actions::Actions;
use crate::door::{Door, Secret};
use crate::{key_file, server};
use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use cotter::Client;
use cotter_console::{Console, Exit, Failure, clean};
use serde_json::json;
use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;
use tokio::net::TcpListener;

/// Show the locks of a store, and its jobs, in a browser
///
/// Serves pages that go on by themselves: who holds which lock, since when and for how long, how many wait, what the jobs
/// of a group do, and what `cotter doctor` says about the store. It asks the store once a second, however many
/// look, and not at all while nobody does. It changes nothing, unless --allow-changes is given.
#[derive(Debug, Args)]
pub struct Dashboard {
    /// The address to listen at; only this host may reach it
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8787", value_parser = on_this_host)]
    listen: SocketAddr,
    /// Show the jobs of this group as well; several are possible
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    group: Vec<String>,
    /// Let whoever has the key evict holders, and pause, resume, run and stop jobs
    ///
    /// All users of the host can reach the pages, so that a key is asked for: open the address that is printed for this once in each
    /// browser. The key is a new one at each start, unless there is a file with one.
    #[arg(long)]
    allow_changes: bool,
    /// Take the key from this file, which only its owner may read, and do not print it
    #[arg(long, value_name = "FILE", requires = "allow_changes")]
    key_file: Option<PathBuf>,
}

/// An address that others cannot reach: whoever reaches the pages reads the names of all locks and who holds them.
fn on_this_host(text: &str) -> Result<SocketAddr, String> {
    let at: SocketAddr =
        text.parse().map_err(|_| "not an address: write it like 127.0.0.1:8787 or [::1]:8787".to_owned())?;
    match at.ip().is_loopback() {
        true => Ok(at),
        false => Err(format!(
            "everybody who reaches {} could read all locks: listen at 127.0.0.1:{port}, and forward it with `ssh -L \
             {port}:127.0.0.1:{port} HOST`",
            at.ip(),
            port = at.port()
        )),
    }
}

impl Dashboard {
    /// Serves until it is dropped.
    ///
    /// # Errors
    /// The address cannot be listened at.
    pub async fn run(&self, client: Client, console: &Console) -> Result<Exit, Failure> {
        let failed =
            |error| Failure::new(Exit::Config, format!("--listen {}: cannot listen: {error}", self.listen));
        let listener = TcpListener::bind(self.listen).await.map_err(failed)?;
        let at = listener.local_addr().map_err(failed)?;
        let key = self.key()?;
        self.say(at, &client, key.as_ref(), console)?;
        let failed = |error| Failure::new(Exit::System, format!("cannot serve: {error}"));
        let actions = key.map(|key| Actions::new(Door::new(key), *console));
        server::serve(listener, client, &self.group, actions).await.map_err(failed)?;
        Ok(Exit::Done)
    }
}

impl Dashboard {
    /// What lets somebody change something, if anybody may.
    fn key(&self) -> Result<Option<Secret>, Failure> {
        match &self.key_file {
            Some(path) => key_file::read(path).map(Some),
            None => Ok(self.allow_changes.then(Secret::random)),
        }
    }

    /// Tells the addresses. A key that is in a file stays there.
    fn say(
        &self,
        at: SocketAddr,
        client: &Client,
        key: Option<&Secret>,
        console: &Console,
    ) -> Result<(), Failure> {
        let url = format!("http://{at}/");
        let with = key.filter(|_| self.key_file.is_none()).map(|key| format!("{url}?key={}", key.told()));
        let mut out = console.out();
        if console.json {
            writeln!(out, "{}", json!({ "url": url, "change_url": with }))?;
            return Ok(());
        }
        writeln!(out, "the locks of {} are at {url}", clean(&client.info().instance))?;
        match (with, key) {
            (Some(with), _) => writeln!(out, "whoever opens {with} may change something")?,
            (None, Some(_)) => {
                writeln!(out, "whoever opens {url}?key=KEY, with the key of the file, may change something")?
            }
            (None, None) => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_host_may_look() {
        for (text, says) in [
            ("0.0.0.0:8787", "127.0.0.1:8787"),
            ("[::]:80", "127.0.0.1:80"),
            ("192.0.2.1:8787", "ssh -L 8787:127.0.0.1:8787"),
            ("localhost", "127.0.0.1:8787"),
        ] {
            let why = on_this_host(text).unwrap_err();
            assert!(why.contains(says), "{text}: {why}");
        }
        assert!(on_this_host("127.0.0.1:0").is_ok() && on_this_host("[::1]:8787").is_ok());
    }
}

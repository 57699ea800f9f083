//! The arguments, and the start.

use crate::server;
use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use cotter::Client;
use cotter_console::{Console, Exit, Failure, clean};
use std::io::Write;
use std::net::SocketAddr;
use tokio::net::TcpListener;

/// Show the locks of a store, and its jobs, in a browser
///
/// Serves pages that go on by themselves: who holds which lock, since when and for how long, how many wait, what the jobs
/// of a group do, and what `cotter doctor` says about the store. It changes nothing, and asks the store once a second, however
/// many look, and not at all while nobody does.
#[derive(Debug, Args)]
pub struct Dashboard {
    /// The address to listen at; only this host may reach it
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8787", value_parser = on_this_host)]
    listen: SocketAddr,
    /// Show the jobs of this group as well; several are possible
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    group: Vec<String>,
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
        let store = clean(&client.info().instance);
        match console.json {
            true => writeln!(console.out(), "{{\"url\":\"http://{at}/\"}}")?,
            false => writeln!(console.out(), "the locks of {store} are at http://{at}/")?,
        }
        let failed = |error| Failure::new(Exit::System, format!("cannot serve: {error}"));
        server::serve(listener, client, &self.group).await.map_err(failed)?;
        Ok(Exit::Done)
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

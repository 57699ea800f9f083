//! Three sentinels of a Redis master.

use super::process::Process;
use super::{Redis, Wire, acl, free_port, logs};
use crate::timing::{first_within, until};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// How sentinels are to be started.
#[derive(Debug, Clone)]
pub struct SentinelsBuilder {
    down_after: Duration,
    failover_timeout: Duration,
    settings: String,
    password: Option<String>,
    /// The port of the master for TLS, if they and their clients use that.
    tls: Option<u16>,
}

/// Three running sentinels, of which two have to agree; they end when this is dropped.
#[derive(Debug)]
pub struct Sentinels {
    ports: Vec<u16>,
    tls_ports: Vec<u16>,
    processes: Vec<Process>,
    password: Option<String>,
    dir: TempDir,
}

const BINARY: &str = "redis-server";
const COUNT: usize = 3;
const START_TIMEOUT: Duration = Duration::from_secs(10);
/// What they call the master.
const NAME: &str = "store";

impl SentinelsBuilder {
    /// A master that is silent for this long is taken to be down.
    #[must_use]
    pub fn down_after(self, down_after: Duration) -> Self {
        Self { down_after, ..self }
    }

    /// The time for one attempt to replace it; after another one of these, an old master that is back is demoted.
    #[must_use]
    pub fn failover_timeout(self, failover_timeout: Duration) -> Self {
        Self { failover_timeout, ..self }
    }

    /// With a password, for clients and among each other.
    #[must_use]
    pub fn password(self, password: &str) -> Self {
        Self { password: Some(password.to_owned()), ..self }.with("requirepass", password)
    }

    /// One more setting.
    #[must_use]
    pub fn with(mut self, setting: &str, value: &str) -> Self {
        writeln!(self.settings, "{setting} {value}").expect("writing to a string succeeds");
        self
    }

    /// With TLS, by these files: among each other, to the master, whose port for it this is, and for clients.
    #[must_use]
    pub fn tls(self, [cert, key]: &[PathBuf; 2], ca: &Path, master_port: u16) -> Self {
        let files = [("tls-cert-file", &**cert), ("tls-key-file", &**key), ("tls-ca-cert-file", ca)];
        let this =
            files.iter().fold(self, |this, (setting, file)| this.with(setting, &file.display().to_string()));
        let this = this.with("tls-replication", "yes").with("tls-auth-clients", "no");
        Self { tls: Some(master_port), ..this }
    }

    /// Starts them, and waits until they have found each other and this many replicas.
    ///
    /// # Panics
    /// When they do not start, or `redis-server` is not in `PATH`.
    pub fn watch(self, master: &Redis, replicas: usize) -> Sentinels {
        let ports = || (0..COUNT).map(|_| free_port()).collect();
        let mut these = Sentinels {
            ports: ports(),
            tls_ports: ports(),
            processes: Vec::new(),
            password: self.password.clone(),
            dir: tempfile::tempdir().expect("a temporary folder"),
        };
        for number in 0..COUNT {
            let mut process = Process::default();
            process.start(&mut self.command(&these, number, self.tls.unwrap_or(master.port())));
            these.processes.push(process);
            let answers = || these.open(number).ok()?.command(&["PING"]).ok().filter(|said| said == "PONG");
            assert!(first_within(START_TIMEOUT, answers).is_some(), "the sentinel does not answer");
        }
        let counts = [("num-other-sentinels", COUNT - 1), ("num-slaves", replicas)];
        until("the sentinels know everybody", || {
            (0..COUNT).all(|number| {
                counts.iter().all(|(field, count)| these.says(number, field) == count.to_string())
            })
        });
        these
    }

    /// They know each other from the start: it would take them two seconds to meet.
    fn command(&self, these: &Sentinels, number: usize, master: u16) -> Command {
        let (folder, port) = (these.dir.path().join(number.to_string()), these.ports[number]);
        fs::create_dir(&folder).expect("it can be made");
        // They write to this file themselves what they learn.
        let (settings, log) = (folder.join("settings"), folder.join("log"));
        let tls = self.tls.map(|_| format!("tls-port {}\n", these.tls_ports[number])).unwrap_or_default();
        let id = |number: usize| format!("{:040x}", number + 1);
        let mut text = format!(
            "bind 127.0.0.1\nport {port}\ndir {}\n{tls}{}sentinel myid {}\nsentinel monitor {NAME} 127.0.0.1 {master} 2\n\
             sentinel down-after-milliseconds {NAME} {}\nsentinel failover-timeout {NAME} {}\n",
            folder.display(),
            self.settings,
            id(number),
            self.down_after.as_millis(),
            self.failover_timeout.as_millis(),
        );
        let met = if self.tls.is_some() { &these.tls_ports } else { &these.ports };
        for other in (0..COUNT).filter(|other| *other != number) {
            let (port, id) = (met[other], id(other));
            writeln!(text, "sentinel known-sentinel {NAME} 127.0.0.1 {port} {id}")
                .expect("writing to a string succeeds");
        }
        fs::write(&settings, text).expect("it can be written");
        let log = logs::open(&log).expect("a log");
        let mut command = Command::new(BINARY);
        command.arg(settings).arg("--sentinel").stdin(Stdio::null());
        command.stdout(log.try_clone().expect("one more handle")).stderr(log);
        command
    }
}

impl Sentinels {
    /// Settings before the start. By default, a master is down after a second, and one that is back is demoted after ten.
    pub fn builder() -> SentinelsBuilder {
        SentinelsBuilder {
            down_after: Duration::from_secs(1),
            failover_timeout: Duration::from_secs(10),
            settings: String::new(),
            password: None,
            tls: None,
        }
    }

    /// Starts them with defaults.
    ///
    /// # Panics
    /// As [`SentinelsBuilder::watch`].
    pub fn watching(master: &Redis, replicas: usize) -> Self {
        Self::builder().watch(master, replicas)
    }

    /// A URL with these options, for the user whom `docs/stores.md` gives to its mode.
    pub fn url(&self, options: &str) -> String {
        let credentials = acl::credentials(options);
        format!("redis+sentinel://{credentials}{}/{NAME}?{options}", self.addresses())
    }

    /// The same with TLS.
    pub fn tls_url(&self, options: &str) -> String {
        let url = self.url(options).replace("redis+sentinel:", "rediss+sentinel:");
        url.replace(&self.addresses(), &addresses(&self.tls_ports))
    }

    /// Their addresses, separated by commas.
    pub fn addresses(&self) -> String {
        addresses(&self.ports)
    }

    /// The port of each.
    pub fn ports(&self) -> &[u16] {
        &self.ports
    }

    /// The port of the server that is the master by the decision of the first one that answers.
    ///
    /// # Panics
    /// When none of them answers.
    pub fn master(&self) -> u16 {
        let ask = |number: usize| self.open(number)?.command(&["SENTINEL", "GET-MASTER-ADDR-BY-NAME", NAME]);
        let running = (0..COUNT).filter(|number| self.processes[*number].is_running());
        let said = running.map(ask).find_map(Result::ok).expect("a sentinel answers");
        said.lines().nth(1).and_then(|port| port.parse().ok()).unwrap_or_else(|| panic!("no address: {said}"))
    }

    /// Has them make a replica the master, although the master answers. False if they are not ready for that.
    ///
    /// # Panics
    /// When the first one does not answer.
    pub fn fail_over(&self) -> bool {
        self.ask(0, &["SENTINEL", "FAILOVER", NAME]) == "OK"
    }

    /// The answer of one of them to a command.
    ///
    /// # Panics
    /// When it does not answer.
    pub fn ask(&self, number: usize, words: &[&str]) -> String {
        self.open(number).and_then(|mut wire| wire.command(words)).expect("the sentinel answers")
    }

    /// Kills one of them.
    pub fn kill(&mut self, number: usize) {
        self.processes[number].kill();
    }

    /// Stops one of them as it is.
    pub fn stop(&self, number: usize) {
        self.processes[number].stop();
    }

    /// Lets it go on.
    pub fn go_on(&self, number: usize) {
        self.processes[number].go_on();
    }

    /// A field of what one of them says about the master.
    ///
    /// # Panics
    /// When it does not answer.
    pub fn says(&self, number: usize, field: &str) -> String {
        let said = self.ask(number, &["SENTINEL", "MASTER", NAME]);
        let mut lines = said.lines().skip_while(|line| *line != field).skip(1);
        lines.next().unwrap_or_default().to_owned()
    }

    fn open(&self, number: usize) -> std::io::Result<Wire> {
        let mut wire = Wire::open(self.ports[number])?;
        if let Some(password) = &self.password {
            wire.command(&["AUTH", password])?;
        }
        Ok(wire)
    }
}

fn addresses(ports: &[u16]) -> String {
    let each: Vec<_> = ports.iter().map(|port| format!("127.0.0.1:{port}")).collect();
    each.join(",")
}

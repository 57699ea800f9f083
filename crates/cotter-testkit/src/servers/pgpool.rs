//! pgpool2 before a primary and a standby of PostgreSQL.

use super::{Postgres, cluster, free_port, logs};
use crate::timing::first_within;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use std::fs;
use std::net::TcpStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// A running `pgpool`, which spreads what it takes for reads; ends when it is dropped.
#[derive(Debug)]
pub struct Pgpool {
    child: Child,
    port: u16,
    _dir: TempDir,
}

const START_TIMEOUT: Duration = Duration::from_secs(20);
const END_TIMEOUT: Duration = Duration::from_secs(10);

impl Pgpool {
    /// Starts it with its defaults, but for the weights: each session draws the standby for its reads, not one in two.
    ///
    /// # Panics
    /// When it does not start, or is not in `PATH`.
    pub fn before(primary: &Postgres, standby: &Postgres) -> Self {
        let (dir, port) = (tempfile::tempdir().expect("a temporary folder"), free_port());
        let file = |name: &str| dir.path().join(name);
        // Over the sockets of its servers, where nobody needs a password; so neither do its clients.
        let backends: String = [(primary, 0), (standby, 1)]
            .into_iter()
            .map(|(server, number)| {
                format!(
                    "backend_hostname{number} = '{}'\nbackend_port{number} = {}\nbackend_weight{number} = {number}\n",
                    server.dir().display(),
                    server.port(),
                )
            })
            .collect();
        let folder = dir.path().display();
        let settings = format!(
            "backend_clustering_mode = 'streaming_replication'\nload_balance_mode = on\n{backends}\
             listen_addresses = '127.0.0.1'\nport = {port}\nunix_socket_directories = '{folder}'\n\
             pcp_listen_addresses = ''\npcp_port = {port}\npcp_socket_dir = '{folder}'\n\
             wd_ipc_socket_dir = '{folder}'\npid_file_name = '{folder}/pid'\nlogdir = '{folder}'\n\
             num_init_children = 48\nmax_pool = 1\nsr_check_user = 'postgres'\nsr_check_period = 1\n"
        );
        fs::write(file("settings"), settings).expect("it can be written");
        fs::write(file("empty"), "").expect("it can be written");
        cluster::hand_over(dir.path()).expect("the folder can be given away");
        let log = logs::open(&file("log")).expect("a log");
        let mut command = cluster::program("pgpool").expect("scripts/servers installs pgpool2");
        command.arg("-n").arg("-f").arg(file("settings")).arg("-F").arg(file("empty"));
        command.arg("-a").arg(file("empty")).arg("-k").arg(file("empty"));
        command.stdin(Stdio::null()).stdout(log.try_clone().expect("one more handle")).stderr(log);
        // A group of its own, so that none of its processes can be left behind.
        let child = command.current_dir("/").process_group(0).spawn().expect("it starts");
        let mut pgpool = Self { child, port, _dir: dir };
        let listens = first_within(START_TIMEOUT, || {
            let ended = pgpool.child.try_wait().expect("it is ours");
            assert!(ended.is_none(), "pgpool has ended: {ended:?}");
            TcpStream::connect(("127.0.0.1", port)).ok()
        });
        assert!(listens.is_some(), "pgpool does not listen");
        pgpool
    }

    /// Its port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// A URL of the user `app` through it.
    pub fn url(&self, options: &str) -> String {
        format!("postgres://app:secret@127.0.0.1:{}/cotter?{options}", self.port)
    }
}

impl Drop for Pgpool {
    fn drop(&mut self) {
        // Asked to end, it gives the shared memory back that would stay on the machine.
        let pid = Pid::from_child(&self.child);
        let _ = kill_process(pid, Signal::INT);
        first_within(END_TIMEOUT, || self.child.try_wait().ok()?);
        let _ = kill_process_group(pid, Signal::KILL);
        let _ = self.child.wait();
    }
}

//! `etcd grpc-proxy`, which stands between many clients and a cluster.

use super::etcd::{BINARY, Etcd, START_TIMEOUT};
use super::free_port;
use super::process::Process;
use crate::timing::first_within;
use std::process::{Command, Stdio};

/// A running proxy before the first member of a cluster; ends when it is dropped.
#[derive(Debug)]
pub struct GrpcProxy {
    port: u16,
    /// Ends with it.
    _process: Process,
}

impl GrpcProxy {
    /// Starts one.
    ///
    /// # Panics
    /// When it does not start, or `etcd` is not in `PATH`.
    pub fn start(before: &Etcd) -> Self {
        let (port, mut process) = (free_port(), Process::default());
        let mut command = Command::new(BINARY);
        command
            .args(["grpc-proxy", "start", "--endpoints", &format!("127.0.0.1:{}", before.port(0))])
            .args(["--listen-addr", &format!("127.0.0.1:{port}")])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        process.start(&mut command);
        let healthy =
            || Etcd::ctl_of(port, &["endpoint", "health"]).output().ok()?.status.success().then_some(());
        assert!(first_within(START_TIMEOUT, healthy).is_some(), "the proxy does not answer");
        Self { port, _process: process }
    }

    /// A URL of the cluster through the proxy.
    pub fn url(&self) -> String {
        format!("etcd://127.0.0.1:{}", self.port)
    }
}

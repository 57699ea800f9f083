//! Reading the file again, while the jobs go on.

use super::file::{self, File, Mistake};
use super::serve::{Service, host, jobs, set_names};
use super::systemd;
use cotter_console::Failure;
use std::future::{Future, pending};
use std::path::PathBuf;
use std::pin::Pin;
use std::thread;
use tokio::sync::oneshot;

type Read = Result<Result<File, Vec<Mistake>>, Failure>;
type Step = Pin<Box<dyn Future<Output = Ended> + Send>>;

/// The new file, while it is read and until the scheduler has taken it over: signals must have an effect meanwhile.
#[derive(Default)]
pub(super) struct Reload {
    pending: Option<Step>,
    /// The file may have changed once more.
    again: bool,
}

/// What a step of a reload has led to.
pub(super) enum Ended {
    Read(Read),
    Replaced(File, cotter_scheduler::Result<()>),
}

impl Reload {
    /// Completes when the file has been read, and when the scheduler has taken over the new jobs, or refused them.
    pub(super) async fn ended(&mut self) -> Ended {
        match &mut self.pending {
            Some(step) => step.await,
            None => pending().await,
        }
    }
}

/// Reads the file in a thread of its own, because a pipe without a writer, or a file system whose server is gone, may take any
/// time. The thread does not keep cotter from ending.
fn read(path: PathBuf) -> Result<Step, Failure> {
    let (send, receive) = oneshot::channel();
    let reading = move || {
        // Nobody waits for it any more when cotter ends.
        let _ = send.send(file::read(&path));
    };
    match thread::Builder::new().name("job file".into()).spawn(reading) {
        Ok(_) => {
            Ok(Box::pin(async { Ended::Read(receive.await.expect("the thread sends what it has read")) }))
        }
        Err(error) => {
            Err(Failure::config(format!("the file cannot be read: no thread can be started: {error}")))
        }
    }
}

impl Service {
    /// Reads the file again. If it has mistakes, nothing changes.
    pub(super) fn reload(&mut self) {
        if self.stop.is_none() {
            return;
        }
        if self.reload.pending.is_some() {
            self.reload.again = true;
            return;
        }
        systemd::reloading();
        match read(self.file.path.clone()) {
            Ok(step) => self.reload.pending = Some(step),
            Err(failure) => self.unchanged(&failure.message),
        }
    }

    /// Goes on with a reload. While the scheduler stops, it is of no interest, and the service manager must not be told that
    /// cotter is ready.
    pub(super) fn reloaded(&mut self, ended: Ended) {
        self.reload.pending = None;
        if self.stop.is_none() {
            return;
        }
        match ended {
            Ended::Read(Ok(Ok(file))) => return self.replace(file),
            Ended::Read(Ok(Err(mistakes))) => {
                for mistake in &mistakes {
                    self.commands.log.warning(None, &mistake.of(&self.file.path));
                }
                self.unchanged("the file has mistakes");
            }
            Ended::Read(Err(failure)) => self.unchanged(&failure.message),
            Ended::Replaced(file, ended) => self.replaced(file, ended),
        }
        if std::mem::take(&mut self.reload.again) {
            self.reload();
        }
    }

    fn replace(&mut self, mut file: File) {
        file.settle(&host(), &self.labels);
        for key in self.file.needs_restart(&file) {
            self.commands.log.warning(None, &format!("`{key}` has changed, which needs a restart"));
        }
        let jobs = jobs(&file, &self.commands, self.metrics.as_deref());
        let handle = self.handle.clone();
        let replacing = async move {
            let ended = handle.replace(jobs).await;
            Ended::Replaced(file, ended)
        };
        self.reload.pending = Some(Box::pin(replacing));
    }

    /// Takes over the file, or keeps the one before.
    fn replaced(&mut self, file: File, ended: cotter_scheduler::Result<()>) {
        let (count, noun) = (file.jobs.len(), if file.jobs.len() == 1 { "job" } else { "jobs" });
        match ended {
            Ok(()) => {
                self.follow_ups.set(&file.jobs);
                self.file.jobs = file.jobs;
                let text = format!("the file was reloaded and has {count} {noun}{}", file.left);
                self.commands.log.remark(&text);
                systemd::ready();
            }
            Err(error) => {
                set_names(&self.file, &self.commands, self.metrics.as_deref());
                self.unchanged(&error.to_string());
            }
        }
    }

    fn unchanged(&self, why: &str) {
        self.commands.log.warning(None, &format!("{why}: the jobs are unchanged"));
        systemd::ready();
    }
}

//! Reading the file again, while the jobs go on.

use super::file::{self, File};
use super::serve::{Service, jobs, set_names};
use super::systemd;
use std::future::{Future, pending};
use std::pin::Pin;

type Replacing = Pin<Box<dyn Future<Output = cotter_scheduler::Result<()>> + Send>>;

/// A new file that the scheduler has not taken over yet: it does not before it has reached the store for the first time, and
/// signals must have an effect meanwhile.
#[derive(Default)]
pub(super) struct Reload {
    pending: Option<(File, Replacing)>,
    /// The file may have changed once more.
    again: bool,
}

impl Reload {
    /// Completes when the scheduler has taken over the new jobs, or refused them.
    pub(super) async fn ended(&mut self) -> cotter_scheduler::Result<()> {
        match &mut self.pending {
            Some((_, replacing)) => replacing.await,
            None => pending().await,
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
        match file::read(&self.file.path) {
            Ok(Ok(file)) => return self.replace(file),
            Ok(Err(mistakes)) => {
                for mistake in &mistakes {
                    self.commands.log.warning(None, &mistake.of(&self.file.path));
                }
                self.commands.log.warning(None, "the file has mistakes: the jobs are unchanged");
            }
            Err(failure) => {
                self.commands.log.warning(None, &format!("{}: the jobs are unchanged", failure.message));
            }
        }
        systemd::ready();
    }

    fn replace(&mut self, file: File) {
        for key in self.file.needs_restart(&file) {
            self.commands.log.warning(None, &format!("`{key}` has changed, which needs a restart"));
        }
        let jobs = jobs(&file, &self.commands, self.metrics.as_deref());
        let handle = self.handle.clone();
        self.reload.pending = Some((file, Box::pin(async move { handle.replace(jobs).await })));
    }

    /// Takes over the file, or keeps the one before. While the scheduler stops, neither is of interest, and the service
    /// manager must not be told that it is ready.
    pub(super) fn reloaded(&mut self, ended: cotter_scheduler::Result<()>) {
        let Some((file, _)) = self.reload.pending.take().filter(|_| self.stop.is_some()) else { return };
        let (count, noun) = (file.jobs.len(), if file.jobs.len() == 1 { "job" } else { "jobs" });
        match ended {
            Ok(()) => {
                self.follow_ups.set(&file.jobs);
                self.file.jobs = file.jobs;
                self.commands.log.remark(&format!("the file was reloaded and has {count} {noun}"));
            }
            Err(error) => {
                set_names(&self.file, &self.commands, self.metrics.as_deref());
                self.commands.log.warning(None, &format!("{error}: the jobs are unchanged"));
            }
        }
        systemd::ready();
        if std::mem::take(&mut self.reload.again) {
            self.reload();
        }
    }
}

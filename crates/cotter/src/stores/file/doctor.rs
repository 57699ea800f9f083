//! Findings about a directory, for `cotter doctor`.

use super::admin::{Found, file_names};
use super::backend::Files;
use super::errors::fault;
use super::lock::SAFE;
use super::paths::{LOCK, QUEUE};
use super::tickets::Queue;
use crate::Result;
use crate::backend::Finding;
use rustix::fs::{OFlags, open, unlink};
use rustix::io::{Errno, pwrite};

/// The size of the longest record of a holder.
const PROBE_SIZE: usize = 2048;

impl Files {
    pub(super) fn findings(&self) -> Vec<Finding> {
        let mut findings = vec![self.scope(), self.directory_finding(), self.space()];
        match file_names(&self.directory.path) {
            Ok(files) => {
                findings.extend([self.foreign(&files), self.leftovers(&files)].into_iter().flatten())
            }
            Err(e) => findings.push(Finding::breaks("directory", e.to_string())),
        }
        findings
    }

    fn scope(&self) -> Finding {
        let what = match self.directory.access.group {
            None => "only the processes of this user on this host share these locks",
            Some(_) => "only the processes of one group on this host share these locks",
        };
        Finding::ok("scope", what)
    }

    fn directory_finding(&self) -> Finding {
        if let Err(e) = self.directory.check_again() {
            return Finding::breaks("directory", e.to_string());
        }
        let (path, name) = (self.directory.path.display(), &self.directory.filesystem.name);
        let what = format!("{path}, on {name}, closed to others");
        Finding::ok("directory", what)
    }

    /// Locks need little space, but some.
    fn space(&self) -> Finding {
        match self.try_to_write() {
            Ok(()) => Finding::ok("space", "a lock file can be created and written"),
            Err(e) => Finding::breaks("space", e.to_string()),
        }
    }

    fn try_to_write(&self) -> Result<()> {
        let path = self.directory.path.join(format!(".doctor-{}", std::process::id()));
        let flags = SAFE | OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
        let file = open(&path, flags, self.directory.access.file).map_err(|e| fault("creating", &path, e))?;
        let written = pwrite(&file, &[b'.'; PROBE_SIZE], 0);
        let _ = unlink(&path);
        match written {
            Ok(PROBE_SIZE) => Ok(()),
            Ok(_) => Err(fault("writing", &path, Errno::NOSPC)),
            Err(e) => Err(fault("writing", &path, e)),
        }
    }

    /// Lock files that were not written by cotter.
    fn foreign(&self, files: &[String]) -> Option<Finding> {
        let locks = files.iter().filter(|f| f.ends_with(LOCK));
        let foreign: Vec<_> = locks.filter(|f| !self.is_ours(f)).map(String::as_str).collect();
        let what = format!(
            "files that cotter did not write for these names; move them away: {}",
            foreign.join(", ")
        );
        (!foreign.is_empty()).then(|| Finding::breaks("foreign files", what))
    }

    fn is_ours(&self, file: &str) -> bool {
        match Found::read(&self.directory.path.join(file)) {
            Ok(Some(found)) => found.belongs_in(file),
            Ok(None) => true,
            Err(_) => false,
        }
    }

    /// Queues without waiters.
    fn leftovers(&self, files: &[String]) -> Option<Finding> {
        let queue = |file: &String| Queue {
            directory: self.directory.path.join(file),
            access: self.directory.access,
        };
        let queues = files.iter().filter(|f| f.ends_with(QUEUE)).map(queue);
        let left = queues.filter(|q| q.waiters().is_ok_and(|n| n == 0)).count();
        let what = format!("{left} queues of waiters that died; the next use of their names removes them");
        (left > 0).then(|| Finding::ok("queues", what))
    }
}

//! One grant of `flock:`.

use crate::backend::{Grant, Session};
use crate::stores::file::holds::Hold;
use crate::stores::file::lock::LockFile;
use std::path::PathBuf;

/// One grant, with the locked file.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) path: PathBuf,
    pub(super) file: LockFile,
    pub(super) grant: Grant,
    pub(super) session: Session,
}

impl Hold for Held {
    fn is_linked(&self) -> bool {
        self.file.id.is_at(&self.path)
    }

    fn session(&self) -> &Session {
        &self.session
    }

    fn touch(&self) {
        self.file.touch();
    }

    fn release(self, _used: u16) {
        self.file.free();
    }
}

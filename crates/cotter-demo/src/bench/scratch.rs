//! Unique names for measurements.

use crate::store::Store;
use cotter::{Client, Lease};
use cotter_console::{Console, Failure, encoded};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;

/// A store with unique names.
#[derive(Debug)]
pub(super) struct Scratch {
    pub(super) client: Client,
    /// The URL, with its password.
    pub(super) url: String,
    prefix: String,
    /// The scheme that the library knows the store by, whatever the URL begins with.
    scheme: &'static str,
    instance: String,
    folder: Option<TempDir>,
}

impl Scratch {
    pub(super) async fn new(store: &dyn Store, console: &Console) -> Result<Self, Failure> {
        let client = store.connect(builder(), console).await?;
        let info = client.info();
        let (scheme, instance) = (info.scheme, info.instance.clone());
        let prefix = format!("bench:{:016x}", std::process::id() as u64 ^ nanos());
        let scratch =
            |client, url, folder| Self { client, url, prefix, scheme, instance: instance.clone(), folder };
        match scheme {
            "file" => {
                let folder = subfolder(&instance)?;
                let url = format!("file://{}", encoded(&folder.path().join("locks").to_string_lossy()));
                let client = builder().connect(&url).await?;
                Ok(scratch(client, url, Some(folder)))
            }
            // The measured one is the database itself; the raw calls get one of their own.
            "sqlite" => {
                let path = Path::new(&instance);
                let folder = subfolder(&path.parent().unwrap_or(path).to_string_lossy())?;
                Ok(scratch(client, store.secret_url().to_owned(), Some(folder)))
            }
            "flock" => Err(Failure::usage(
                "flock: is a single lock, which may be in use: measure file: in a directory next to it",
            )),
            _ => {
                let url = store.secret_url().trim();
                let url = if scheme == "redis" { with_short_retain(url) } else { url.to_owned() };
                let client = if scheme == "memory" { client } else { builder().connect(&url).await? };
                Ok(scratch(client, url, None))
            }
        }
    }

    pub(super) fn name(&self, n: u32) -> String {
        format!("{}:{n}", self.prefix)
    }

    pub(super) fn instance(&self) -> &str {
        &self.instance
    }

    /// Whether other processes share it.
    pub(super) fn is_shared(&self) -> bool {
        self.scheme != "memory"
    }

    /// Whether it is a database in a file.
    pub(super) fn is_database(&self) -> bool {
        self.scheme == "sqlite"
    }

    /// A file next to the locks, for raw calls.
    pub(super) fn file(&self) -> Option<PathBuf> {
        self.folder.as_ref().map(|folder| folder.path().join("raw"))
    }
}

fn builder() -> cotter::Builder {
    Client::builder().lease(Lease::renewed(Duration::from_secs(30)))
}

fn nanos() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or_default()
}

/// A folder within that of the store, so that it is on the same file system.
fn subfolder(instance: &str) -> Result<TempDir, Failure> {
    let dir = instance.strip_prefix("file://").unwrap_or(instance);
    let folder = tempfile::Builder::new().prefix(".bench-").tempdir_in(dir);
    folder.map_err(|e| Failure::config(format!("cannot create a folder in {dir}: {e}")))
}

/// The URL with a short `retain`, so that free names are forgotten.
fn with_short_retain(url: &str) -> String {
    if url.contains("retain=") || url.contains("mode=") {
        return url.to_owned();
    }
    format!("{url}{}retain=1s", if url.contains('?') { '&' } else { '?' })
}

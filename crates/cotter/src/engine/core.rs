//! The state shared by all handles of one client.

use crate::backend::{Admin, Backend, Connect, Feature, Host, Notes, Until};
use crate::engine::background::Background;
use crate::engine::drift::Drift;
use crate::engine::grant::hold::Lines;
use crate::engine::line::request::{Request, Wait};
use crate::engine::pulse::Pulse;
use crate::engine::report::{Observers, Reporter};
use crate::engine::route::Connections;
use crate::engine::tasks::{EndsTasks, Tasks};
use crate::engine::thread::Engine;
use crate::{Clock, Error, ErrorKind, Lease, Moment, Result};
use std::sync::Arc;
use std::time::Duration;

/// The settings of a client, from its builder.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    pub(crate) lease: Lease,
    pub(crate) label: Arc<str>,
    pub(crate) local_turns: bool,
    pub(crate) drift: Drift,
    pub(crate) give_up: Duration,
    pub(crate) observers: Option<Arc<Observers>>,
}

/// The state of one client.
#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) engine: Arc<Engine>,
    /// The engine's own connection.
    pub(crate) backend: Arc<dyn Backend>,
    pub(crate) connections: Connections,
    pub(crate) lines: Lines,
    pub(crate) settings: Settings,
    pub(crate) background: Arc<Background>,
    pub(crate) pulse: Pulse,
    pub(crate) reporter: Arc<Reporter>,
    tasks: EndsTasks,
}

impl Core {
    /// `tasks` is the collection that was passed to the backend when it connected.
    pub(crate) fn new(
        engine: Arc<Engine>,
        store: Arc<dyn Connect>,
        (backend, tasks): (Arc<dyn Backend>, Arc<Tasks>),
        settings: Settings,
    ) -> Self {
        let host = Host::engine(engine.clock().clone(), tasks.clone()).elsewhere();
        let info = backend.info();
        let server = (!info.capabilities.immediate).then(|| server(&info.instance).to_owned());
        let reporter = Reporter::new(info.scheme, server, settings.observers.clone());
        Self {
            tasks: EndsTasks(tasks),
            engine,
            backend,
            connections: Connections::new(store, host),
            lines: Lines::default(),
            settings,
            background: Arc::default(),
            pulse: Pulse::default(),
            reporter,
        }
    }

    /// Returns the tasks that the backend runs on the engine.
    pub(super) fn tasks(&self) -> &Tasks {
        &self.tasks.0
    }

    pub(crate) fn clock(&self) -> &Arc<dyn Clock> {
        self.engine.clock()
    }

    pub(crate) fn now(&self) -> Moment {
        self.clock().now()
    }

    pub(crate) fn is_immediate(&self) -> bool {
        self.backend.info().capabilities.immediate
    }

    /// Adds the server to an error of the store.
    pub(crate) fn at_the_server(&self, error: Error) -> Error {
        match error.backend() {
            Some(_) if !self.is_immediate() => error.with_server(self.server()),
            _ => error,
        }
    }

    /// Returns the server for error messages. The rest of the description is shown only on request.
    pub(crate) fn server(&self) -> &str {
        server(&self.backend.info().instance)
    }

    /// Refuses a request that cannot work, before any I/O.
    pub(crate) fn admit(&self, request: &Request) -> Result<()> {
        self.usable()?;
        let info = self.backend.info();
        info.supports(request.mode)?;
        request.mode.check().map_err(|e| e.with_name(&request.name))?;
        request.lease.check(&info.capabilities, self.settings.drift)
    }

    /// Returns the interface for inspecting and evicting locks, if the store has one.
    pub(crate) fn admin(&self) -> Result<&dyn Admin> {
        self.backend.admin().ok_or_else(|| Feature::Admin.missing(self.backend.info()))
    }

    /// Returns the notes of the store, if it supports them.
    pub(crate) fn notes(&self) -> Result<&dyn Notes> {
        self.backend.info().require(Feature::Notes)?;
        self.backend.notes().ok_or_else(|| Feature::Notes.missing(self.backend.info()))
    }

    /// Returns the notes of a store that supports compare-and-set.
    pub(crate) fn swap(&self) -> Result<&dyn Notes> {
        self.backend.info().require(Feature::Swap)?;
        self.notes()
    }

    /// Returns an error if the client was closed or the process forked.
    pub(crate) fn usable(&self) -> Result<()> {
        if self.is_closed() {
            return Err(closed());
        }
        self.not_forked()
    }

    /// Returns an error if the process forked: nothing that is asked of the engine would ever be answered.
    pub(crate) fn not_forked(&self) -> Result<()> {
        if self.engine.is_forked() {
            let why = "this process is a fork of the one that connected; connect again in the child";
            return Err(Error::new(ErrorKind::Misuse, why));
        }
        Ok(())
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.background.is_closed()
    }

    /// Completes when the client is closed.
    pub(crate) async fn closing(&self) {
        self.background.closing().await;
    }

    pub(crate) fn until(&self, wait: Wait) -> Until {
        match wait {
            Wait::No => Until::Now,
            Wait::For(d) => Until::Moment(self.now() + d),
            Wait::Forever => Until::Forever,
        }
    }
}

fn server(instance: &str) -> &str {
    instance.split_once(" (").map_or(instance, |(server, _)| server)
}

/// Returns the error for a request to a client that was closed.
pub(crate) fn closed() -> Error {
    Error::new(ErrorKind::Misuse, "this client was closed; connect again")
}

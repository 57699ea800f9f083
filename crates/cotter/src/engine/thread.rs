//! The engine's own thread and runtime.

use super::tasks::Tasks;
use crate::clock::{Idle, IdleState, RuntimeClock, SystemClock, Timers};
use crate::engine::grant::renew::Agenda;
use crate::sync::lock;
use crate::sys::{Identity, leave_to_parent};
use crate::{Clock, Error, ErrorKind, Result};
use std::fmt;
use std::future::Future;
use std::sync::{Arc, Mutex};
use tokio::runtime::{Builder, EnterGuard, Handle, Id, Runtime};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// The runtime of renewal, waiting, clean-up and loss timers: a separate thread with its own runtime, so that no
/// executor of a user, however busy, delays them.
pub(crate) struct Engine {
    handle: Handle,
    clock: Arc<dyn Clock>,
    agenda: Arc<Agenda>,
    process: Identity,
    /// Dropping it ends the thread.
    _stop: Option<oneshot::Sender<()>>,
}

impl Engine {
    /// Returns the engine of this process, started on the first call. A fork gets its own, because it does not have
    /// its parent's thread.
    pub(crate) fn process() -> Result<Arc<Self>> {
        static PROCESS: Mutex<Option<Arc<Engine>>> = Mutex::new(None);
        let process = || lock(&PROCESS);
        let ours = |engine: &Option<Arc<Self>>| engine.clone().filter(|e| !e.is_forked());
        if let Some(engine) = ours(&process()) {
            return Ok(engine);
        }
        // Not under the lock, so that a fork is unlikely to find it locked.
        let started = start_thread(None)?;
        let mut process = process();
        if let Some(engine) = ours(&process) {
            return Ok(engine);
        }
        // A child must not end the work of its parent's engine.
        std::mem::forget(process.replace(started.clone()));
        Ok(started)
    }

    /// Starts an engine on its own thread that uses this clock.
    pub(crate) fn on_clock(clock: Arc<dyn Clock>) -> Result<Arc<Self>> {
        start_thread(Some(clock))
    }

    /// Creates an engine inside the calling runtime.
    pub(crate) fn in_runtime(handle: Handle) -> Arc<Self> {
        let clock = Arc::new(RuntimeClock::new(handle.clone()));
        Self::start(handle, clock, None)
    }

    fn start(handle: Handle, clock: Arc<dyn Clock>, stop: Option<oneshot::Sender<()>>) -> Arc<Self> {
        let agenda = Arc::new(Agenda::new(clock.clone()));
        handle.spawn(Agenda::supervise(Arc::downgrade(&agenda), handle.clone()));
        Arc::new(Self { handle, clock, agenda, process: Identity::own(), _stop: stop })
    }

    pub(crate) fn spawn<F>(&self, work: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send,
    {
        self.handle.spawn(work)
    }

    /// Creates a task collection for a new client.
    pub(crate) fn tasks(&self) -> Arc<Tasks> {
        Tasks::new(self.handle.clone())
    }

    pub(crate) fn runtime(&self) -> Id {
        self.handle.id()
    }

    pub(crate) fn enter(&self) -> EnterGuard<'_> {
        self.handle.enter()
    }

    pub(crate) fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    pub(crate) fn agenda(&self) -> &Arc<Agenda> {
        &self.agenda
    }

    /// Returns an engine as a forked child sees it: it belongs to another process.
    #[cfg(test)]
    pub(crate) fn forked(&self) -> Arc<Self> {
        let (handle, clock) = (self.handle.clone(), self.clock.clone());
        Arc::new(Self {
            handle,
            clock,
            agenda: self.agenda.clone(),
            process: self.process.other(),
            _stop: None,
        })
    }

    /// Returns true if this process is a fork of the engine's process: nothing works there.
    pub(crate) fn is_forked(&self) -> bool {
        let is_forked = Identity::own() != self.process;
        if is_forked {
            // Whatever was called: from now on the locks of the parent are its own affair.
            leave_to_parent();
        }
        is_forked
    }
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine").field("clock", &self.clock).finish_non_exhaustive()
    }
}

fn start_thread(clock: Option<Arc<dyn Clock>>) -> Result<Arc<Engine>> {
    let failed = |e: std::io::Error| {
        Error::new(ErrorKind::Unavailable, format!("cotter's engine could not be started: {e}"))
            .with_source(e)
    };
    let idle = Arc::new(IdleState::default());
    let (stop, stopped) = oneshot::channel::<()>();
    let (tell, told) = std::sync::mpsc::sync_channel(1);
    let theirs = idle.clone();
    // If building fails, parts are dropped there as well: a runtime must not be dropped in a task.
    std::thread::Builder::new()
        .name("cotter-engine".into())
        .spawn(move || match build(clock, &theirs) {
            Ok((runtime, clock)) => {
                let _ = tell.send(Ok((runtime.handle().clone(), clock)));
                run(runtime, stopped, &theirs);
            }
            Err(e) => _ = tell.send(Err(e)),
        })
        .map_err(failed)?;
    let ended = |_| Err(std::io::Error::other("its thread has ended"));
    let (handle, clock) = told.recv().unwrap_or_else(ended).map_err(failed)?;
    clock.attach(Idle(Arc::downgrade(&idle)));
    Ok(Engine::start(handle, clock, Some(stop)))
}

fn build(clock: Option<Arc<dyn Clock>>, idle: &Arc<IdleState>) -> std::io::Result<(Runtime, Arc<dyn Clock>)> {
    let mut builder = Builder::new_current_thread();
    // Only a clock that a test advances waits for the thread to be idle; other clocks need no notification.
    if clock.is_some() {
        let (parked, unparked) = (idle.clone(), idle.clone());
        builder.on_thread_park(move || parked.set(true)).on_thread_unpark(move || unparked.set(false));
    }
    let runtime = builder.enable_all().build()?;
    idle.handle.set(runtime.handle().clone()).expect("set once");
    let clock = match clock {
        Some(clock) => clock,
        None => system_clock(runtime.handle())?,
    };
    Ok((runtime, clock))
}

fn run(runtime: Runtime, stopped: oneshot::Receiver<()>, idle: &IdleState) {
    // `tracing` calls of vendor crates must not run a subscriber of the user's here.
    let _mute = tracing::dispatcher::set_default(&tracing::Dispatch::none());
    let _ = runtime.block_on(stopped);
    // The thread may end without parking again; nothing must wait for that.
    idle.set(true);
    // A blocking pool or a stuck task must not keep the thread.
    runtime.shutdown_background();
}

fn system_clock(handle: &Handle) -> std::io::Result<Arc<dyn Clock>> {
    let timers = Arc::new(Timers::new()?);
    let _inside = handle.enter();
    let (driver, ticks) = (timers.clone(), timers.ticks()?);
    handle.spawn(async move {
        // The descriptor is ours and stays open: an error here is a bug, and ignoring it would lose every deadline.
        driver.drive(ticks).await.expect("the timer descriptor can be read");
    });
    Ok(Arc::new(SystemClock(timers)))
}

#[cfg(test)]
mod tests {
    use crate::backend::Connect;
    use crate::engine::{Core, Engine};
    use crate::{Client, ErrorKind, LossCause, ManualClock, stores::memory};
    use std::sync::Arc;
    use std::time::Duration;

    /// Six system calls for each lock that passes from one process to another, for nobody.
    #[test]
    fn an_engine_tells_nobody_that_it_parks_unless_a_test_moves_its_clock() {
        let manual = || Some(Arc::new(ManualClock::new()) as Arc<dyn crate::Clock>);
        for (clock, tells) in [(None, false), (manual(), true)] {
            let idle = Arc::default();
            let (runtime, _clock) = super::build(clock, &idle).unwrap();
            runtime.block_on(async { tokio::time::sleep(Duration::from_millis(5)).await });
            assert_eq!(idle.parks() > 0, tells, "{} times", idle.parks());
        }
    }

    /// Ends the engine at every point of the wait for it.
    #[test]
    fn a_clock_does_not_wait_for_an_engine_that_has_ended() {
        let clock = ManualClock::new();
        for _ in 0..500 {
            let client = Client::builder().clock(clock.clone()).connect("memory:").wait().unwrap();
            let going = std::thread::spawn(move || drop(client));
            clock.advance(Duration::from_secs(1));
            going.join().unwrap();
        }
    }

    /// A real fork needs unsafe code; a child's view differs from this only by the missing thread.
    #[test]
    fn a_fork_of_the_holder_is_told_so_and_touches_nothing() {
        let (store, parent) = (memory::Store::new(), Engine::process().unwrap());
        let client = Client::builder().connect_to(store.clone()).wait().unwrap();
        let guard = client.mutex("a").lock().wait().unwrap();
        let settings = client.core().settings.clone();
        let backend = client.core().backend.clone();
        let child = Client::new(Core::new(
            parent.forked(),
            Arc::new(store) as Arc<dyn Connect>,
            (backend, parent.tasks()),
            settings,
        ));
        assert_eq!(child.mutex("b").lock().wait().unwrap_err().kind(), ErrorKind::Misuse);
        // In a real child, these would wait for its parent's engine for ever.
        assert_eq!(child.time().wait().unwrap_err().kind(), ErrorKind::Misuse);
        assert_eq!(child.admin().diagnose().wait().unwrap_err().kind(), ErrorKind::Misuse);
        assert_eq!(child.admin().initialize().wait().unwrap_err().kind(), ErrorKind::Misuse);
        assert_eq!(child.close(Duration::ZERO).wait().unwrap_err().kind(), ErrorKind::Misuse);
        assert!(guard.is_valid());

        let mut copy = guard.copy_in(child.core());
        assert_eq!(copy.check().unwrap_err().cause, LossCause::Forked);
        assert_eq!(copy.extend(Duration::from_secs(9)).wait().unwrap_err().kind(), ErrorKind::Misuse);
        assert_eq!(copy.release().wait().unwrap_err().kind(), ErrorKind::Misuse);
        copy = guard.copy_in(child.core());
        drop(copy);
        assert!(guard.is_valid());
        assert!(client.mutex("a").try_lock().wait().unwrap().is_none(), "the child has released nothing");
    }
}

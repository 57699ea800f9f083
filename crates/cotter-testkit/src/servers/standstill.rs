//! A proxy before a member of an etcd cluster whose disk stands still: it answers the pings of HTTP/2, and nothing else.

use std::io::{Read, Result, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// Stands between clients and a member on this host.
#[derive(Debug)]
pub struct Standstill {
    state: Arc<State>,
    address: SocketAddr,
}

#[derive(Debug, Default)]
struct State {
    has_begun: AtomicBool,
    stopped: AtomicBool,
    open: Mutex<Vec<TcpStream>>,
}

/// What a client sends before its first frame.
const PREFACE: usize = 24;
/// The length of what is before the payload of a frame.
const HEADER: usize = 9;
const PING: u8 = 6;

impl Standstill {
    /// Listens on a free port. Until it begins, everything is passed on.
    ///
    /// # Panics
    /// When there is none.
    pub fn before(target_port: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address");
        let state = Arc::<State>::default();
        let accepting = state.clone();
        thread::spawn(move || accept(&accepting, &listener, target_port));
        Self { state, address }
    }

    /// The port that clients connect to.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// From now on, only pings and their answers are passed on.
    pub fn begin(&self) {
        self.state.has_begun.store(true, Ordering::SeqCst);
    }
}

impl Drop for Standstill {
    fn drop(&mut self) {
        self.state.stopped.store(true, Ordering::SeqCst);
        self.state.open().drain(..).for_each(|stream| _ = stream.shutdown(Shutdown::Both));
        // Wakes the accepting thread.
        let _ = TcpStream::connect(self.address);
    }
}

impl State {
    fn open(&self) -> std::sync::MutexGuard<'_, Vec<TcpStream>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn accept(state: &Arc<State>, listener: &TcpListener, target_port: u16) {
    for client in listener.incoming() {
        if state.stopped.load(Ordering::SeqCst) {
            return;
        }
        let Ok(client) = client else { continue };
        let Ok(member) = TcpStream::connect(("127.0.0.1", target_port)) else { continue };
        for (from, to, preface) in [(&client, &member, PREFACE), (&member, &client, 0)] {
            let (Ok(from), Ok(to)) = (from.try_clone(), to.try_clone()) else { return };
            let _ = to.set_nodelay(true);
            state.open().extend(from.try_clone());
            let state = state.clone();
            thread::spawn(move || {
                let _ = pass(&state, &from, &to, preface);
                let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
            });
        }
    }
}

/// Passes frames on until the connection ends.
fn pass(state: &State, mut from: &TcpStream, mut to: &TcpStream, preface: usize) -> Result<()> {
    let mut first = vec![0; preface];
    from.read_exact(&mut first)?;
    to.write_all(&first)?;
    loop {
        let mut frame = vec![0; HEADER];
        from.read_exact(&mut frame)?;
        let length = u32::from_be_bytes([0, frame[0], frame[1], frame[2]]) as usize;
        frame.resize(HEADER + length, 0);
        from.read_exact(&mut frame[HEADER..])?;
        if frame[3] == PING || !state.has_begun.load(Ordering::SeqCst) {
            to.write_all(&frame)?;
        }
    }
}

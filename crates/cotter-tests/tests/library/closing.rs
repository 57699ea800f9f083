//! The end of a client while others still use it.

use cotter::{Client, ErrorKind, LatchEnd, LeaderState, Op, Result};
use cotter_testkit::timing::FAR;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// Its error, as soon as there is one.
fn outcome<T: Send + 'static>(
    wait: impl FnOnce() -> Result<T> + Send + 'static,
) -> Receiver<Option<ErrorKind>> {
    let (tell, told) = channel();
    std::thread::spawn(move || tell.send(wait().err().map(|e| e.kind())));
    told
}

/// Nothing would ever end them: the client asks the store no more.
pub(crate) fn waits_end_with_their_client(client: &Client) {
    let (latch, mut watch) = (client.latch("latch"), client.election("election").watch());
    latch.create(1).wait().unwrap();
    assert_eq!(watch.blocking_changed().unwrap(), LeaderState::Vacant);
    let waiting: Op<LatchEnd> = latch.wait();
    let note = client.note_changed("name", "key", 0, Duration::from_secs(600));
    let waits =
        [outcome(|| waiting.wait()), outcome(move || watch.blocking_changed()), outcome(|| note.wait())];
    std::thread::sleep(Duration::from_millis(100));
    client.close(FAR).wait().unwrap();
    for told in waits {
        let kind = told.recv_timeout(FAR).expect("it goes on without its client");
        assert_eq!(kind, Some(ErrorKind::Misuse));
    }
}

#[test]
fn waits_for_notes_latches_and_leaders_end_with_their_client() {
    waits_end_with_their_client(&Client::connect("memory:").wait().unwrap());
}

#[test]
fn so_they_do_on_files() {
    let place = tempfile::tempdir().unwrap();
    let url = format!("file://{}", place.path().join("locks").display());
    waits_end_with_their_client(&Client::connect(url).wait().unwrap());
}

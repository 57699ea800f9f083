//! A database behind something that sends reads to a replica that is behind.

use cotter::{Client, Severity};
use cotter_testkit::bare;
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::servers::Splitter;
use std::time::Duration;

const MODES: [&str; 3] = ["", "mode=row", "mode=advisory"];

async fn client(url: &str) -> Client {
    bare::client(url, Duration::from_secs(30)).await
}

/// Whatever decides is sent to the primary. The cases of the contract run behind such a thing as well.
pub(crate) async fn what_a_holder_has_written_the_next_one_reads(splitter: &Splitter) {
    for mode in MODES {
        let (one, other) = (client(&splitter.url(mode)).await, client(&splitter.url(mode)).await);
        let guard = one.mutex("split").lock().await.unwrap();
        guard.put_note("done").await.unwrap();
        guard.finish().await.unwrap();
        let guard = other.mutex("split").lock().await.unwrap();
        let note = other.note("split").await.unwrap().map(|note| note.bytes);
        demand(
            note.as_deref() == Some(b"done"),
            Kind::LostWrite,
            format!("{mode:?}: the next holder has read {note:?}"),
        );
        guard.finish().await.unwrap();
        one.latch("split").create(2).await.unwrap();
        assert!(other.latch("split").state().await.unwrap().is_some(), "{mode:?}: the latch was created");
    }
    assert_eq!(splitter.diverted(), Vec::<String>::new());
}

/// Where reads go to a replica whatever they say, whoever has read an old note writes nothing, and doctor tells. `url` leads to the
/// primary.
pub(crate) async fn whoever_has_read_an_old_note_writes_nothing(
    url: impl Fn(&str) -> String,
    splitter: &Splitter,
) {
    for mode in MODES {
        let (direct, stale) = (client(&url(mode)).await, client(&splitter.url(mode)).await);
        let guard = direct.mutex("stale").lock().await.unwrap();
        guard.put_note("done").await.unwrap();
        guard.finish().await.unwrap();
        let guard = stale.mutex("stale").lock().await.unwrap();
        assert_eq!(stale.note("stale").await.unwrap(), None, "{mode:?}: it is no replica");
        assert_eq!(guard.replace_note("", 0, "again").await.unwrap(), None);
        guard.check().unwrap();
        guard.finish().await.unwrap();
        assert_eq!(direct.note("stale").await.unwrap().unwrap().bytes, b"done");
        assert_eq!((reads(&direct).await, reads(&stale).await), (Severity::Ok, Severity::Problem));
    }
}

/// What doctor says about reads.
async fn reads(client: &Client) -> Severity {
    let findings = client.admin().diagnose().await.unwrap();
    findings.iter().find(|finding| finding.subject == "reads").expect("it is looked at").severity
}

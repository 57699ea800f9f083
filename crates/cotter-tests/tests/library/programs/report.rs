//! A program that blocks, on a folder of this host.

use super::{Program, number_after};
use cotter::Client;
use std::fs;

#[test]
#[ignore = "needs scripts/programs"]
fn one_report_is_made_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let (locks, output) = (folder.path().join("locks"), folder.path().join("report"));
    let arguments = [output.to_str().unwrap(), locks.to_str().unwrap()];
    let made = || {
        let mut report = Program::start("report", &arguments, &[]);
        (report.ends(), report)
    };
    let (end, report) = made();
    let first = number_after(&report.says("made under"), "token");
    assert_eq!((end, &*fs::read_to_string(&output).unwrap()), (Some(0), "orders\npayments\nreturns\n"));
    let other =
        Client::builder().label("somebody").connect(format!("file://{}", arguments[1])).wait().unwrap();
    let guard = other.mutex("report").lock().wait().unwrap();
    let (end, report) = made();
    assert!(report.says("is making it").contains("somebody"));
    assert_eq!(end, Some(75));
    guard.finish().wait().unwrap();
    let (end, report) = made();
    assert!(number_after(&report.says("made under"), "token") > first);
    assert_eq!(end, Some(0));
    assert_eq!(Program::start("report", &[], &[]).ends(), Some(64));
}

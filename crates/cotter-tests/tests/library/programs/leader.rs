//! Candidates and a follower on etcd.

use super::{Program, number_after};
use cotter_testkit::servers::Etcd;

#[test]
#[ignore = "needs etcd and scripts/programs"]
fn a_follower_hears_of_every_leader() {
    let cluster = Etcd::start(1);
    let url = cluster.url("");
    let start = |arguments: &[&str]| Program::start("leader", arguments, &[("ETCD_URL", &url)]);
    let mut follower = start(&["follow"]);
    // It came before all candidates, and stays.
    follower.says("nobody leads");
    let mut one = start(&["serve", "10.0.0.1"]);
    let first = number_after(&follower.says("is led by 10.0.0.1"), "term");
    let mut other = start(&["serve", "10.0.0.2"]);
    assert_eq!(number_after(&one.says("leading in term"), "term"), first);
    one.terminate();
    let second = number_after(&follower.says("is led by 10.0.0.2"), "term");
    let mut third = start(&["serve", "10.0.0.3"]);
    other.kill();
    let last = number_after(&follower.says("is led by 10.0.0.3"), "term");
    assert!(first < second && second < last, "{:#?}", follower.lines(""));
    third.terminate();
    follower.terminate();
}

//! A Redis cluster: commands follow each name to its master.

use crate::env::TestEnv;
use crate::schedule::a_job_runs_and_is_recorded;
use crate::seckill::exact;
use cotter_testkit::servers::RedisCluster;
use std::time::Duration;

/// Nobody is replaced, however busy the machine is.
const PATIENT: Duration = Duration::from_secs(15);

#[test]
#[ignore = "needs redis-server"]
fn commands_find_the_masters_of_a_cluster() {
    let cluster = RedisCluster::start(PATIENT);
    let env = TestEnv::on(cluster.url(""));
    // Of three slots on three masters.
    let names = ["a", "b", "e"];
    for name in names {
        env.run(["run", "--at-least", "1m", name, "true"]).code(0);
    }
    let listed = env.run(["list"]).code(0).stdout;
    assert!(names.iter().all(|name| listed.lines().any(|line| line.starts_with(name))), "{listed}");
    let said = env.run(["doctor"]);
    assert!(said.stdout.contains("3 masters have all slots"), "{said:?}");
    env.run(["bench", "--time", "50ms", "--tasks", "8"]).code(0);
    a_job_runs_and_is_recorded(&env);
}

/// The nodes announce names that lead nowhere: each process of a demonstration finds them by its URL.
#[test]
#[ignore = "needs redis-server"]
fn demonstrations_are_exact_on_a_cluster() {
    let cluster = RedisCluster::start(PATIENT);
    cluster.announce_names();
    let pairs: Vec<_> = (0..6).map(|node| format!("{}=127.0.0.1", cluster.announced_name(node))).collect();
    let url = cluster.url(&format!("announce={}", pairs.join(",")));
    exact(&TestEnv::new(), &url, &["--work", "1ms"], 1);
    crate::clear_orders::exact(&TestEnv::new(), &url, &["--replicas", "3"]);
}

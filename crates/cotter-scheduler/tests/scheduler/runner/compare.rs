//! What jobs would change about the definitions in effect.

use super::world::{MS, S, World, sleep};
use cotter_scheduler::{Comparison, EventKind, Job, Jobs, Trigger};
use cotter_testkit::history::{Kind, demand};

fn job(world: &World) -> Job {
    world.log.job("a", Trigger::fixed_rate(S * 10).unwrap(), MS).retries(1).definition("ls").generation(2)
}

/// The names of the differences, and whether the job would take effect.
async fn differences(jobs: &Jobs, job: Job) -> (Vec<String>, bool) {
    match jobs.compare(&[job]).await.unwrap().remove(0) {
        Comparison::Differs { differences, takes_effect, by, .. } => {
            assert_eq!(by.as_deref(), Some("one"));
            let text = |d: cotter_scheduler::Difference| format!("{}: {} -> {}", d.name, d.stored, d.here);
            (differences.into_iter().map(text).collect(), takes_effect)
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_comparison_tells_what_is_different_and_changes_nothing() {
    let world = World::new();
    let one = world.start(|s| s.host("one").job(job(&world))).await;
    let jobs = Jobs::new(&world.client().await, "g");
    sleep(S * 5).await;
    let before = jobs.list().await.unwrap();
    let stranger = Job::new("b", Trigger::on_demand(), |_| async {});
    assert_eq!(jobs.compare(&[stranger, job(&world)]).await.unwrap(), [Comparison::New, Comparison::Same]);
    assert_eq!(jobs.compare(&[job(&world).generation(1)]).await.unwrap(), [Comparison::Same]);
    let (found, _) = differences(&jobs, job(&world).generation(3)).await;
    assert_eq!(found, ["generation: 2 -> 3"]);
    let other = || {
        let other = world.log.job("a", Trigger::fixed_rate(S * 7).unwrap(), MS).max_run(S * 60);
        other.definition("ls").generation(2)
    };
    let (found, _) = differences(&jobs, other()).await;
    let wanted = [
        "trigger: fixed rate 10s -> fixed rate 7s",
        "max_run: the default -> 60s",
        "retries: 1 -> the default",
    ];
    assert_eq!(found, wanted);
    let (found, _) = differences(&jobs, job(&world).definition("ls -l")).await;
    assert!(found.len() == 1 && found[0].starts_with("work: "), "{found:?}");
    assert_eq!(jobs.list().await.unwrap(), before);
    // As it is said, so it comes.
    for generation in [1, 2, 3] {
        let (_, takes_effect) = differences(&jobs, other().generation(generation)).await;
        let standing = || world.log.events(|kind| matches!(kind, EventKind::Standby { .. }));
        let stood = standing();
        let two = world.start(|s| s.host("two").job(other().generation(generation))).await;
        sleep(S).await;
        let in_effect = jobs.list().await.unwrap()[0].trigger == "fixed rate 7s";
        demand(takes_effect == in_effect, Kind::Untrue, format!("generation {generation}: {takes_effect}"));
        assert!(in_effect || standing() > stood, "{:?}", world.log.told());
        two.stop().await;
        if in_effect {
            break;
        }
    }
    one.stop().await;
}

//! Five candidates that are cut off from the store in turn, and those who follow them.

use cotter::{Client, LeaderState, LeaderWatch, Lease, memory};
use cotter_testkit::faulty::{Faults, Faulty, Plan};
use cotter_testkit::history::{History, Limits, Recorder, check};
use cotter_testkit::{Actor, sized};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;
use tokio::time::sleep;

const TTL: Duration = Duration::from_millis(300);
const CANDIDATES: u32 = 5;

async fn candidate(actor: Actor, stop: Arc<AtomicBool>) {
    while !stop.load(Ordering::Relaxed) {
        // An error is what the faults are for.
        if let Ok(term) = actor.campaign("a").await {
            let _ = term.work(sleep(TTL * 2)).await;
            let _ = term.release().await;
        }
    }
}

/// So many leaders every follower has to see: on a busy machine there are fewer in the same time, and the rounds go on.
const LEADERS: usize = 3;

/// The tokens of the leaders in the order in which they were reported, whose number is told meanwhile.
async fn follower(mut watch: LeaderWatch, stop: Arc<AtomicBool>, told: Arc<AtomicUsize>) -> Vec<u64> {
    let mut seen: Vec<u64> = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        let now = watch.changed().await.expect("its own connection is sound");
        let LeaderState::Led(leader) = now else { continue };
        let token = leader.token.get();
        assert!(
            seen.last().is_none_or(|last| *last <= token),
            "violation[dead-leader]: the leader {token} was reported after {seen:?}"
        );
        if let Some(announced) = leader.announcement {
            let announced = String::from_utf8(announced).unwrap();
            assert_eq!(
                announced,
                token.to_string(),
                "violation[dead-leader]: the announcement of another leader"
            );
        }
        seen.push(token);
        seen.dedup();
        told.store(seen.len(), Ordering::Relaxed);
    }
    seen
}

#[tokio::test(flavor = "multi_thread")]
async fn one_candidate_leads_at_a_time_and_all_who_follow_see_each_in_order() {
    let (store, log, stop) = (memory::Store::new(), Recorder::in_memory(), Arc::new(AtomicBool::new(false)));
    let connect = async |faults: &Faults| {
        let store = Faulty::new(store.clone(), faults);
        Client::builder().lease(Lease::renewed(TTL)).connect_to(store).await.unwrap()
    };
    let (mut all, mut tasks) = (Vec::new(), Vec::new());
    for process in 1..=CANDIDATES {
        let faults = Faults::seeded(u64::from(process));
        let actor = Actor::new(connect(&faults).await, &log, process);
        tasks.push(tokio::spawn(candidate(actor, stop.clone())));
        all.push(faults);
    }
    let sound = connect(&Faults::seeded(0)).await;
    let told = [(); 2].map(|()| Arc::<AtomicUsize>::default());
    let followers =
        told.clone().map(|told| tokio::spawn(follower(sound.election("a").watch(), stop.clone(), told)));
    let rounds = sized(12, 200);
    for round in 0..rounds * 10 {
        if round >= rounds && told.iter().all(|told| told.load(Ordering::Relaxed) >= LEADERS) {
            break;
        }
        let cut_off = &all[round % all.len()];
        cut_off.set(Plan { down: true, ..Plan::default() });
        sleep(TTL).await;
        cut_off.set(Plan { before: TTL / 50, lost_replies: 0.05, ..Plan::default() });
    }
    all.iter().for_each(|faults| faults.set(Plan::default()));
    stop.store(true, Ordering::Relaxed);
    for task in tasks {
        task.await.unwrap();
    }
    // The last change ends those who follow.
    let last = sound.election("a").campaign().await.unwrap();
    last.announce(last.token().to_string()).await.unwrap();
    for seen in followers {
        let seen = seen.await.unwrap();
        assert!(seen.len() >= LEADERS, "there were a few leaders: {seen:?}");
    }
    let wide = Duration::from_secs(60);
    let limits = Limits {
        place_slack: wide,
        idle: wide,
        loss_margin: Duration::from_millis(100),
        ..Limits::default()
    };
    let wrong: Vec<_> = check(&History::of(log.events()), &limits).iter().map(ToString::to_string).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

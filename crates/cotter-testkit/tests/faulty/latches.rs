//! Latches whose answers are lost.

use cotter::{Client, LatchEnd, memory};
use cotter_testkit::faulty::{Call, Faults, Faulty, Plan};

#[test]
fn a_party_whose_answers_are_lost_counts_once() {
    let (store, faults) = (memory::Store::new(), Faults::seeded(1));
    let connect = |backend| Client::builder().connect_to(backend).wait().unwrap();
    let lossy = connect(Faulty::new(store.clone(), &faults)).latch("a");
    let sound = connect(Faulty::new(store, &Faults::seeded(2))).latch("a");
    sound.create(40).wait().unwrap();
    faults.set(Plan { lost_replies: 0.4, ..Plan::default() });
    for n in 0..20 {
        lossy.count_down(format!("party {n}")).wait().unwrap();
        // The same party once more, from another process that does not know whether it was counted.
        sound.count_down(format!("party {n}")).wait().unwrap();
        let left = sound.state().wait().unwrap().unwrap().left;
        assert_eq!(left, 39 - n, "violation[counted-twice]: party {n} counted more than once");
    }
    assert!(faults.counts().lost_replies > 10 && faults.calls(Call::Note) > 40, "{:?}", faults.counts());
    faults.set(Plan::default());
    for n in 20..40 {
        lossy.count_down(format!("party {n}")).wait().unwrap();
    }
    assert_eq!(sound.wait().wait().unwrap(), LatchEnd::Open);
}

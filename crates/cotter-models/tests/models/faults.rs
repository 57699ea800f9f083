//! What may go wrong, when, and what it does.

use crate::bounds::Fault;
use crate::model::{Protocol, Step, is_first};
use crate::rules::Rule;
use crate::state::{Life, Phase, Process, State};

/// By how much a step sets the server's clock back.
const STEP_BACK: u8 = 5;

impl Protocol {
    pub(crate) fn fault_steps(&self, s: &State, steps: &mut Vec<Step>) {
        self.packet_faults(s, steps);
        (0..s.processes.len()).for_each(|p| self.process_faults(s, p, steps));
        self.server_faults(s, steps);
    }

    fn packet_faults(&self, s: &State, steps: &mut Vec<Step>) {
        let mut add = |fault: Fault, at: usize| {
            if self.bounds.allows(fault) {
                steps.push(Step::Fail(fault, at));
            }
        };
        for (at, request) in s.requests.iter().enumerate() {
            let running = s.processes[usize::from(request.process)].is_running();
            if is_first(s, at) && running {
                add(Fault::LostReply, at);
                add(Fault::LateReply, at);
            }
            if is_first(s, at) && !request.late {
                add(Fault::LateRequest, at);
            }
        }
        for (at, message) in s.messages.iter().enumerate() {
            add(Fault::LostMessage, at);
            if !message.late {
                add(Fault::LateMessage, at);
            }
        }
    }

    fn process_faults(&self, s: &State, p: usize, steps: &mut Vec<Step>) {
        let process = &s.processes[p];
        if process.life != Life::Running {
            return;
        }
        let busy = process.phase != Phase::Idle || !process.undo.is_empty();
        let carried = process.open > 0 || process.undo.iter().any(|undo| undo.conn == process.conn);
        let first_of_host = self.bounds.hosts.iter().position(|h| *h == self.bounds.hosts[p]) == Some(p);
        let may = |fault: Fault| match fault {
            Fault::Cut => carried,
            Fault::Pause | Fault::Crash => busy,
            Fault::Unsubscribe => process.phase == Phase::Waiting && process.listening,
            Fault::Vanish => first_of_host && busy,
            _ => false,
        };
        let all = [Fault::Cut, Fault::Pause, Fault::Crash, Fault::Unsubscribe, Fault::Vanish];
        let chosen = all.into_iter().filter(|fault| self.bounds.allows(*fault) && may(*fault));
        steps.extend(chosen.map(|fault| Step::Fail(fault, p)));
    }

    fn server_faults(&self, s: &State, steps: &mut Vec<Step>) {
        let may = |fault: Fault| match fault {
            Fault::Refuse => !s.refuse,
            Fault::Full => true,
            Fault::Restore => !s.watch.restored,
            Fault::StepBack => s.back == 0,
            Fault::Delete => s.server.hold.is_some(),
            Fault::Standstill => s.still == 0,
            _ => false,
        };
        let all =
            [Fault::Refuse, Fault::Full, Fault::Restore, Fault::StepBack, Fault::Delete, Fault::Standstill];
        let chosen = all.into_iter().filter(|fault| self.bounds.allows(*fault) && may(*fault));
        steps.extend(chosen.map(|fault| Step::Fail(fault, 0)));
    }

    pub(crate) fn fail(&self, s: &mut State, fault: Fault, at: usize) {
        s.faults -= 1;
        s.watch.forgive();
        match fault {
            Fault::LateRequest => s.requests[at].late = true,
            Fault::LateReply => self.serve(s, at, true),
            Fault::LateMessage => s.messages[at].late = true,
            Fault::LostReply => {
                let request = s.requests.remove(at);
                self.run(s, &request);
            }
            Fault::LostMessage => drop(s.messages.remove(at)),
            Fault::Cut => self.cut(s, at),
            Fault::Pause => s.processes[at].life = Life::Paused,
            Fault::Unsubscribe => {
                s.processes[at].listening = false;
                s.processes[at].deaf = true;
                s.listens &= !(1 << at);
            }
            Fault::Crash => {
                self.gone(s, at);
                s.listens &= !(1 << at);
            }
            Fault::Vanish => {
                let host = self.bounds.hosts[at];
                let all = (0..s.processes.len()).filter(|p| self.bounds.hosts[*p] == host);
                all.for_each(|p| self.gone(s, p));
            }
            Fault::Refuse => s.refuse = true,
            Fault::Full => s.full = !s.full,
            Fault::Restore => {
                s.server = s.snapshot.take().unwrap_or_default();
                s.watch.restored = true;
                s.down = self.bounds.restart_takes_time;
            }
            Fault::StepBack => s.back = STEP_BACK,
            Fault::Delete => {
                // The clock stands in for its counter.
                s.server.hold = None;
                s.server.blind = !self.rules.on(Rule::QueueWithoutLock);
                s.watch.deleted = true;
            }
            Fault::Standstill => s.still = self.bounds.silence + 1,
        }
    }

    /// A process ends. Its claims stay with the server; requests that were sent may still land.
    fn gone(&self, s: &mut State, p: usize) {
        let process = &mut s.processes[p];
        *process =
            Process { life: Life::Gone, phase: process.phase, claim: process.claim, ..Process::default() };
        self.drop_unheard(s);
    }
}

//! What a process does: asks, waits, believes, gives up, undoes.

use crate::model::Protocol;
use crate::rules::{Promise, Rule};
use crate::state::{
    Answer, Ask, CALLERS_CONNECTION, Claim, Life, Message, Phase, Process, Reply, Request, State, Undo,
    owner_of,
};
use crate::watch::Event;

impl Process {
    pub(crate) fn is_running(&self) -> bool {
        self.life == Life::Running
    }

    /// Whether it believes that it holds the lock. A paused process does, up to its deadline.
    pub(crate) fn believes(&self, now: u8) -> bool {
        self.life != Life::Gone && self.phase == Phase::Holding && now < self.deadline
    }
}

impl Protocol {
    pub(crate) fn start(&self, s: &mut State, p: usize) {
        let process = &mut s.processes[p];
        process.attempt += 1;
        let attempt = if self.rules.on(Rule::NewClaimPerAttempt) { process.attempt } else { 1 };
        process.claim = (p as u8) << 3 | attempt;
        process.phase = Phase::Waiting;
        self.question(s, p);
    }

    /// Asks because the poll period is over. A connection that owes two answers is given up.
    pub(crate) fn poll(&self, s: &mut State, p: usize) {
        if s.processes[p].open >= 2 {
            self.cut(s, p);
        }
        self.question(s, p);
    }

    /// Asks for the lock. Without a live subscription the claim does not enter the queue.
    pub(crate) fn question(&self, s: &mut State, p: usize) {
        let process = &mut s.processes[p];
        if process.open >= 2 {
            return;
        }
        process.open += 1;
        process.sent = s.now;
        let join = process.listening || !self.rules.on(Rule::SubscribeFirst);
        let (conn, claim) = (process.conn, process.claim);
        self.send(s, p, conn, claim, Ask::Acquire { join });
    }

    fn send(&self, s: &mut State, p: usize, conn: u8, claim: Claim, ask: Ask) {
        s.requests.push(Request { process: p as u8, conn, claim, ask, sent: s.now, late: false });
    }

    pub(crate) fn subscribe(&self, s: &mut State, p: usize) {
        s.processes[p].listening = true;
        s.processes[p].deaf = false;
        s.listens |= 1 << p;
    }

    pub(crate) fn renew(&self, s: &mut State, p: usize) {
        s.processes[p].extends += 1;
        let (conn, claim) = (s.processes[p].conn, s.processes[p].claim);
        self.send(s, p, conn, claim, Ask::Extend);
    }

    /// Ends the attempt, by release or by giving up: either way the claim is undone.
    pub(crate) fn end(&self, s: &mut State, p: usize) {
        let process = &mut s.processes[p];
        let rule = match process.phase {
            Phase::Holding => Rule::ReleaseBehindQuestions,
            _ => Rule::UndoOnSameConnection,
        };
        let unanswered = process.open > 0 || process.orphaned;
        let behind = unanswered && self.rules.on(rule);
        let conn = if behind { process.conn } else { CALLERS_CONNECTION };
        let freed_is_enough = process.phase == Phase::Holding && !self.rules.on(Rule::FreedIsRepeated);
        let repeats = process.orphaned && self.rules.on(Rule::UndoRepeated) && !freed_is_enough;
        let settles = !(behind && repeats);
        process.undo.push(Undo { claim: process.claim, due: s.now, tries: 0, settles, conn });
        *process = Process {
            life: process.life,
            attempt: process.attempt,
            claim: process.claim,
            conn: process.conn,
            listening: process.listening,
            undo: std::mem::take(&mut process.undo),
            ..Process::default()
        };
        let last = process.undo.len() - 1;
        self.undo(s, p, last);
    }

    /// Sends the release of a claim that must be undone and sets when the next one is due.
    pub(crate) fn undo(&self, s: &mut State, p: usize, at: usize) {
        let undo = &mut s.processes[p].undo[at];
        let gaps = &self.bounds.undo_gaps;
        let gap = if undo.settles { 1 } else { gaps.get(usize::from(undo.tries)).copied().unwrap_or(0) };
        undo.due = s.now + gap;
        undo.tries = if undo.settles { 0 } else { undo.tries + 1 };
        let (claim, conn) = (undo.claim, undo.conn);
        if usize::from(undo.tries) > gaps.len() {
            s.processes[p].undo.remove(at);
        }
        let same = |r: &Request| r.claim == claim && r.conn == conn && r.ask == Ask::Release;
        if !s.requests.iter().any(same) {
            self.send(s, p, conn, claim, Ask::Release);
        }
    }

    /// The connection is gone. What it carried may still land; no answer will come.
    pub(crate) fn cut(&self, s: &mut State, p: usize) {
        let process = &mut s.processes[p];
        let old = process.conn;
        process.conn += 1;
        process.orphaned |= process.open > 0;
        process.open = 0;
        for undo in process.undo.iter_mut().filter(|undo| undo.conn == old) {
            undo.conn = process.conn;
            if self.rules.on(Rule::UndoRepeated) {
                (undo.settles, undo.tries) = (false, 0);
                undo.due = s.now;
            }
        }
        s.replies.retain(|r| usize::from(r.to.process) != p || r.to.conn != old);
        let of_old = |r: &&mut Request| usize::from(r.process) == p && r.conn == old;
        s.requests.iter_mut().filter(of_old).for_each(|r| r.late = true);
    }

    pub(crate) fn answered(&self, s: &mut State, reply: &Reply) {
        let p = usize::from(reply.to.process);
        let claim = reply.to.claim;
        let process = &mut s.processes[p];
        match reply.to.ask {
            Ask::Acquire { .. } if process.is_at(claim) => {
                process.open -= u8::from(reply.to.conn == process.conn && process.open > 0);
                if process.phase == Phase::Waiting {
                    self.question_answered(s, p, reply);
                }
            }
            Ask::Acquire { .. } => {}
            Ask::Extend => self.renewal_answered(s, p, reply),
            Ask::Release if reply.answer == Answer::Released => {
                process.undo.retain(|undo| undo.claim != claim || !undo.settles);
            }
            Ask::Release => {}
        }
    }

    fn question_answered(&self, s: &mut State, p: usize, reply: &Reply) {
        let sent = reply.to.sent;
        match reply.answer {
            Answer::Granted { token, turns, left } => {
                let from = if self.rules.on(Rule::ReplyDeadlineFromSending) { sent } else { s.now };
                if left < self.bounds.ttl {
                    self.saw(s, Event::LearnedByQuestion);
                }
                self.believe(s, p, token, turns, from + left);
            }
            Answer::Queued { ticket } => {
                let process = &mut s.processes[p];
                if process.answered.is_none_or(|(_, earlier)| earlier <= sent) {
                    process.answered = Some((ticket, sent));
                }
                if !process.listening && !process.deaf {
                    self.subscribe(s, p);
                }
            }
            Answer::Busy => {
                self.subscribe(s, p);
                self.question(s, p);
            }
            _ => {}
        }
    }

    fn renewal_answered(&self, s: &mut State, p: usize, reply: &Reply) {
        let deadline = reply.to.sent + self.bounds.extend_ttl;
        let process = &mut s.processes[p];
        let holds = process.is_at(reply.to.claim) && process.phase == Phase::Holding;
        let late = process.phase == Phase::Idle && process.claim == reply.to.claim;
        match reply.answer {
            Answer::Extended if holds => process.deadline = process.deadline.max(deadline),
            Answer::Extended if late && !self.rules.on(Rule::LateRenewalIgnored) => {
                process.phase = Phase::Holding;
                process.deadline = deadline;
            }
            Answer::Lost if holds => self.end(s, p),
            _ => {}
        }
    }

    /// A `granted` message arrives.
    pub(crate) fn notified(&self, s: &mut State, message: &Message) {
        let p = owner_of(message.claim);
        let process = &s.processes[p];
        if !process.is_at(message.claim) {
            return self.unknown_grant(s, p, message.claim);
        }
        if process.phase != Phase::Waiting {
            return;
        }
        let matches = |ticket| ticket == message.ticket || !self.rules.on(Rule::TicketInMessage);
        let Some((_, asked)) = process.answered.filter(|(ticket, _)| matches(*ticket)) else {
            self.saw(s, Event::MessageRefused);
            return self.question(s, p);
        };
        let question = if self.rules.on(Rule::OnlyAnsweredQuestions) { asked } else { process.sent };
        let from = if self.rules.on(Rule::MessageDeadlineFromQuestion) { question } else { s.now };
        self.saw(s, Event::GrantedByMessage);
        if !message.real {
            s.watch.broken |= Promise::Grant.bit();
        }
        let short = if self.rules.on(Rule::ShortByMessage) { self.bounds.short } else { self.bounds.ttl };
        self.believe(s, p, message.token, message.turns, from + short.min(self.bounds.ttl));
    }

    fn unknown_grant(&self, s: &mut State, p: usize, claim: Claim) {
        s.server.hold.iter_mut().filter(|hold| hold.claim == claim).for_each(|hold| hold.told = true);
        if !self.rules.on(Rule::UnknownGrantReturned) {
            return;
        }
        self.saw(s, Event::UnknownReturned);
        let undo = &mut s.processes[p].undo;
        undo.push(Undo { claim, due: s.now, tries: 0, settles: true, conn: CALLERS_CONNECTION });
        let at = undo.len() - 1;
        self.undo(s, p, at);
    }

    fn believe(&self, s: &mut State, p: usize, token: u16, turns: u8, deadline: u8) {
        if deadline <= s.now {
            return self.question(s, p);
        }
        let used = if self.rules.on(Rule::TurnsAsReserved) { turns } else { self.bounds.turns };
        s.watch.highest = s.watch.highest.max(token + u16::from(used) - 1);
        let process = &mut s.processes[p];
        process.phase = Phase::Holding;
        process.deadline = deadline;
        process.answered = None;
        process.sent = 0;
        (s.watch.dark, s.watch.idle) = (0, 0);
    }
}

//! The server's scripts: each is one atomic step.

use crate::bounds::Fault;
use crate::model::Protocol;
use crate::rules::{Promise, Rule};
use crate::state::{Answer, Ask, Claim, Entry, Hold, Message, Phase, Request, State, owner_of};
use crate::watch::Event;

/// Tokens and tickets per tick of the server's clock: more than can be given in one.
const PER_TICK: u16 = 16;

impl Protocol {
    /// The server's clock. It starts high enough to be set back.
    pub(crate) fn clock(&self, s: &State) -> u8 {
        let start = if self.bounds.allows(Fault::StepBack) { 8 } else { 1 };
        start + s.now - s.back
    }

    /// What the clock says as a number for tokens and tickets.
    pub(crate) fn floor(&self, s: &State) -> u16 {
        u16::from(self.clock(s)) * PER_TICK
    }

    /// Runs one request and answers it.
    pub(crate) fn run(&self, s: &mut State, request: &Request) -> Answer {
        let claim = request.claim;
        if s.full && self.refuses_when_full(s, claim, request.ask) {
            let clock = self.clock(s);
            s.server.queue.iter_mut().filter(|e| e.claim == claim).for_each(|e| e.refused = clock);
            return Answer::Refused;
        }
        let before = s.refuse.then(|| s.clone());
        let answer = match request.ask {
            Ask::Acquire { join } => self.acquire(s, claim, join),
            Ask::Extend => self.extend(s, claim),
            Ask::Release => self.release(s, claim),
        };
        match before {
            Some(before) if before.server != s.server => self.refuse(s, before),
            _ => answer,
        }
    }

    fn refuses_when_full(&self, s: &State, claim: Claim, ask: Ask) -> bool {
        match ask {
            Ask::Acquire { .. } => {
                let known = s.server.queue.iter().any(|e| e.claim == claim);
                !known || !self.rules.on(Rule::WaitersAskWhenFull)
            }
            Ask::Extend | Ask::Release => !self.rules.on(Rule::WorksWhenFull),
        }
    }

    /// The first write was refused: nothing happened, but what was published before it is out.
    fn refuse(&self, s: &mut State, before: State) -> Answer {
        let published = s.messages.split_off(before.messages.len());
        *s = before;
        s.refuse = false;
        s.watch.forgive();
        if !self.rules.on(Rule::PublishLast) {
            s.messages.extend(published.into_iter().map(|m| Message { real: false, ..m }));
        }
        Answer::Refused
    }

    /// The lease that is running, if any.
    pub(crate) fn lease<'a>(&self, s: &'a State) -> Option<&'a Hold> {
        let clock = self.clock(s);
        let future_is_now = self.rules.on(Rule::FutureIsNow);
        s.server.hold.as_ref().filter(|hold| {
            let since = if future_is_now { hold.since.min(clock) } else { hold.since };
            clock < since + hold.ttl
        })
    }

    /// Drops a lease that is over and mends times that lie in the future.
    fn refresh(&self, s: &mut State) {
        let clock = self.clock(s);
        if self.lease(s).is_none() {
            s.server.hold = None;
        }
        if self.rules.on(Rule::FutureIsNow) && self.rules.on(Rule::FutureIsWritten) {
            s.server.hold.iter_mut().for_each(|hold| hold.since = hold.since.min(clock));
        }
        if self.rules.on(Rule::FutureQuestionIsNow) {
            s.server.queue.iter_mut().for_each(|entry| entry.asked = entry.asked.min(clock));
        }
    }

    fn acquire(&self, s: &mut State, claim: Claim, join: bool) -> Answer {
        let expired = s.server.hold.is_some() && self.lease(s).is_none();
        self.refresh(s);
        if let Some(answer) = self.granted(s, claim) {
            return answer;
        }
        let clock = self.clock(s);
        self.note_beat(s);
        let known = s.server.queue.iter_mut().find(|e| e.claim == claim).map(|e| e.asked = clock).is_some();
        let passes = !known && !self.rules.on(Rule::NewcomersQueue);
        let nobody = s.server.queue.is_empty() || s.server.blind;
        if s.server.hold.is_none() && !known && (nobody || passes) {
            self.grant(s, claim, u16::MAX, false);
        } else if join && !known {
            self.join(s, claim);
        }
        if s.server.hold.is_none() && self.rules.on(Rule::QuestionsAdvance) {
            let whole = self.advance(s, Some(claim));
            let queued = s.server.queue.iter().any(|e| e.claim == claim);
            let may = whole || !self.rules.on(Rule::WholeWalkForNewcomers);
            if s.server.hold.is_none() && !queued && may {
                self.grant(s, claim, u16::MAX, false);
            } else if expired && s.server.hold.is_some() {
                self.saw(s, Event::HandedOnAfterExpiry);
            }
        }
        self.granted(s, claim).unwrap_or_else(|| self.busy(s, claim))
    }

    fn granted(&self, s: &State, claim: Claim) -> Option<Answer> {
        let hold = s.server.hold.as_ref().filter(|hold| hold.claim == claim)?;
        let end = hold.since + hold.ttl;
        let left =
            if self.rules.on(Rule::TimeReallyLeft) { end - self.clock(s).max(hold.since) } else { hold.ttl };
        Some(Answer::Granted { token: hold.token, turns: hold.turns, left })
    }

    fn busy(&self, s: &State, claim: Claim) -> Answer {
        let entry = s.server.queue.iter().find(|e| e.claim == claim);
        entry.map_or(Answer::Busy, |e| Answer::Queued { ticket: e.ticket })
    }

    fn join(&self, s: &mut State, claim: Claim) {
        let asked = self.clock(s);
        let ticket = if self.rules.on(Rule::TicketFloor) {
            (s.server.last_ticket + 1).max(self.floor(s))
        } else {
            s.server.queue.last().map_or(1, |e| e.ticket + 1)
        };
        s.server.last_ticket = ticket;
        s.server.queue.push(Entry { claim, ticket, asked, refused: 0 });
        s.server.blind = false;
        let process = &mut s.processes[owner_of(claim)];
        if process.is_at(claim) && process.arrived == 0 {
            process.arrived = ticket;
        }
    }

    fn extend(&self, s: &mut State, claim: Claim) -> Answer {
        self.refresh(s);
        let clock = self.clock(s);
        let ttl = self.bounds.extend_ttl;
        match s.server.hold.as_mut() {
            Some(hold) if hold.claim == claim => {
                let shorter = clock + ttl < hold.since + hold.ttl;
                if !shorter || !self.rules.on(Rule::ExtendNeverShortens) {
                    (hold.since, hold.ttl) = (clock, ttl);
                }
                Answer::Extended
            }
            None if !self.rules.on(Rule::ExtendNeverCreates) => {
                let token = s.server.last_token;
                s.server.hold =
                    Some(Hold { claim, token, turns: 1, since: clock, ttl, deaf: false, told: false });
                Answer::Extended
            }
            _ => Answer::Lost,
        }
    }

    fn release(&self, s: &mut State, claim: Claim) -> Answer {
        self.refresh(s);
        let compares = self.rules.on(Rule::ReleaseCompares);
        if s.server.hold.as_ref().is_some_and(|hold| !compares || hold.claim == claim) {
            s.server.hold = None;
            s.watch.idle = 0;
        }
        s.server.queue.retain(|e| e.claim != claim);
        s.processes[owner_of(claim)].forget_place(claim);
        if s.server.hold.is_none() {
            self.advance(s, None);
        }
        Answer::Released
    }

    /// Hands a free lock to the first waiter that is alive. True when the whole queue was seen
    /// and nobody was.
    fn advance(&self, s: &mut State, asker: Option<Claim>) -> bool {
        let mut at = 0;
        for _ in 0..self.bounds.walk {
            let Some(entry) = s.server.queue.get(at).cloned() else { return true };
            let asking = asker == Some(entry.claim);
            let listens = s.listens & (1 << owner_of(entry.claim)) != 0;
            let alive = listens
                || !self.rules.on(Rule::LivenessByChannel)
                || (asking && self.rules.on(Rule::AskerIsAlive));
            if !asking && self.is_silent(s, &entry) {
                s.server.queue.remove(at);
                self.note_silent(s, &entry);
            } else if alive {
                s.server.queue.remove(at);
                self.grant(s, entry.claim, entry.ticket, !asking && !listens);
                if !asking && self.rules.on(Rule::ShortByMessage) {
                    s.server.hold.iter_mut().for_each(|hold| hold.ttl = hold.ttl.min(self.bounds.short));
                }
                if !asking && listens {
                    self.publish(s, &entry);
                }
                return false;
            } else if self.rules.on(Rule::DeafKeepPlace) {
                self.saw(s, Event::PassedOver);
                at += 1;
            } else {
                s.server.queue.remove(at);
            }
        }
        let whole = at >= s.server.queue.len();
        s.server.blind = !whole && at == 0 && !self.rules.on(Rule::HalfAWalkSaysNothing);
        whole
    }

    /// Nobody has asked for longer than anybody promised: the server may have stood still.
    fn is_gap(&self, s: &State) -> bool {
        let beats = s.server.queue.iter().map(|e| e.asked).max();
        let rule = self.bounds.allows(Fault::Standstill) && self.rules.on(Rule::StandstillIsNoSilence);
        rule && beats.is_some_and(|beat| self.clock(s).saturating_sub(beat) > self.bounds.poll + 1)
    }

    /// Somebody asks: after a gap, the silence of all begins anew.
    fn note_beat(&self, s: &mut State) {
        if self.is_gap(s) {
            s.server.since = self.clock(s);
        }
    }

    fn is_silent(&self, s: &State, entry: &Entry) -> bool {
        let last = entry.asked.max(s.server.since);
        let silent = self.clock(s).saturating_sub(last) >= self.bounds.silence && !self.is_gap(s);
        silent && self.rules.on(Rule::SilenceEndsPlace)
    }

    fn publish(&self, s: &mut State, entry: &Entry) {
        let Some(hold) = &s.server.hold else { return };
        let (token, turns) = (hold.token, hold.turns);
        s.messages.push(Message {
            claim: entry.claim,
            ticket: entry.ticket,
            token,
            turns,
            sent: s.now,
            late: false,
            real: true,
        });
    }

    fn grant(&self, s: &mut State, claim: Claim, ticket: u16, deaf: bool) {
        self.check_order(s, claim, ticket);
        s.processes[owner_of(claim)].forget_place(claim);
        let clock = self.clock(s);
        let floor = self.floor(s);
        let next = s.server.last_token + 1;
        let token = if self.rules.on(Rule::TokenFloor) { next.max(floor) } else { next };
        let room = floor.saturating_sub(s.server.last_token).max(1);
        let asked = u16::from(self.bounds.turns);
        let turns = if self.rules.on(Rule::TurnsCapped) { asked.min(room) } else { asked } as u8;
        s.server.last_token = token + u16::from(turns) - 1;
        if token <= s.watch.highest {
            s.watch.broken |= Promise::Tokens.bit();
        }
        s.watch.highest = s.watch.highest.max(token);
        if !deaf {
            s.watch.idle = 0;
        }
        let ttl = self.bounds.ttl;
        s.server.hold = Some(Hold { claim, token, turns, since: clock, ttl, deaf, told: false });
    }
}

impl crate::state::Process {
    /// Whether this claim is the process's attempt at the moment.
    pub(crate) fn is_at(&self, claim: Claim) -> bool {
        self.phase != Phase::Idle && self.claim == claim
    }

    fn forget_place(&mut self, claim: Claim) {
        if self.is_at(claim) {
            self.arrived = 0;
        }
    }
}

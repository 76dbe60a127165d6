//! Random trees, every verb, every kind of caller: the engine agrees with a second opinion that shares no code with it.
//!
//! Arguments are chosen so that a verb that is let through changes nothing (a rename to the same name, a signal, an
//! empty text): one tree then serves thousands of cases, and what is asserted is only whether the gate opened.

mod limits;
mod visibility;

use std::collections::{BTreeSet, HashSet};
use std::mem::{Discriminant, discriminant};

use proto::agent::MailId;
use proto::request::{
    Ask, AskResult, Attach, Attention, ChangeTimer, ChangeWorkspace, Close, Detach, Distrust, Empty, Explain,
    GiveAnswer, Grant, Interrupt, Kill, OnTimeout, PermissionWait, Rename, Resize, Restart, Resume, Revoke,
    See, Select, SetTimer, Shutdown, SizePolicy, SizeRequest, Spawn, Target, Tell, TimerChange, TimerWatch,
    TimerWhen, Until, Wait, WorkspaceChange,
};
use proto::rights::Right;
use proto::{ErrorCode, Kind, ProcessId, Reply, Role, RunNumber, Status};

use super::stage::{Stage, command, name, trust_subject};
use crate::process::{RunRecord, Spec};
use crate::record::ProcessRecord;
use crate::{
    AgentRecord, Caller, Command, CommandAnswer, Config, Effect, Engine, GrantRecord, HookMoment, HookNotice,
    Input, Rule, RunKey, Saved, TaskCommand, TaskEnd, Verb,
};

/// Every variant of [`Command`]; a new one must find its place in [`World::expected`] first.
const VARIANTS: usize = 45;
const CASES: usize = 100_000;
/// Fewest trees that are grown.
const TREES: usize = 20;
const RUN: RunNumber = RunNumber(3);

/// What must come of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expected {
    /// The gate opens; what the verb then says of its arguments is another matter.
    Passes,
    /// Refused with this code.
    Refused(ErrorCode),
}

use Expected::{Passes, Refused};

struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from((self.0 >> 33) % u64::try_from(bound).unwrap()).unwrap()
    }

    fn chance(&mut self, of: usize) -> bool {
        self.below(of) == 0
    }
}

/// One entry as the model knows it.
#[derive(Clone, Debug)]
struct Node {
    id: ProcessId,
    parent: Option<usize>,
    workspace: usize,
    kind: Kind,
    is_live: bool,
    /// Its record says that it acts for the person who opened it, true or not.
    is_opened_by_person: bool,
}

/// The model: a tree, a table of what lies below what, and a list of grants.
struct World {
    stage: Stage,
    nodes: Vec<Node>,
    /// `below[a][b]`: b is below a, at any depth. Filled like a table of distances, not by walking.
    below: Vec<Vec<bool>>,
    grants: Vec<(usize, Right, usize)>,
    /// An agent that has asked for everything one can ask for.
    actor: usize,
    permission: u64,
    question: u64,
    trust: u64,
    timer: u64,
    mail: MailId,
    mail_from: Option<usize>,
    closed: ProcessId,
}

impl World {
    fn grow(random: &mut Random) -> Self {
        let count = 3 + random.below(38);
        let nodes: Vec<Node> = (0..count).map(|n| Self::node(n, random)).collect();
        Self::with(nodes, random)
    }

    fn with(mut nodes: Vec<Node>, random: &mut Random) -> Self {
        let count = nodes.len();
        let actor = random.below(count);
        (nodes[actor].kind, nodes[actor].is_live) = (Kind::Agent, true);
        let below = closure(&nodes);
        let grants = Self::random_grants(count, random);
        let granted = grants.iter().zip(1..).map(|((to, right, over), grant)| GrantRecord {
            grant,
            to: nodes[*to].id,
            right: *right,
            over: nodes[*over].id,
            at: 0,
        });
        let processes = nodes.iter().map(|node| record(node, &nodes)).collect();
        let saved = Saved { processes, grants: granted.collect(), ..Saved::default() };
        let config = Config { seed: 77, ..Config::default() };
        let stage = Stage::with(Engine::restore(config, saved));
        let closed = ProcessId::from_entropy(1);
        let (permission, question, trust, timer, mail) = (0, 0, 0, 0, MailId(0));
        let mut world = Self {
            stage,
            nodes,
            below,
            grants,
            actor,
            permission,
            question,
            trust,
            timer,
            mail,
            mail_from: None,
            closed,
        };
        world.set_up();
        world
    }

    fn node(n: usize, random: &mut Random) -> Node {
        let kind = [Kind::Agent, Kind::Agent, Kind::Command, Kind::Terminal][random.below(4)];
        Node {
            id: ProcessId::from_entropy(1_000 + u64::try_from(n).unwrap()),
            parent: (n > 0 && !random.chance(4)).then(|| random.below(n)),
            workspace: usize::from(random.chance(6)),
            kind,
            // A terminal that is over has no entry.
            is_live: kind == Kind::Terminal || !random.chance(5),
            is_opened_by_person: random.chance(2),
        }
    }

    fn random_grants(count: usize, random: &mut Random) -> Vec<(usize, Right, usize)> {
        let mut grants = Vec::new();
        for _ in 0..random.below(12) {
            let (to, over) = (random.below(count), random.below(count));
            let right = [Right::Read, Right::Drive, Right::Message][random.below(3)];
            if to != over && !grants.contains(&(to, right, over)) {
                grants.push((to, right, over));
            }
        }
        grants
    }

    /// The actor asks for permission, asks a question, asks for trust, sets a timer and gets a message; one process goes.
    fn set_up(&mut self) {
        let actor = self.caller(self.actor);
        let asked = HookMoment::PermissionAsked { title: "rm".to_owned(), body: String::new() };
        self.stage.ask_as(actor, Command::Hook(Box::new(HookNotice { evidence: None, moment: asked })));
        let ask =
            Ask { question: "which?".to_owned(), options: vec!["a".to_owned(), "b".to_owned()], key: None };
        let ticket = self.stage.ask_as(actor, Command::Ask(ask));
        let Reply::Asked(asked) = self.stage.reply(ticket) else { panic!("not asked") };
        (self.permission, self.question) = (asked.item - 1, asked.item);
        let bare = Command::Spawn(Box::new(Spawn { name: None, ..command("x") }.into()));
        let ticket = self.stage.ask_as(actor, bare);
        // A tree that is deeper than a budget allows asks for nothing.
        self.trust = self.stage.failure(ticket).item.unwrap_or(0);
        let ticket = self.stage.ask_as(actor, delay("wake up"));
        let Reply::Timer(timer) = self.stage.reply(ticket) else { panic!("no timer") };
        self.timer = timer.timer;
        self.mail_from = (0..self.nodes.len()).find(|n| self.nodes[*n].is_live && self.below[*n][self.actor]);
        let from = self.mail_from.map_or(Caller::Person, |from| self.caller(from));
        let ticket = self.stage.ask_as(from, tell(&self.target(self.actor), "hello"));
        let Reply::Receipt(receipt) = self.stage.reply(ticket) else { panic!("no receipt") };
        self.mail = receipt.mail;
        let closed = self.stage.spawn(command("closed"));
        self.stage.ask(super::stage::close(closed));
        self.stage.die(closed);
        self.closed = closed.process;
        self.stage.effects.clear();
    }

    fn caller(&self, n: usize) -> Caller {
        Caller::Process(RunKey::new(self.nodes[n].id, RUN))
    }

    fn target(&self, n: usize) -> Target {
        Target(self.nodes[n].id.to_string())
    }

    fn callers(&self, random: &mut Random) -> Vec<Caller> {
        let any = self.nodes[random.below(self.nodes.len())].id;
        let run = |id, run| Caller::Process(RunKey::new(id, RunNumber(run)));
        let mut callers = vec![
            Caller::Nobody,
            Caller::Person,
            run(any, RUN.0 - 1),
            run(any, 0),
            run(any, RUN.0 + 1),
            run(any, u32::MAX),
            run(self.closed, 1),
            run(ProcessId::from_entropy(424_242), RUN.0),
        ];
        callers.extend((0..self.nodes.len()).map(|n| self.caller(n)));
        let via = |id, run| Caller::Via(RunKey::new(id, RunNumber(run)));
        callers.extend([
            via(any, RUN.0 + 1),
            via(self.closed, 1),
            via(ProcessId::from_entropy(424_242), RUN.0),
        ]);
        let sitting = self.nodes.iter().filter(|_| random.chance(2));
        callers.extend(sitting.map(|node| via(node.id, RUN.0)));
        callers
    }

    /// Which entries a person may sit in. Parents come before their children, so one pass over the table fills it.
    fn acting(&self) -> Vec<bool> {
        let mut acting: Vec<bool> = Vec::new();
        for (n, node) in self.nodes.iter().enumerate() {
            let is_shared = self.grants.iter().any(|(_, right, over)| *over == n && *right == Right::Drive);
            let is_parent_acting = node.parent.is_none_or(|parent| acting[parent]);
            let is_plain = node.kind == Kind::Terminal || node.kind == Kind::Command;
            acting.push(node.is_opened_by_person && is_plain && !is_shared && is_parent_acting);
        }
        acting
    }

    /// The verbs that have a target.
    fn aimed(&self, n: usize, random: &mut Random) -> Vec<Command> {
        let target = || self.target(n);
        let verb = VERBS[random.below(VERBS.len())];
        let attach = |read_only, policy, take_over| {
            Command::Attach(Attach { target: target(), read_only, policy, take_over, ..Attach::default() })
        };
        let wait = Wait::until(vec![target()], Until::Exit(Empty {}));
        let watch = TimerWatch { processes: vec![target()], max_wait_ms: 1_000 };
        vec![
            Command::Locate { target: target(), verb },
            attach(true, None, false),
            attach(true, Some(SizePolicy::Owner), false),
            attach(true, None, true),
            attach(false, None, false),
            Command::Wait(wait),
            Command::Resize(Resize { target: target(), size: SizeRequest::default() }),
            Command::Kill(Kill { target: target(), signal: Some(1), grace_ms: None }),
            Command::Close(Close { target: target(), keep_background: true, stop: proto::Stop::default() }),
            Command::Restart(Restart { target: target(), ..Restart::default() }),
            Command::Rename(Rename { target: target(), name: format!("p{n}") }),
            Command::Detach(Detach { target: target() }),
            tell(&target(), ""),
            Command::Result(AskResult { target: target(), turn: None }),
            Command::Explain(Explain { target: target() }),
            Command::Resume(Resume { target: target(), ..Resume::default() }),
            Command::Interrupt(Interrupt { target: target() }),
            Command::Select(Select { target: target() }),
            Command::See { see: See { target: target(), ..See::default() }, offset: None },
            Command::SetTimer(SetTimer {
                owner: Some(target()),
                when: TimerWhen::After(1),
                body: String::new(),
                label: None,
                key: None,
            }),
            Command::SetTimer(SetTimer {
                owner: None,
                when: TimerWhen::IdleAny(watch),
                body: "x".to_owned(),
                label: None,
                key: None,
            }),
            Command::Grant(Grant { to: target(), right: Right::Drive, over: target() }),
        ]
    }

    /// The verbs that have none.
    fn plain(&self) -> Vec<Command> {
        let notice = HookNotice { evidence: None, moment: HookMoment::Other };
        let mut all = vec![
            Command::Spawn(Box::new(Spawn { argv: Vec::new(), ..command("x") }.into())),
            Command::List,
            Command::Viewers,
            Command::Subscribe,
            Command::Receipt(proto::request::AskReceipt { mail: self.mail }),
            Command::Receipt(proto::request::AskReceipt { mail: MailId(99_999) }),
            Command::CancelMessage(proto::request::CancelMessage { mail: MailId(99_999) }),
            Command::Messages,
            Command::Inbox,
            Command::Hook(Box::new(notice)),
            Command::WhoAmI,
            Command::CallerIdentity("pad"),
            project(None, Role::View),
            project(Some(""), Role::View),
            project(Some(""), Role::Type),
            project(Some("elsewhere"), Role::View),
            delay(""),
            Command::Timers,
            Command::ChangeTimer(ChangeTimer { timer: self.timer, change: TimerChange::Resume }),
            Command::ChangeTimer(ChangeTimer { timer: 99_999, change: TimerChange::Cancel }),
            Command::Ask(Ask { question: String::new(), options: Vec::new(), key: None }),
            Command::Attention(Attention { reason: String::new(), key: None }),
            Command::Revoke(Revoke { grant: 99_999 }),
            Command::Grants,
            Command::Trust(Box::new(trust_subject("", Rule::Ask))),
            Command::Distrust(Distrust { digest: "zz".to_owned() }),
            Command::Trusted,
            Command::Workspaces,
            Command::ChangeWorkspace(ChangeWorkspace {
                name: "nowhere".to_owned(),
                change: WorkspaceChange::Remove,
            }),
            Command::Task(TaskCommand::List),
            Command::Task(TaskCommand::End { id: 99_999, end: TaskEnd::Undone }),
            Command::Shutdown(Shutdown { kill: true, stop: proto::Stop::default() }),
        ];
        all.extend(VERBS.map(Command::Permit));
        let items = [self.permission, self.question, self.trust, 99_999];
        all.extend(items.map(|item| {
            Command::Answer(GiveAnswer { item, choice: "none of them".to_owned(), ..GiveAnswer::default() })
        }));
        all
    }

    /// The second opinion.
    fn expected(&self, caller: Caller, command: &Command) -> Expected {
        let unknown = Refused(ErrorCode::Unauthorized);
        let own = match caller {
            Caller::Nobody => return unknown,
            Caller::Person => return if matches!(command, Command::Hook(_)) { DENIED } else { Passes },
            Caller::Via(run) => {
                let sits = self.nodes.iter().position(|node| node.id == run.process && node.is_live);
                let is_person = run.run == RUN && sits.is_some_and(|sits| self.acting()[sits]);
                return if is_person { self.expected(Caller::Person, command) } else { unknown };
            }
            Caller::Process(run) => {
                let own = self.nodes.iter().position(|node| node.id == run.process);
                match own.filter(|own| self.nodes[*own].is_live && run.run == RUN) {
                    Some(own) => own,
                    None => return unknown,
                }
            }
        };
        let reads = |target: &Target| self.related(self.reads(own, self.index(target)));
        let drives = |target: &Target| self.related(self.drives(own, self.index(target)));
        match command {
            Command::Spawn(_)
            | Command::List
            | Command::Viewers
            | Command::Subscribe
            | Command::Inbox
            | Command::WhoAmI
            | Command::CallerIdentity(_)
            | Command::Timers
            | Command::Grants
            | Command::Ask(_)
            | Command::Attention(_)
            | Command::Workspaces
            | Command::Task(TaskCommand::List) => Passes,
            // All nodes are in one project, which has no key.
            Command::Project { project, .. } => self.related(project.as_deref().is_none_or(str::is_empty)),
            Command::Locate { target, verb } => self.related(self.does(own, *verb, self.index(target))),
            Command::Attach(attach) => self.related(self.attaches(own, attach)),
            Command::Wait(wait) => reads(&wait.targets[0]),
            Command::Result(ask) => reads(&ask.target),
            Command::Explain(explain) => reads(&explain.target),
            Command::Select(select) => reads(&select.target),
            Command::Resize(resize) => drives(&resize.target),
            Command::Kill(kill) => drives(&kill.target),
            Command::Close(close) => drives(&close.target),
            Command::Restart(restart) => drives(&restart.target),
            Command::Rename(rename) => drives(&rename.target),
            Command::Detach(detach) => drives(&detach.target),
            Command::Resume(resume) => drives(&resume.target),
            Command::Tell(tell) => self.related(self.messages(own, self.index(&tell.target))),
            Command::SetTimer(request) => self.sets_timer(own, request),
            Command::ChangeTimer(change) if change.timer == self.timer => {
                self.related(self.drives(own, self.actor))
            }
            Command::Receipt(proto::request::AskReceipt { mail }) if *mail == self.mail => {
                self.related(self.mail_from == Some(own) || self.drives(own, self.actor))
            }
            Command::ChangeTimer(_) | Command::Receipt(_) | Command::CancelMessage(_) | Command::Messages => {
                Passes
            }
            Command::Interrupt(interrupt) => drives(&interrupt.target),
            Command::Answer(answer) if answer.item == self.permission => {
                self.related(self.below[own][self.actor])
            }
            Command::Answer(answer) if [self.question, self.trust].contains(&answer.item) => {
                if answer.item == 0 { Passes } else { DENIED }
            }
            Command::Answer(_) => Passes,
            Command::Hook(_) if self.nodes[own].kind == Kind::Agent => Passes,
            Command::Permit(Verb::List | Verb::Spawn) => Passes,
            Command::Hook(_)
            | Command::See { .. }
            | Command::Permit(_)
            | Command::Grant(_)
            | Command::Revoke(_)
            | Command::Trust(_)
            | Command::Distrust(_)
            | Command::Trusted
            | Command::ChangeWorkspace(_)
            | Command::Task(_)
            | Command::Shutdown(_) => DENIED,
        }
    }

    fn attaches(&self, own: usize, attach: &Attach) -> bool {
        let target = self.index(&attach.target);
        let only_watches = attach.read_only && attach.policy.is_none() && !attach.take_over;
        if only_watches { self.reads(own, target) } else { self.drives(own, target) }
    }

    fn sets_timer(&self, own: usize, request: &SetTimer) -> Expected {
        match (&request.owner, &request.when) {
            (Some(owner), _) if !self.drives(own, self.index(owner)) => self.related(false),
            (Some(owner), _) if self.index(owner) != own => DENIED,
            (None, TimerWhen::IdleAny(watch)) if self.nodes[own].kind == Kind::Agent => {
                self.related(self.reads(own, self.index(&watch.processes[0])))
            }
            _ => Passes,
        }
    }

    fn related(&self, is_related: bool) -> Expected {
        if is_related { Passes } else { Refused(ErrorCode::NotRelated) }
    }

    fn index(&self, target: &Target) -> usize {
        self.nodes.iter().position(|node| node.id.to_string() == target.0).expect("a target of the tree")
    }

    fn has(&self, to: usize, right: Right, over: usize) -> bool {
        self.grants.contains(&(to, right, over))
    }

    fn does(&self, own: usize, verb: Verb, over: usize) -> bool {
        match verb {
            Verb::List => self.sees(own, over),
            Verb::Read => self.reads(own, over),
            Verb::Drive => self.drives(own, over),
            Verb::Message => self.messages(own, over),
            Verb::Answer => self.below[own][over],
            Verb::See | Verb::Spawn | Verb::Administer => false,
        }
    }

    fn drives(&self, own: usize, over: usize) -> bool {
        own == over || self.below[own][over] || self.has(own, Right::Drive, over)
    }

    fn reads(&self, own: usize, over: usize) -> bool {
        self.drives(own, over) || self.has(own, Right::Read, over)
    }

    fn messages(&self, own: usize, over: usize) -> bool {
        let (me, other) = (&self.nodes[own], &self.nodes[over]);
        let are_siblings = own != over
            && me.parent.is_some()
            && me.parent == other.parent
            && me.workspace == other.workspace;
        self.below[own][over]
            || me.parent == Some(over)
            || are_siblings
            || self.has(own, Right::Message, over)
    }

    fn sees(&self, own: usize, over: usize) -> bool {
        let is_near = self.nodes[own].workspace == self.nodes[over].workspace;
        is_near || self.reads(own, over) || self.messages(own, over)
    }

    /// Returns true if a verb that is let through would change the tree: nothing can be learnt from it twice.
    fn would_change(&self, caller: Caller, command: &Command) -> bool {
        self.expected(caller, command) == Passes
            && matches!(command, Command::Close(_) | Command::Restart(_) | Command::Shutdown(_))
    }

    fn check(&mut self, caller: Caller, command: Command) {
        let (expected, shown) = (self.expected(caller, &command), format!("{caller:?} {command:?}"));
        let ticket = self.stage.ask_as(caller, command.clone());
        let effects = std::mem::take(&mut self.stage.effects);
        let notes = effects.iter().filter_map(|effect| match effect {
            Effect::Audit(note) => Some(note),
            _ => None,
        });
        let refusals: Vec<&str> =
            notes.map(|note| note.decision.as_str()).filter(|decision| *decision != "allowed").collect();
        let reply = effects.iter().find_map(|effect| match effect {
            Effect::Reply { ticket: known, result } if *known == ticket => Some((**result).clone()),
            _ => None,
        });
        match expected {
            Refused(code) => {
                let failure = reply.expect("a refusal is said at once").expect_err(&shown);
                assert_eq!(failure.code, code, "{shown}: {failure}");
                assert_eq!(refusals, [word(code)], "{shown}: it is written down once");
                assert_eq!(effects.len(), 2, "{shown}: a refusal does nothing: {effects:?}");
            }
            Passes => {
                let code = reply.as_ref().and_then(|reply| reply.as_ref().err()).map(|failure| failure.code);
                assert!(!code.is_some_and(|code| REFUSALS.contains(&code)), "{shown}: {code:?}");
                assert!(refusals.is_empty(), "{shown}: {refusals:?}");
                if let Some(Ok(answer)) = reply {
                    self.check_answer(caller, answer);
                } else if matches!(command, Command::Wait(_)) {
                    self.stage.input(Input::CallerGone { ticket });
                    self.stage.effects.clear();
                }
            }
        }
    }

    /// What is told is no more and no less than what may be known.
    fn check_answer(&mut self, caller: Caller, answer: CommandAnswer) {
        let own = match caller {
            Caller::Process(run) => self.nodes.iter().position(|node| node.id == run.process),
            Caller::Person | Caller::Via(_) | Caller::Nobody => None,
        };
        match answer {
            CommandAnswer::Listed { processes, .. } => {
                let seen: BTreeSet<ProcessId> = processes.iter().map(|view| view.id).collect();
                let expected = (0..self.nodes.len()).filter(|n| own.is_none_or(|own| self.sees(own, *n)));
                assert_eq!(seen, expected.map(|n| self.nodes[n].id).collect(), "{caller:?}");
            }
            CommandAnswer::Reply(Reply::Grants(grants)) => {
                let seen =
                    grants.iter().filter(|grant| own.is_none_or(|own| grant.grant.to == self.nodes[own].id));
                assert_eq!(seen.count(), grants.len());
                let expected = self.grants.iter().filter(|(to, ..)| own.is_none_or(|own| *to == own));
                assert_eq!(grants.len(), expected.count());
            }
            CommandAnswer::Reply(Reply::Inbox(items)) => {
                let all = [self.permission, self.question, self.trust];
                let expected = all.into_iter().filter(|item| *item > 0).filter(|item| match own {
                    None => true,
                    Some(own) => *item == self.permission && self.below[own][self.actor],
                });
                let seen: BTreeSet<u64> = items.iter().map(|item| item.item).collect();
                assert_eq!(seen, expected.collect(), "{caller:?}");
            }
            CommandAnswer::Reply(Reply::Messages(messages)) => {
                let is_listed = messages.iter().any(|message| message.mail == self.mail);
                let may = |own: usize| self.mail_from == Some(own) || self.drives(own, self.actor);
                assert_eq!(is_listed, self.mail.0 > 0 && own.is_none_or(may), "{caller:?}");
            }
            CommandAnswer::Reply(Reply::Timers(timers)) => {
                let of_actor = timers.iter().any(|timer| timer.timer == self.timer);
                assert_eq!(of_actor, own.is_none_or(|own| self.reads(own, self.actor)), "{caller:?}");
            }
            CommandAnswer::Reply(Reply::Timer(timer)) if timer.timer != self.timer => {
                let change = ChangeTimer { timer: timer.timer, change: TimerChange::Cancel };
                self.stage.ask(Command::ChangeTimer(change));
                self.stage.effects.clear();
            }
            CommandAnswer::Reply(Reply::Identity(identity)) => {
                assert_eq!(
                    identity.nonce.is_some(),
                    own.is_some_and(|own| self.nodes[own].kind == Kind::Agent)
                );
            }
            _ => {}
        }
    }
}

const DENIED: Expected = Refused(ErrorCode::Denied);
const REFUSALS: [ErrorCode; 3] = [ErrorCode::Unauthorized, ErrorCode::NotRelated, ErrorCode::Denied];
const VERBS: [Verb; 8] = [
    Verb::List,
    Verb::Read,
    Verb::Drive,
    Verb::Message,
    Verb::Answer,
    Verb::See,
    Verb::Spawn,
    Verb::Administer,
];

fn word(code: ErrorCode) -> &'static str {
    match code {
        ErrorCode::Unauthorized => "unauthorized",
        ErrorCode::NotRelated => "not_related",
        _ => "denied",
    }
}

fn closure(nodes: &[Node]) -> Vec<Vec<bool>> {
    let count = nodes.len();
    let mut below = vec![vec![false; count]; count];
    for (n, node) in nodes.iter().enumerate() {
        if let Some(parent) = node.parent {
            below[parent][n] = true;
        }
    }
    for middle in 0..count {
        for above in 0..count {
            for under in 0..count {
                below[above][under] |= below[above][middle] && below[middle][under];
            }
        }
    }
    below
}

fn tell(target: &Target, text: &str) -> Command {
    let (target, text) = (target.clone(), text.to_owned());
    Command::Tell(Tell { target, text, key: None, wait_ms: None, expires_ms: None })
}

fn project(key: Option<&str>, role: Role) -> Command {
    Command::Project { project: key.map(str::to_owned), role, word: "pad" }
}

fn delay(body: &str) -> Command {
    let (when, body) = (TimerWhen::After(500_000_000), body.to_owned());
    Command::SetTimer(SetTimer { owner: None, when, body, label: None, key: None })
}

fn record(node: &Node, nodes: &[Node]) -> ProcessRecord {
    let n = nodes.iter().position(|other| other.id == node.id).unwrap();
    let mut stage = Stage::new();
    let made = stage.spawn(command("template"));
    let template =
        super::agents::scene::saved(&stage.effects).processes.into_iter().find(|p| p.id == made.process);
    let wait = PermissionWait { timeout_ms: 500_000_000, on_timeout: OnTimeout::Deny };
    let agent = AgentRecord { permissions: Some(wait), nonce: format!("nonce{n}"), ..AgentRecord::default() };
    let template = template.expect("the template was written down");
    let spec = Spec {
        kind: node.kind,
        parent: node.parent.map(|parent| nodes[parent].id),
        workspace: format!("w{}", node.workspace),
        acts_for_person: node.is_opened_by_person,
        ..template.spec
    };
    let status = if node.is_live { Status::Running } else { Status::Exited };
    ProcessRecord {
        id: node.id,
        name: name(&format!("p{n}")),
        spec,
        run: RunRecord { number: RUN, status, has_holder: node.is_live, ..template.run },
        agent: (node.kind == Kind::Agent).then_some(agent),
        ..template
    }
}

#[test]
fn b5_b6_m12_every_verb_of_every_caller_on_every_target_is_judged_as_the_model_judges() {
    let mut random = Random(20_260_728);
    let (mut cases, mut worlds, mut unauthorized, mut persons) = (0, 0, 0, 0);
    let mut seen: HashSet<Discriminant<Command>> = HashSet::new();
    while cases < CASES || worlds < TREES {
        let mut world = World::grow(&mut random);
        worlds += 1;
        for caller in world.callers(&mut random) {
            let mut commands = world.plain();
            for _ in 0..5 {
                let target = random.below(world.nodes.len());
                commands.extend(world.aimed(target, &mut random));
            }
            for command in commands {
                if world.would_change(caller, &command) {
                    continue;
                }
                seen.insert(discriminant(&command));
                unauthorized +=
                    usize::from(world.expected(caller, &command) == Refused(ErrorCode::Unauthorized));
                persons += usize::from(
                    matches!(caller, Caller::Via(_)) && world.expected(caller, &command) == Passes,
                );
                world.check(caller, command);
                cases += 1;
            }
        }
    }
    assert_eq!(seen.len(), VARIANTS, "a verb is missing");
    assert!(persons > CASES / 100, "{persons} cases of a person who sits in a process");
    assert!(unauthorized > CASES / 10, "{worlds} trees, {unauthorized} of nobody");
}

#[test]
fn b5_nobody_gets_anything_whatever_they_claim_to_be() {
    let mut random = Random(5);
    for _ in 0..10 {
        let mut world = World::grow(&mut random);
        let own = |caller: &Caller| *caller != Caller::Person;
        let strangers: Vec<Caller> = world.callers(&mut random).into_iter().take(8).filter(own).collect();
        for caller in strangers {
            for command in world.plain().into_iter().chain(world.aimed(0, &mut random)) {
                let ticket = world.stage.ask_as(caller, command);
                assert_eq!(world.stage.failure(ticket).code, ErrorCode::Unauthorized);
            }
        }
    }
}

//! Every verb, every caller, every role and workspace: the engine agrees with a second opinion about what a limit takes
//! away, and no reply names anything of another workspace.

use proto::request::{AskReceipt, Attach, SetTimer, Target};
use proto::{Kind, Limit, Role};

use super::*;
use crate::Principal;

const CASES: usize = 30_000;

/// The role that a verb needs.
fn needed(command: &Command) -> Role {
    match command {
        Command::List
        | Command::Subscribe
        | Command::Viewers
        | Command::Wait(_)
        | Command::Receipt(_)
        | Command::Messages
        | Command::Result(_)
        | Command::Explain(_)
        | Command::Inbox
        | Command::WhoAmI
        | Command::Timers
        | Command::Grants
        | Command::Trusted
        | Command::Workspaces
        | Command::CallerIdentity(_)
        | Command::Attach(Attach { read_only: true, policy: None, take_over: false, .. })
        | Command::Locate { verb: Verb::List | Verb::Read, .. }
        | Command::Permit(Verb::List | Verb::Read) => Role::View,
        Command::Task(TaskCommand::List) => Role::View,
        Command::Project { role, .. } => *role,
        Command::Locate { verb: Verb::Administer, .. }
        | Command::Permit(Verb::Administer)
        | Command::Grant(_)
        | Command::Revoke(_)
        | Command::Trust(_)
        | Command::Distrust(_)
        | Command::ChangeWorkspace(_)
        | Command::Task(TaskCommand::Advance { .. } | TaskCommand::End { .. })
        | Command::Shutdown(_) => Role::Admin,
        Command::Attach(_)
        | Command::Locate { .. }
        | Command::Permit(_)
        | Command::Spawn(_)
        | Command::Resize(_)
        | Command::Kill(_)
        | Command::Close(_)
        | Command::Restart(_)
        | Command::Rename(_)
        | Command::Detach(_)
        | Command::Tell(_)
        | Command::CancelMessage(_)
        | Command::Interrupt(_)
        | Command::Answer(_)
        | Command::Resume(_)
        | Command::SetTimer(_)
        | Command::ChangeTimer(_)
        | Command::Ask(_)
        | Command::Attention(_)
        | Command::Select(_)
        | Command::See { .. }
        | Command::Task(_)
        | Command::Hook(_) => Role::Type,
    }
}

impl World {
    /// A tree whose processes stay in the workspace of their parent, as those that the engine starts do.
    pub(super) fn grow_realistic(random: &mut Random) -> Self {
        let count = 3 + random.below(20);
        let mut nodes: Vec<Node> = (0..count).map(|n| Self::node(n, random)).collect();
        for n in 0..count {
            nodes[n].workspace = match nodes[n].parent {
                Some(parent) => nodes[parent].workspace,
                None => random.below(2),
            };
        }
        Self::with(nodes, random)
    }

    pub(super) fn is_foreign(&self, n: usize, limit: &Limit) -> bool {
        limit.workspace.as_ref().is_some_and(|only| *only != format!("w{}", self.nodes[n].workspace))
    }

    pub(super) fn own(&self, caller: Caller) -> Option<usize> {
        let Caller::Process(run) = caller else { return None };
        self.nodes.iter().position(|node| node.id == run.process)
    }

    /// The processes that a command names, itself or by the number of something that is theirs.
    fn named(&self, caller: Caller, command: &Command) -> Vec<usize> {
        let is_actors = match command {
            Command::Answer(answer) => {
                answer.item > 0 && [self.permission, self.question, self.trust].contains(&answer.item)
            }
            Command::ChangeTimer(change) => change.timer == self.timer,
            Command::Receipt(AskReceipt { mail }) => *mail == self.mail,
            _ => false,
        };
        match command {
            _ if is_actors => vec![self.actor],
            Command::Wait(wait) => vec![self.index(&wait.targets[0])],
            Command::Grant(grant) => vec![self.index(&grant.to)],
            Command::SetTimer(SetTimer { owner: Some(owner), .. }) => vec![self.index(owner)],
            Command::SetTimer(SetTimer { when, .. }) => self.named_by_timer(caller, when),
            _ => command.target().map(|target: &Target| self.index(target)).into_iter().collect(),
        }
    }

    fn named_by_timer(&self, caller: Caller, when: &TimerWhen) -> Vec<usize> {
        let Some(own) = self.own(caller) else { return Vec::new() };
        let watched = match when {
            TimerWhen::IdleAny(watch) | TimerWhen::IdleAll(watch) => &watch.processes[..],
            TimerWhen::After(_) => &[],
        };
        let is_agent = self.nodes[own].kind == Kind::Agent;
        let watched = watched.iter().filter(|_| is_agent).map(|target| self.index(target));
        std::iter::once(own).chain(watched).collect()
    }

    /// Returns true if it types into something that has all rights of the person who opened it.
    fn types_for_person(&self, command: &Command) -> bool {
        let target = match command {
            Command::Locate { target, verb: Verb::Drive } => target,
            Command::Attach(attach) if !attach.read_only => &attach.target,
            _ => return false,
        };
        self.acting()[self.index(target)]
    }

    /// The second opinion about a caller within a limit.
    fn expected_within(&self, caller: Caller, limit: &Limit, command: &Command) -> Expected {
        let unlimited = self.expected(caller, command);
        if unlimited == Refused(ErrorCode::Unauthorized) {
            return unlimited;
        }
        if limit.role < needed(command) {
            return DENIED;
        }
        // What only people do is refused before its target is looked at.
        let is_peoples = matches!(command, Command::See { .. } | Command::Grant(_));
        if is_peoples && unlimited != Passes {
            return unlimited;
        }
        if self.named(caller, command).into_iter().any(|n| self.is_foreign(n, limit)) {
            return Refused(ErrorCode::NotFound);
        }
        let is_persons = !matches!(caller, Caller::Process(_));
        let is_empty = (0..self.nodes.len()).all(|n| self.is_foreign(n, limit));
        match command {
            _ if unlimited != Passes => unlimited,
            _ if !limit.is_none() && self.types_for_person(command) => DENIED,
            Command::Answer(answer) if answer.item == self.trust && self.trust > 0 => {
                if limit.role == Role::Admin { Passes } else { DENIED }
            }
            // A process that may only look drives nobody: what was sent by others is not for it.
            Command::Receipt(AskReceipt { mail }) if *mail == self.mail && limit.role == Role::View => {
                self.related(is_persons || self.mail_from == self.own(caller))
            }
            Command::Shutdown(_) | Command::ChangeWorkspace(_) | Command::Permit(Verb::Administer)
                if limit.workspace.is_some() =>
            {
                DENIED
            }
            Command::Project { project: Some(key), .. } if limit.workspace.is_some() => {
                match key.is_empty() && !is_empty {
                    true => Passes,
                    false if is_persons => DENIED,
                    false => Refused(ErrorCode::NotRelated),
                }
            }
            _ => Passes,
        }
    }

    fn check_within(&mut self, caller: Caller, limit: &Limit, command: Command) {
        let expected = self.expected_within(caller, limit, &command);
        let shown = format!("{caller:?} within {limit}: {command:?}");
        let is_wait = matches!(command, Command::Wait(_));
        // What the caller says itself may be said back to it.
        let said = self.said(&command);
        let principal = Principal { caller, label: None, limit: limit.clone() };
        let ticket = self.stage.ask_within(principal, command);
        let effects = std::mem::take(&mut self.stage.effects);
        let reply = effects.iter().find_map(|effect| match effect {
            Effect::Reply { ticket: known, result } if *known == ticket => Some((**result).clone()),
            _ => None,
        });
        match (expected, reply) {
            (Refused(code), reply) => {
                let failure = reply.expect("a refusal is said at once").expect_err(&shown);
                assert_eq!(failure.code, code, "{shown}: {failure}");
                let notes = effects.iter().filter(|effect| matches!(effect, Effect::Audit(_))).count();
                assert_eq!(notes, usize::from(code != ErrorCode::NotFound), "{shown}: {effects:?}");
                assert_eq!(effects.len(), 1 + notes, "{shown}: a refusal does nothing: {effects:?}");
                self.check_names(caller, limit, &failure.message.replace(&said, ""));
            }
            (Passes, Some(Err(failure))) => {
                assert!(!REFUSALS.contains(&failure.code), "{shown}: {failure}");
                self.check_names(caller, limit, &failure.message.replace(&said, ""));
            }
            (Passes, Some(Ok(answer))) => self.check_answer_within(caller, limit, answer),
            (Passes, None) if is_wait => {
                self.stage.input(Input::CallerGone { ticket });
                self.stage.effects.clear();
            }
            (Passes, None) => {}
        }
    }

    fn said(&self, command: &Command) -> String {
        let target = match command {
            Command::Wait(wait) => Some(&wait.targets[0]),
            Command::SetTimer(SetTimer { owner: None, when: TimerWhen::IdleAny(watch), .. }) => {
                Some(&watch.processes[0])
            }
            _ => command.target(),
        };
        target.map_or_else(|| "-".to_owned(), |target| target.0.clone())
    }

    /// Nothing of another workspace is named. What the caller itself is, it knows.
    fn check_names(&self, caller: Caller, limit: &Limit, text: &str) {
        let foreign =
            (0..self.nodes.len()).filter(|n| self.is_foreign(*n, limit) && self.own(caller) != Some(*n));
        for n in foreign {
            let (id, name) = (self.nodes[n].id.to_string(), format!("\"p{n}\""));
            assert!(!text.contains(&name), "{caller:?} within {limit} learns of p{n}: {text}");
            assert!(!text.contains(&id), "{caller:?} within {limit} learns of {id}: {text}");
        }
    }

    fn check_answer_within(&mut self, caller: Caller, limit: &Limit, answer: CommandAnswer) {
        match answer {
            CommandAnswer::Listed { processes, .. } => {
                let seen: BTreeSet<ProcessId> = processes.iter().map(|view| view.id).collect();
                let own = self.own(caller);
                let is_seen =
                    |n: &usize| !self.is_foreign(*n, limit) && own.is_none_or(|own| self.sees(own, *n));
                let expected = (0..self.nodes.len()).filter(is_seen).map(|n| self.nodes[n].id).collect();
                assert_eq!(seen, expected, "{caller:?} within {limit}");
                let text = serde_json::to_string(&processes).unwrap();
                self.check_names(caller, limit, &text);
            }
            // What a process is told about itself names its parent.
            CommandAnswer::Reply(Reply::Identity(identity)) => assert_eq!(identity.limit, *limit),
            CommandAnswer::Reply(reply) => {
                let text = serde_json::to_string(&reply).unwrap();
                self.check_names(caller, limit, &text);
                if let Reply::Timer(timer) = reply
                    && timer.timer != self.timer
                {
                    let change = ChangeTimer { timer: timer.timer, change: TimerChange::Cancel };
                    self.stage.ask(Command::ChangeTimer(change));
                    self.stage.effects.clear();
                }
            }
            _ => {}
        }
    }
}

pub(super) fn limits() -> Vec<Limit> {
    let workspaces = [None, Some("w0".to_owned()), Some("w1".to_owned()), Some("w7".to_owned())];
    let of = |workspace: Option<String>| Role::ALL.map(|role| Limit { workspace: workspace.clone(), role });
    workspaces.into_iter().flat_map(of).collect()
}

#[test]
fn n5_every_verb_of_every_caller_within_every_limit_is_judged_as_the_model_judges() {
    let mut random = Random(20_261_117);
    let (mut cases, mut refused, mut hidden) = (0, 0, 0);
    let mut seen: HashSet<Discriminant<Command>> = HashSet::new();
    while cases < CASES {
        let mut world = World::grow_realistic(&mut random);
        for caller in world.callers(&mut random) {
            for limit in limits() {
                let mut commands = world.plain();
                commands.extend(world.aimed(random.below(world.nodes.len()), &mut random));
                for command in commands {
                    let expected = world.expected_within(caller, &limit, &command);
                    let ends =
                        matches!(command, Command::Close(_) | Command::Restart(_) | Command::Shutdown(_));
                    if expected == Passes && ends {
                        continue;
                    }
                    seen.insert(discriminant(&command));
                    let was = world.expected(caller, &command);
                    refused += usize::from(was == Passes && expected == DENIED);
                    hidden += usize::from(expected == Refused(ErrorCode::NotFound));
                    assert!(was == Passes || expected != Passes, "a limit gives nothing: {command:?}");
                    world.check_within(caller, &limit, command);
                    cases += 1;
                }
            }
        }
    }
    assert_eq!(seen.len(), VARIANTS, "a verb is missing");
    assert!(refused > CASES / 20, "{refused} refused by their role");
    assert!(hidden > CASES / 20, "{hidden} of another workspace");
}

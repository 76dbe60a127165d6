//! An agent on the stage: its screen, its hooks and its mail in hand.

use proto::agent::{Composer, Delivery, Dialog, DialogOption, MailId, Source};
use proto::request::{AgentRequest, Spawn, Tell};
use proto::{AgentState, Evidence, ProcessId, Reply};

use crate::input::{HookMoment, HookNotice};
use crate::tests::stage::{Stage, target};
use crate::{
    Caller, Command, CommandAnswer, Effect, Guard, HookDecision, JobId, Keystrokes, Launched, Record,
    RunFact, RunKey, Saved, ScreenSeen, Ticket, TypingOutcome,
};

/// A stage with one agent on it.
pub(in crate::tests) struct Scene {
    pub(in crate::tests) stage: Stage,
    pub(in crate::tests) run: RunKey,
}

pub(in crate::tests) fn agent(name: &str) -> Spawn {
    Spawn {
        kind: proto::Kind::Agent,
        name: Some(name.to_owned()),
        argv: vec!["fake".to_owned()],
        ..Spawn::default()
    }
}

impl Scene {
    /// An agent that has started and been launched, with nothing seen of it yet.
    pub(in crate::tests) fn with(spawn: Spawn, launched: Launched) -> Self {
        let mut stage = Stage::new();
        let run = stage.spawn(spawn);
        stage.fact(run, RunFact::Launched(launched));
        Self { stage, run }
    }

    /// An agent that reports its state and confirms prompts, at rest with an empty composer.
    pub(in crate::tests) fn idle() -> Self {
        let mut scene = Self::with(agent("a"), Launched { confirms_prompts: true, ..Launched::default() });
        scene.look(Composer::Empty);
        scene.report(AgentState::Idle);
        scene
    }

    pub(in crate::tests) fn id(&self) -> ProcessId {
        self.run.process
    }

    pub(in crate::tests) fn fact(&mut self, fact: RunFact) -> Vec<Effect> {
        self.stage.fact(self.run, fact)
    }

    /// The program reports its state.
    pub(in crate::tests) fn report(&mut self, state: AgentState) {
        self.evidence(Source::ProgramStatus, state);
    }

    pub(in crate::tests) fn evidence(&mut self, source: Source, state: AgentState) {
        self.fact(RunFact::Evidence(Box::new(Evidence::new(source, "rule", Some(state)))));
    }

    /// The screen shows this composer and nothing else worth telling.
    pub(in crate::tests) fn look(&mut self, composer: Composer) {
        self.fact(RunFact::ScreenSeen(Box::new(ScreenSeen { composer, ..ScreenSeen::default() })));
    }

    /// The screen shows a dialog.
    pub(in crate::tests) fn show_dialog(&mut self, digest: &str) {
        self.show_dialog_below(digest, 1);
    }

    /// Shows a dialog below words with this digest.
    pub(in crate::tests) fn show_dialog_below(&mut self, digest: &str, context: u64) {
        let (dialog, dialog_context) = (Some(dialog(digest)), Some(context));
        let look = ScreenSeen { dialog, dialog_context, ..ScreenSeen::default() };
        self.fact(RunFact::ScreenSeen(Box::new(look)));
    }

    pub(in crate::tests) fn hook(&mut self, state: Option<AgentState>, moment: HookMoment) -> Ticket {
        let evidence = state.map(|state| Evidence::new(Source::Hook, "event", Some(state)));
        let notice = HookNotice { evidence, moment };
        self.stage.ask_as(Caller::Process(self.run), Command::Hook(Box::new(notice)))
    }

    pub(in crate::tests) fn decision(&self, ticket: Ticket) -> Option<HookDecision> {
        match self.stage.answer(ticket)?.expect("a hook is answered") {
            CommandAnswer::Hook(decision) => Some(decision),
            other => panic!("not a hook's answer: {other:?}"),
        }
    }

    pub(in crate::tests) fn tell(&mut self, text: &str) -> MailId {
        let ticket = self.stage.ask(Command::Tell(tell(self.run, text)));
        let Reply::Receipt(receipt) = self.stage.reply(ticket) else { panic!("no receipt") };
        receipt.mail
    }

    pub(in crate::tests) fn delivery(&mut self, mail: MailId) -> Delivery {
        let ticket = self.stage.ask(Command::Receipt(proto::request::AskReceipt { mail }));
        let Reply::Receipt(receipt) = self.stage.reply(ticket) else { panic!("no receipt") };
        receipt.delivery
    }

    pub(in crate::tests) fn state(&self) -> AgentState {
        self.stage.view(self.run.process).and_then(|view| view.state).expect("an agent has a state")
    }

    pub(in crate::tests) fn view(&self) -> proto::AgentView {
        *self.stage.view(self.run.process).and_then(|view| view.agent).expect("an agent's view")
    }

    /// Every piece of typing that was ordered, oldest first.
    pub(in crate::tests) fn typing(&self) -> Vec<(JobId, Keystrokes, Guard)> {
        let ordered = self.stage.effects.iter().filter_map(|effect| match effect {
            Effect::Type { run, job, what, guard } if *run == self.run => {
                Some((*job, what.clone(), guard.clone()))
            }
            _ => None,
        });
        ordered.collect()
    }

    /// What was ordered to be typed, in words.
    pub(in crate::tests) fn typed(&self) -> Vec<String> {
        let word = |(_, what, _): (JobId, Keystrokes, Guard)| match what {
            Keystrokes::Paste(text) => text,
            Keystrokes::Keys(keys) => keys.join(" "),
        };
        self.typing().into_iter().map(word).collect()
    }

    /// The newest piece of typing came out like this.
    pub(in crate::tests) fn done(&mut self, outcome: TypingOutcome) {
        let (job, ..) = *self.typing().last().expect("typing was ordered");
        self.fact(RunFact::TypingDone { job, outcome });
    }

    /// The text is in the composer and Enter has been pressed; nothing shows yet that it was taken.
    pub(in crate::tests) fn type_through(&mut self) {
        self.look(Composer::Draft);
        self.done(TypingOutcome::Done);
        self.done(TypingOutcome::Done);
    }

    /// The text left the composer and work began.
    pub(in crate::tests) fn take(&mut self) {
        self.look(Composer::Empty);
        self.report(AgentState::Working);
    }

    pub(in crate::tests) fn pass(&mut self, ms: u64) {
        self.stage.pass(ms);
    }

    pub(in crate::tests) fn item(&mut self) -> Option<proto::agent::InboxItem> {
        let ticket = self.stage.ask(Command::Inbox);
        let Reply::Inbox(items) = self.stage.reply(ticket) else { panic!("no inbox") };
        assert!(items.len() < 2, "{items:?}");
        items.into_iter().next()
    }
}

pub(in crate::tests) fn tell(run: RunKey, text: &str) -> Tell {
    Tell { target: target(run), text: text.to_owned(), key: None, wait_ms: None, expires_ms: None }
}

pub(in crate::tests) fn request(prompt: Option<&str>, session: Option<&str>) -> AgentRequest {
    let (prompt, session) = (prompt.map(str::to_owned), session.map(str::to_owned));
    AgentRequest { prompt, session, ..AgentRequest::default() }
}

pub(in crate::tests) fn dialog(digest: &str) -> Evidence {
    let option = |number: &str, name: &str, label: &str| DialogOption {
        names: vec![number.to_owned(), name.to_owned()],
        label: label.to_owned(),
        keys: vec![number.to_owned()],
    };
    let options = vec![option("1", "allow", "Yes, do it"), option("2", "deny", "No")];
    let dialog =
        Dialog { digest: digest.to_owned(), title: "May I?".to_owned(), body: "rm x".to_owned(), options };
    Evidence { dialog: Some(dialog), ..Evidence::new(Source::Dialog, "ask", Some(AgentState::Blocked)) }
}

/// What the effects left in the database.
pub(in crate::tests) fn saved(effects: &[Effect]) -> Saved {
    use std::collections::BTreeMap;
    let (mut processes, mut mail, mut turns) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    let mut saved = Saved::default();
    for effect in effects {
        let Effect::Record(record) = effect else { continue };
        match record.clone() {
            Record::Put(record) => drop(processes.insert(record.id, *record)),
            Record::Remove(id) => {
                processes.remove(&id);
                turns.retain(|(process, _), _| *process != id);
            }
            Record::PutMail(record) => drop(mail.insert(record.id, *record)),
            Record::RemoveMail(id) => drop(mail.remove(&id)),
            Record::PutTurn(turn) => drop(turns.insert((turn.id, turn.turn), *turn)),
            Record::RemoveTurn { process, turn } => drop(turns.remove(&(process, turn))),
            Record::PutTimer(timer) => {
                saved.timers.retain(|kept| kept.timer != timer.timer);
                saved.timers.push(*timer);
            }
            Record::RemoveTimer(timer) => saved.timers.retain(|kept| kept.timer != timer),
            Record::PutGrant(grant) => saved.grants.push(grant),
            Record::RemoveGrant(grant) => saved.grants.retain(|kept| kept.grant != grant),
            Record::PutTrust(trust) => saved.trusts.push(*trust),
            Record::RemoveTrust(digest) => saved.trusts.retain(|kept| kept.digest != digest),
            Record::PutQuestion(question) => saved.questions.push(*question),
            Record::RemoveQuestion(item) => saved.questions.retain(|kept| kept.view.item != item),
            Record::PutTask(task) => {
                saved.tasks.retain(|kept| kept.id != task.id);
                saved.tasks.push(*task);
            }
            Record::RemoveTask(task) => saved.tasks.retain(|kept| kept.id != task),
            Record::PutWorkspace(workspace) => saved.workspaces.push(*workspace),
            Record::RemoveWorkspace(name) => saved.workspaces.retain(|kept| kept.name != name),
            Record::Counters(counters) => saved.counters = counters,
        }
    }
    saved.processes = processes.into_values().collect();
    saved.mail = mail.into_values().collect();
    saved.turns = turns.into_values().collect();
    saved
}

//! Random lives: whatever happens in whatever order, nothing panics, every ticket is answered at most once, and
//! everything that was told to end does.

use proptest::prelude::*;
use proto::request::Quantifier;

use super::stage::{Stage, close, command, exit, kill, next, restart, shutdown, terminal};
use crate::input::ChildExit;
use crate::{Caller, Command, Effect, Fact, RunKey, Ticket};

#[derive(Clone, Debug)]
enum Step {
    Spawn { is_terminal: bool, below: Option<usize> },
    Start(usize),
    FailToStart(usize),
    Exit(usize, i32),
    TreeGone(usize),
    Lose(usize),
    Close(usize),
    Kill(usize),
    Restart(usize),
    Wait(usize),
    Pass(u64),
}

fn step() -> impl Strategy<Value = Step> {
    let index = 0usize..12;
    prop_oneof![
        3 => (any::<bool>(), prop::option::of(0usize..12)).prop_map(|(is_terminal, below)| Step::Spawn { is_terminal, below }),
        4 => index.clone().prop_map(Step::Start),
        1 => index.clone().prop_map(Step::FailToStart),
        3 => (index.clone(), 0..3).prop_map(|(n, code)| Step::Exit(n, code)),
        4 => index.clone().prop_map(Step::TreeGone),
        1 => index.clone().prop_map(Step::Lose),
        2 => index.clone().prop_map(Step::Close),
        2 => index.clone().prop_map(Step::Kill),
        2 => index.clone().prop_map(Step::Restart),
        2 => index.prop_map(Step::Wait),
        2 => (0u64..8_000).prop_map(Step::Pass),
    ]
}

struct Life {
    stage: Stage,
    runs: Vec<RunKey>,
    tickets: Vec<Ticket>,
}

impl Life {
    fn live(&mut self, step: Step) {
        match step {
            Step::Spawn { is_terminal, below } => self.spawn(is_terminal, below),
            Step::Pass(ms) => self.stage.pass(ms),
            Step::Start(n) => self.fact(n, Fact::Started { pid: 10 }),
            Step::FailToStart(n) => {
                let failure = proto::Failure::new(proto::ErrorCode::SpawnFailed, "no");
                self.fact(n, Fact::StartFailed(failure));
            }
            Step::Exit(n, code) => {
                self.fact(n, Fact::Exited { exit: ChildExit::Code(code), final_offset: 5 })
            }
            Step::TreeGone(n) => self.fact(n, Fact::TreeGone),
            Step::Lose(n) => self.fact(n, Fact::Lost { final_offset: 5 }),
            Step::Close(n) => self.ask(n, close),
            Step::Kill(n) => self.ask(n, kill),
            Step::Restart(n) => self.ask(n, restart),
            Step::Wait(n) => {
                if let Some(run) = self.runs.get(n).copied() {
                    let ticket = self.stage.wait_on(&[run], exit(), Quantifier::All, Some(2_000));
                    self.tickets.push(ticket);
                }
            }
        }
        self.note_new_runs();
    }

    fn spawn(&mut self, is_terminal: bool, below: Option<usize>) {
        let caller = below.and_then(|n| self.runs.get(n)).map_or(Caller::Human, |run| Caller::Process(*run));
        let mut spawn = if is_terminal { terminal("x") } else { command("x") };
        spawn.name = None;
        let ticket = self.stage.ask_as(caller, Command::Spawn(Box::new(spawn)));
        self.tickets.push(ticket);
    }

    /// A holder only speaks of a run that was started, so facts go to runs the engine asked for.
    fn fact(&mut self, n: usize, fact: Fact) {
        if let Some(run) = self.runs.get(n).copied() {
            self.stage.fact(run, fact);
        }
    }

    fn ask(&mut self, n: usize, command: fn(RunKey) -> Command) {
        if let Some(run) = self.runs.get(n).copied() {
            let ticket = self.stage.ask(command(run));
            self.tickets.push(ticket);
        }
    }

    fn note_new_runs(&mut self) {
        for start in self.stage.starts() {
            match self.runs.iter_mut().find(|run| run.process == start.run.process) {
                Some(run) if next(*run) == start.run => *run = start.run,
                Some(_) => {}
                None => self.runs.push(start.run),
            }
        }
    }

    /// The world does its part: whatever was asked of a holder happens.
    fn settle(&mut self) {
        for _ in 0..40 {
            self.note_new_runs();
            for run in self.runs.clone() {
                self.stage.fact(run, Fact::Started { pid: 1 });
                let is_told =
                    |effect: &Effect| matches!(effect, Effect::Kill { run: told, .. } if *told == run);
                if self.stage.effects.iter().any(is_told) {
                    self.stage.die(run);
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn whatever_happens_a_shutdown_ends_everything_and_answers_everybody(steps in prop::collection::vec(step(), 1..60)) {
        let mut life = Life { stage: Stage::new(), runs: Vec::new(), tickets: Vec::new() };
        for step in steps {
            life.live(step);
        }
        let ticket = life.stage.ask(shutdown(true));
        life.tickets.push(ticket);
        life.settle();
        life.stage.pass(20_000);
        prop_assert!(matches!(life.stage.answer(ticket), Some(Ok(_))), "shutdown was not answered");
        for ticket in &life.tickets {
            prop_assert!(life.stage.answer(*ticket).is_some(), "{:?} was never answered", ticket);
        }
        let live = life.stage.engine.snapshot().into_iter().filter(|view| view.pid.is_some()).count();
        prop_assert_eq!(live, 0);
    }
}

//! Kills the daemon at every failpoint, with output, typing, mail or a timer and a start under way: the next
//! one has everything, and nothing twice. Failpoints exist in debug builds only.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use client::{ClientError, Connection, DaemonAddress};
use daemon::Failpoint;
use proto::agent::{Delivery, MailId};
use proto::request::{
    AskReceipt, Close, Empty, Resize, SetTimer, Shutdown, SizeRequest, Tell, TimerWhen, TypedInput, Write,
};
use proto::timers::TimerStatus;
use proto::{AgentState, ErrorCode, ProcessId, Reply, Request, Size, Status};
use testkit::process_scan::{files, pin, scale, wait_gone};
use testkit::{DEADLINE, FakeAgents, Mark, child};

use crate::QD;
use crate::story::Story;

/// Output of each story in one round.
const TOLD: usize = 12_000;
/// Agents that get a message in turn: it takes seconds until an interrupted delivery is known to be
/// uncertain.
const LEADS: usize = 4;

/// What must survive every death.
struct Scene {
    /// The file that chooses the failpoint.
    order: PathBuf,
    /// They print while the daemon dies.
    stories: Vec<Story>,
    /// It gets another size while the daemon dies.
    sized: Story,
    /// It repeats what is typed; its pid.
    echo: i32,
    /// They get messages; the last unchecked round of each.
    leads: Vec<(ProcessId, Option<usize>)>,
    /// Messages with a known outcome.
    finished: BTreeSet<u64>,
    round: usize,
    crew: FakeAgents,
    mark: Mark,
}

/// What a daemon has acknowledged before it died.
#[derive(Debug, Default)]
struct Promised {
    timer: bool,
    mail: Option<MailId>,
    typed: bool,
    started: bool,
    sized: bool,
    closed: bool,
}

#[test]
fn s1_a_daemon_killed_at_every_failpoint_loses_nothing_and_does_nothing_twice() {
    let mut scene = Scene::set();
    let mut returns: Vec<(&str, Duration)> = Vec::new();
    for place in Failpoint::ALL {
        for _ in 0..scale() {
            returns.push((place.name(), scene.die_and_return(*place)));
        }
    }
    println!("{} deaths; usable again after {returns:?}", scene.round);
    scene.end();
}

impl Scene {
    fn set() -> Self {
        let (mark, crew) = (Mark::default(), FakeAgents::start(QD, env!("CARGO_BIN_EXE_qd-agent-test")));
        let order = crew.root().join("die");
        start(&crew, &order);
        let leads = (0..LEADS).map(|n| (crew.enlist(&lead(n), &[]).id, None)).collect();
        let echo = crew.run("echo", child::repeat_lines()).pid.unwrap();
        crew.wait_pattern("echo", "ready");
        let stories = (0..2).map(|n| Story::begin(&crew, &mark, &format!("s{n}"), 60 + n)).collect();
        let mut sized = Story::begin(&crew, &mark, "sized", 70);
        sized.tell(TOLD);
        sized.wait_told(&crew);
        let finished = BTreeSet::new();
        Self { order, stories, sized, echo, leads, finished, round: 0, crew, mark }
    }

    /// Kills the daemon once and checks everything that must be true after it; returns how long the return
    /// took.
    fn die_and_return(&mut self, place: Failpoint) -> Duration {
        // What is under way was acknowledged before the daemon can die, or was not: each for messages and for
        // timers.
        let is_acknowledged = (self.round / 2).is_multiple_of(2);
        self.finish(self.round % LEADS);
        self.leads[self.round % LEADS].1 = Some(self.round);
        let daemon = pin(self.crew.pid());
        let size = Size { cols: 40 + (self.round % 7) as u16 * 11, rows: 12 + (self.round % 5) as u16 * 3 };
        let mut promised = Promised::default();
        self.crew.spawn(&self.leaver(), child::run_for_ever());
        if is_acknowledged {
            self.begin(&mut promised);
        }
        self.arm(place);
        if !is_acknowledged {
            self.begin(&mut promised);
        }
        self.act(size, &mut promised);
        if self.order.exists() {
            // A daemon that has not reached the failpoint by then reaches it at its end, or the next one at
            // its start.
            let ended = self.connection().and_then(|mut connection| {
                connection.shutdown(
                    Shutdown { kill: false, stop: proto::Stop::default() },
                    Instant::now() + DEADLINE,
                )
            });
            assert!(ended.is_err() || !self.order.exists() || ended.is_ok_and(|it| it), "{place:?}");
        }
        wait_gone(&daemon);
        if self.order.exists() {
            drop(self.crew.command(&["ps"]).env("QD_TEST_FAILPOINTS", &self.order).output().unwrap());
        }
        assert!(!self.order.exists(), "the failpoint {} was not reached", place.name());
        let began = Instant::now();
        start(&self.crew, &self.order);
        let took = began.elapsed();
        self.check(size, &promised, place);
        self.round += 1;
        took
    }

    /// Chooses the failpoint, with one atomic write.
    fn arm(&self, place: Failpoint) {
        let new = self.order.with_extension("new");
        std::fs::write(&new, place.name()).unwrap();
        std::fs::rename(new, &self.order).unwrap();
    }

    /// Output, and a message or a timer that is due soon.
    fn begin(&mut self, promised: &mut Promised) {
        self.stories.iter_mut().for_each(|story| story.tell(TOLD));
        match self.ask(news(self.round)) {
            Some(Reply::Timer(_)) => promised.timer = true,
            Some(Reply::Receipt(receipt)) => promised.mail = Some(receipt.mail),
            _ => {}
        }
    }

    /// Typing, a start, another size and a close, one after the other; a dead daemon answers none of it.
    fn act(&self, size: Size, promised: &mut Promised) {
        let spawn = self.mark.spawn(&self.newcomer(), child::run_for_ever());
        let resize = Resize { target: "sized".into(), size: SizeRequest::from(size) };
        promised.typed = self.ask(self.line(&format!("w{}", self.round))).is_some();
        promised.started = self.ask(Request::Spawn(Box::new(spawn))).is_some();
        promised.sized = self.ask(Request::Resize(resize)).is_some();
        promised.closed = self.ask(Request::Close(close(&self.leaver()))).is_some();
    }

    fn leaver(&self) -> String {
        format!("l{}", self.round)
    }

    fn newcomer(&self) -> String {
        format!("n{}", self.round)
    }

    fn line(&self, text: &str) -> Request {
        let input = TypedInput::Text(format!("{text}\n"));
        let timeout_ms = u64::try_from(DEADLINE.as_millis()).ok();
        Request::Write(Write { target: "echo".into(), input, submit: false, timeout_ms, key: None })
    }

    fn connection(&self) -> Result<Connection, ClientError> {
        let mut connection = DaemonAddress::without_start(self.crew.dirs()).connect_if_running()?;
        connection.hello()?;
        Ok(connection)
    }

    /// Returns the daemon's answer; `None` when it died meanwhile.
    fn ask(&self, request: Request) -> Option<Reply> {
        let told = format!("{request:?}");
        match self.connection().and_then(|mut connection| connection.call(request)) {
            Ok(reply) => Some(reply),
            Err(ClientError::Failed(failure)) => self.crew.fail(&format!("{told}: {failure}")),
            Err(_) => None,
        }
    }

    /// Nothing is missing, nothing is there twice, nothing is left over.
    fn check(&mut self, size: Size, promised: &Promised, place: Failpoint) {
        self.check_processes(promised, place);
        for story in &self.stories {
            story.wait_told(&self.crew);
            story.check_text(&self.crew);
        }
        self.stories[self.round % 2].check_cells(&self.crew);
        if promised.sized {
            assert_eq!(self.crew.process("sized").terminal.size, size, "{place:?}");
        }
        // Repeated, as a caller without an answer would: it may have it already.
        self.sized.resize(&self.crew, size);
        self.sized.tell(1_000);
        self.sized.wait_told(&self.crew);
        self.sized.check_text(&self.crew);
        self.check_typed(promised.typed, place);
        self.ask_again(promised, place);
        let warnings = self.crew.client().status().unwrap().warnings;
        assert!(warnings.is_empty(), "{place:?}: {warnings:?}");
        let name = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().into_owned();
        let is_left = |path: &PathBuf| name(path).contains(".tmp") || name(path).contains("corrupt");
        let left: Vec<PathBuf> = files(self.crew.root()).into_iter().filter(is_left).collect();
        assert!(left.is_empty(), "{place:?}: {left:?}");
    }

    /// Processes that lived still live, with the same pid, and one that was being started is known or gone.
    fn check_processes(&self, promised: &Promised, place: Failpoint) {
        let listed = self.crew.list();
        let all = self.stories.iter().chain([&self.sized]).map(|story| (story.name.as_str(), story.pid));
        for (name, pid) in all.chain([("echo", self.echo)]) {
            let found = listed.iter().find(|process| process.name.as_str() == name).unwrap();
            assert_eq!((found.pid, found.status), (Some(pid), Status::Running), "{place:?}: {name}");
        }
        let known = || -> BTreeSet<i32> {
            let listed = self.crew.list().into_iter();
            let is_ours = |name: &str| name.starts_with(['s', 'n']);
            let living = listed.filter(|process| process.status == Status::Running);
            living
                .filter(|process| is_ours(process.name.as_str()))
                .filter_map(|process| process.pid)
                .collect()
        };
        // A holder that was just being started may still be exiting.
        testkit::process_scan::eventually("every marked process is known", || {
            (self.mark.living().into_iter().collect::<BTreeSet<i32>>() == known()).then_some(())
        });
        let (new, old) = (self.newcomer(), self.leaver());
        let is_there = |name: &str| self.crew.list().iter().any(|process| process.name.as_str() == name);
        assert!(is_there(&new) || !promised.started, "{place:?}: a started process is missing");
        let is_closed = promised.closed || place == Failpoint::Removed;
        assert!(!is_there(&old) || !is_closed, "{place:?}: a closed process is back");
        for name in [new, old].into_iter().filter(|name| is_there(name)) {
            self.crew.client().close(close(&name)).unwrap();
        }
    }

    /// Acknowledged input was typed once, and other input once at most.
    fn check_typed(&self, is_typed: bool, place: Failpoint) {
        let fence = format!("f{}", self.round);
        assert!(self.ask(self.line(&fence)).is_some());
        self.crew.wait_pattern("echo", &format!("got:{fence}$"));
        let log = String::from_utf8(self.crew.qd(&["logs", "echo"]).stdout).unwrap();
        let count = log.lines().filter(|line| *line == format!("got:w{}", self.round)).count();
        assert!(count <= 1 && (!is_typed || count == 1), "{place:?}: typed {count} times: {log}");
    }

    /// Acknowledged requests are there; the rest is requested again, as a caller without an answer would.
    /// Then each is there once.
    fn ask_again(&self, promised: &Promised, place: Failpoint) {
        let Some(Reply::Timers(timers)) = self.ask(Request::Timers(Empty {})) else {
            self.crew.fail("no timers")
        };
        let is_set = timers.iter().any(|timer| timer.label == format!("t{}", self.round));
        assert!(is_set || !promised.timer, "{place:?}: a timer is missing");
        let to = promised.mail.map(|mail| self.recipient(mail.0));
        assert!(to.is_none_or(|to| to == Some(self.leads[self.round % LEADS].0)), "{place:?}: no message");
        let taken = self.ask(news(self.round));
        assert!(matches!(taken, Some(Reply::Timer(_) | Reply::Receipt(_))), "{place:?}: {taken:?}");
    }

    /// The last message to an agent has reached it once at most, and certainly if the receipt claims it.
    fn finish(&mut self, number: usize) {
        let (id, Some(round)) = self.leads[number] else { return };
        if is_timed(round) {
            testkit::process_scan::eventually("the timer has fired", || {
                let Some(Reply::Timers(all)) = self.ask(Request::Timers(Empty {})) else { return None };
                let own: Vec<_> = all.iter().filter(|one| one.label == format!("t{round}")).collect();
                assert_eq!(own.len(), 1, "{own:?}");
                (own[0].status == TimerStatus::Fired).then_some(())
            });
        }
        let unfinished = (1..=self.round as u64).filter(|mail| !self.finished.contains(mail));
        let own: Vec<u64> = unfinished.filter(|mail| self.recipient(*mail) == Some(id)).collect();
        assert_eq!(own.len(), 1, "one message: {own:?}");
        let is_claimed = own.iter().any(|mail| self.is_certain(MailId(*mail), number));
        self.finished.extend(own);
        self.crew.until_state(&lead(number), AgentState::Idle);
        let heard = self.crew.prompts(&lead(number)).join("\n");
        let text = if is_timed(round) { format!("[timer:t{round} ") } else { format!("told{round}.") };
        let count = heard.matches(&text).count();
        assert!(count <= 1 && count >= usize::from(is_claimed), "{count}, claimed: {is_claimed}: {heard}");
        self.leads[number].1 = None;
    }

    /// Returns the recipient of a message, if there is one.
    fn recipient(&self, mail: u64) -> Option<ProcessId> {
        match self.crew.client().call(Request::Receipt(AskReceipt { mail: MailId(mail) })) {
            Ok(Reply::Receipt(receipt)) => Some(receipt.to),
            Err(ClientError::Failed(failure)) if failure.code == ErrorCode::NotFound => None,
            other => self.crew.fail(&format!("{mail}: {other:?}")),
        }
    }

    /// Returns true if the message is known to have reached its agent.
    fn is_certain(&self, mail: MailId, number: usize) -> bool {
        match self.crew.final_delivery(mail) {
            Delivery::Submitted { .. } => true,
            Delivery::Unknown { .. } => {
                // A person sees what was pasted and not submitted; the next message needs it gone.
                self.crew.type_text(&lead(number), "\x15");
                false
            }
            other => self.crew.fail(&format!("{mail:?} ended as {other:?}")),
        }
    }

    fn end(mut self) {
        (0..LEADS).for_each(|number| self.finish(number));
        let extra = self.round as u64 + 1;
        assert_eq!(self.recipient(extra), None, "no message was delivered twice");
        for story in self.stories.into_iter().chain([self.sized]) {
            let followed = story.end(&self.crew);
            assert_eq!(followed.gaps, 0, "the log is complete");
        }
    }
}

fn lead(number: usize) -> String {
    format!("lead{number}")
}

/// Returns true if a round has a timer instead of a message.
fn is_timed(round: usize) -> bool {
    round % 2 == 1
}

/// Returns the request for the round's agent; sent twice, it takes effect once.
fn news(round: usize) -> Request {
    let to = lead(round % LEADS);
    if !is_timed(round) {
        let (text, key) = (format!("say told{round}."), Some(format!("m{round}")));
        return Request::Tell(Tell {
            target: to.as_str().into(),
            text,
            key,
            wait_ms: None,
            expires_ms: None,
        });
    }
    let name = format!("t{round}");
    Request::SetTimer(SetTimer {
        owner: Some(to.as_str().into()),
        when: TimerWhen::After(20),
        body: format!("say rang{round}"),
        label: Some(name.clone()),
        key: Some(name),
    })
}

fn close(name: &str) -> Close {
    Close { target: name.into(), keep_background: false, stop: proto::Stop::default() }
}

/// Starts a daemon that dies where the file says.
fn start(crew: &FakeAgents, order: &PathBuf) {
    let output = crew.command(&["ps"]).env("QD_TEST_FAILPOINTS", order).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

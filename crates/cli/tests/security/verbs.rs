//! Every verb of the protocol, for tests of callers that may use none of them.

use proto::agent::MailId;
use proto::request::{
    Ask, AskReceipt, AskResult, Attach, Attention, Audit, CancelMessage, ChangeTimer, ChangeWorkspace,
    CheckManifest, Close, Detach, Distrust, Empty, Explain, Follow, GiveAnswer, Grant, Hook, Interrupt, Kill,
    Pad, PadAct, Ports, Presets, Read, Rename, Request, Resize, Restart, Resume, Revoke, Sample, Search, See,
    Select, SetTimer, Shutdown, SizeRequest, Spawn, Target, TaskAct, Tell, TimerChange, TimerWhen, Trust,
    TrustWhat, TypedInput, Until, View, Wait, Write,
};
use proto::rights::Right;
use serde_json::json;
use testkit::child;

/// Returns every verb once, about a process called `sibling`. A new verb does not compile until it is here.
pub(crate) fn every_verb() -> Vec<Request> {
    std::iter::successors(Some(Request::Status(Empty {})), following).collect()
}

/// Returns the verb after this one.
fn following(request: &Request) -> Option<Request> {
    let stop = proto::Stop::default();
    let (target, one) = (|| Target::from("sibling"), || "1".to_owned());
    Some(match request {
        Request::Status(_) => {
            Request::Spawn(Box::new(Spawn { argv: child::run_for_ever(), ..Spawn::default() }))
        }
        Request::Spawn(_) => Request::List(Empty {}),
        Request::List(_) => Request::Read(Read { target: target(), ..Read::default() }),
        Request::Read(_) => {
            Request::Search(Search { target: target(), pattern: "x".to_owned(), limit: None, bytes: None })
        }
        Request::Search(_) => Request::Wait(wait(target())),
        Request::Wait(_) => Request::Write(Write {
            target: target(),
            input: TypedInput::Text("x".to_owned()),
            submit: false,
            timeout_ms: None,
            key: None,
        }),
        Request::Write(_) => Request::Resize(Resize { target: target(), size: SizeRequest::default() }),
        Request::Resize(_) => Request::Kill(Kill { target: target(), signal: None, grace_ms: None }),
        Request::Kill(_) => Request::Close(Close { target: target(), keep_background: false, stop }),
        Request::Close(_) => Request::Restart(Restart { target: target(), stop, ..Restart::default() }),
        Request::Restart(_) => Request::Rename(Rename { target: target(), name: "mine".to_owned() }),
        Request::Rename(_) => Request::Attach(Attach {
            target: target(),
            size: SizeRequest::default(),
            read_only: true,
            ..Attach::default()
        }),
        Request::Attach(_) => Request::View(View::Repaint(Empty {})),
        Request::View(_) => Request::Viewers(Empty {}),
        Request::Viewers(_) => Request::Detach(Detach { target: target() }),
        Request::Detach(_) => Request::Follow(Follow { target: target(), ..Follow::default() }),
        Request::Follow(_) => Request::Subscribe(Empty {}),
        Request::Subscribe(_) => Request::Tell(Tell {
            target: target(),
            text: "x".to_owned(),
            key: None,
            wait_ms: None,
            expires_ms: None,
        }),
        Request::Tell(_) => Request::Receipt(AskReceipt { mail: MailId(1) }),
        Request::Receipt(_) => Request::Messages(Empty {}),
        Request::Messages(_) => Request::CancelMessage(CancelMessage { mail: MailId(1) }),
        Request::CancelMessage(_) => Request::Interrupt(Interrupt { target: target() }),
        Request::Interrupt(_) => Request::Result(AskResult { target: target(), turn: None }),
        Request::Result(_) => Request::Explain(Explain { target: target() }),
        Request::Explain(_) => Request::Inbox(Empty {}),
        Request::Inbox(_) => Request::Answer(GiveAnswer { item: 1, choice: one(), ..GiveAnswer::default() }),
        Request::Answer(_) => Request::Resume(Resume { target: target(), ..Resume::default() }),
        Request::Resume(_) => Request::Hook(Hook { payload: json!({}), event: None }),
        Request::Hook(_) => Request::Agents(proto::request::AskAgents::default()),
        Request::Agents(_) => Request::CheckManifest(CheckManifest::default()),
        Request::CheckManifest(_) => Request::Sample(Sample { target: target(), state: None }),
        Request::Sample(_) => Request::WhoAmI(Empty {}),
        Request::WhoAmI(_)
        | Request::SetTimer(_)
        | Request::Timers(_)
        | Request::ChangeTimer(_)
        | Request::Pad(_)
        | Request::Task(_)
        | Request::Ask(_)
        | Request::Attention(_)
        | Request::Select(_)
        | Request::See(_)
        | Request::Ports(_)
        | Request::Grant(_)
        | Request::Revoke(_)
        | Request::Grants(_)
        | Request::Presets(_)
        | Request::Trust(_)
        | Request::Distrust(_)
        | Request::Trusted(_)
        | Request::Workspaces(_)
        | Request::ChangeWorkspace(_)
        | Request::Audit(_)
        | Request::Shutdown(_)
        | Request::Hello(_) => return following_in_crew(request),
    })
}

fn wait(target: Target) -> Wait {
    Wait { timeout_ms: Some(1), ..Wait::until(vec![target], Until::Exit(Empty {})) }
}

/// Returns the verb after this one among timers, grants, trust and the like.
fn following_in_crew(request: &Request) -> Option<Request> {
    let target = || Target::from("sibling");
    Some(match request {
        Request::WhoAmI(_) => Request::SetTimer(SetTimer {
            owner: None,
            when: TimerWhen::After(1),
            body: String::new(),
            label: None,
            key: None,
        }),
        Request::SetTimer(_) => Request::Timers(Empty {}),
        Request::Timers(_) => Request::ChangeTimer(ChangeTimer { timer: 1, change: TimerChange::Cancel }),
        Request::ChangeTimer(_) => Request::Pad(Pad { project: None, act: PadAct::List(Empty {}) }),
        Request::Pad(_) => Request::Task(TaskAct::List(Empty {}).into()),
        Request::Task(_) => Request::Ask(Ask { question: "x".to_owned(), options: Vec::new(), key: None }),
        Request::Ask(_) => Request::Attention(Attention { reason: "x".to_owned(), key: None }),
        Request::Attention(_) => Request::Select(Select { target: target() }),
        Request::Select(_) => Request::See(See { target: target(), ..See::default() }),
        Request::See(_) => Request::Ports(Ports { target: target() }),
        Request::Ports(_) => Request::Grant(Grant { to: target(), right: Right::Read, over: target() }),
        Request::Grant(_) => Request::Revoke(Revoke { grant: 1 }),
        Request::Revoke(_) => Request::Grants(Empty {}),
        Request::Grants(_) => Request::Presets(Presets::default()),
        Request::Presets(_) => {
            Request::Trust(Trust { project: None, what: TrustWhat::Preset("x".to_owned()), path: None })
        }
        Request::Trust(_) => Request::Distrust(Distrust { digest: "x".to_owned() }),
        Request::Distrust(_) => Request::Trusted(Empty {}),
        Request::Trusted(_) => Request::Workspaces(Empty {}),
        Request::Workspaces(_) => {
            let change = proto::request::WorkspaceChange::Create;
            Request::ChangeWorkspace(ChangeWorkspace { name: "x".to_owned(), change })
        }
        Request::ChangeWorkspace(_) => Request::Audit(Audit::default()),
        Request::Audit(_) => Request::Shutdown(Shutdown { kill: true, stop: proto::Stop::default() }),
        _ => return None,
    })
}

//! Routes a call: to the engine, or to the data plane.

use engine::{Caller, Command, CommandAnswer, Located, Verb};
use proto::process::Ready;
use proto::reply::{DaemonStatus, Welcome};
use proto::request::{Empty, Explain, Hello, Hook, Request, Revoke, TypedInput, Until};
use proto::version::{PROTOCOL, VERSION, is_compatible};
use proto::{Call, ErrorCode, Failure, Reply, Target};
use tokio::sync::mpsc;

use super::connection::{Client, failure_line};
use super::{agents, audit, follow, listing, pads, ports, read, spawn, tasks, trust, write};
use crate::screens::offset_of;
use crate::{caller, line_pattern};

/// Refuses a client of another protocol.
pub(super) fn check_version(hello: &Hello) -> Result<(), Failure> {
    if !is_compatible(hello.protocol) {
        let message =
            format!("the daemon speaks protocol {PROTOCOL} (qd {VERSION}), the client {}", hello.protocol);
        return Err(Failure::new(ErrorCode::Version, message)
            .hint("qd shutdown ends the old daemon and leaves every process running"));
    }
    Ok(())
}

/// Answers `hello`.
pub(super) fn welcome(client: &Client) -> Reply {
    Reply::Welcome(Welcome {
        protocol: PROTOCOL,
        version: VERSION.to_owned(),
        pid: std::process::id(),
        caller: caller::name(client.caller()),
        limit: Some(client.principal.limit.clone()),
    })
}

/// Returns true if data frames follow a call.
pub(super) fn wants_pieces(request: &Request) -> bool {
    matches!(request, Request::Write(write) if matches!(write.input, TypedInput::PasteStream(_)))
}

/// Answers when serving a call panics, as when no thread is available for it: a caller without an answer
/// would wait for ever.
struct PanicReply {
    out: mpsc::Sender<Vec<u8>>,
    id: u64,
}

impl Drop for PanicReply {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let failure = Failure::new(ErrorCode::Internal, "the daemon failed to serve this call")
                .hint("try again; processes or memory may be used up (ulimit -u, pids.max)");
            // When the queue is full, this answer is dropped: a client that reads no answers does not wait
            // for it.
            let _full = self.out.try_send(failure_line(self.id, failure));
        }
    }
}

/// Serves one call to its end.
pub(super) async fn serve(client: Client, call: Call, pieces: Option<mpsc::Receiver<Vec<u8>>>) {
    let id = call.id;
    let _owed = PanicReply { out: client.out.clone(), id };
    let mut request = call.request;
    if let Some(offer) = request.offered() {
        spawn::check_offer(&client, offer).await;
    }
    let result = match request {
        Request::Subscribe(_) => return listing::subscribe(client, id).await,
        Request::Follow(request) => return follow::serve(client, id, request).await,
        Request::Status(_) => status(&client).await,
        Request::List(_) => listing::list(&client).await,
        Request::Read(request) => read::read(&client, request).await,
        Request::Search(request) => read::search(&client, request).await,
        Request::Write(request) => write::write(&client, request, pieces).await,
        Request::Hook(request) => hook(&client, request).await,
        Request::Agents(request) => match audit::permit(&client, Verb::List).await {
            Ok(()) => agents::agents(&client, request).await,
            Err(failure) => Err(failure),
        },
        Request::CheckManifest(request) => match audit::permit(&client, Verb::List).await {
            Ok(()) => agents::check_manifest(request).await,
            Err(failure) => Err(failure),
        },
        Request::View(_) => audit::permit(&client, Verb::List).await.and_then(|()| Err(not_attached())),
        Request::Spawn(request) => match check_ready(request.ready.as_ref()) {
            Ok(()) => spawn::spawn(&client, *request).await,
            Err(failure) => Err(failure),
        },
        Request::Presets(request) => trust::presets(&client, request).await,
        Request::Trust(request) => trust::trust(&client, request).await,
        Request::Pad(request) => pads::pad(&client, request).await,
        Request::Task(request) => tasks::task(&client, request).await,
        Request::Ports(request) => ports::ports(&client, request).await,
        Request::Audit(request) => audit::audit(&client, request).await,
        Request::Sample(request) => agents::sample(&client, request).await,
        Request::Explain(request) => explain(&client, request).await,
        Request::Revoke(request) => revoke(&client, request).await,
        request => command(&client, request).await,
    };
    client.answer(id, result).await;
}

/// Verbs that the engine answers by itself.
async fn command(client: &Client, request: Request) -> Result<Reply, Failure> {
    let verb = request.verb();
    let command = match request {
        Request::Wait(wait) => {
            if let Until::Pattern(text) = &wait.until {
                drop(line_pattern::compile(text)?);
            }
            Command::Wait(read::wait_since(client, wait).await?)
        }
        Request::See(see) => {
            let offset = see.version.map(offset_of);
            Command::See { see, offset }
        }
        request => Command::try_from(request).map_err(|_| unexpected(verb))?,
    };
    match client.ask(command).await? {
        CommandAnswer::Reply(reply) => Ok(reply),
        CommandAnswer::Located(_)
        | CommandAnswer::Hook(_)
        | CommandAnswer::CallerIdentity(_)
        | CommandAnswer::Tasks(_)
        | CommandAnswer::Listed { .. } => Err(unexpected(verb)),
    }
}

/// Takes a right back. What the process reads or waits for by it ends, because its connections close.
async fn revoke(client: &Client, request: Revoke) -> Result<Reply, Failure> {
    let is_person = client.caller().is_person();
    let known = if is_person { command(client, Request::Grants(Empty {})).await.ok() } else { None };
    let revoked = command(client, Request::Revoke(request)).await?;
    if let Some(Reply::Grants(grants)) = known
        && let Some(view) = grants.iter().find(|view| view.grant.grant == request.grant)
    {
        client.door.sever(view.grant.to);
    }
    Ok(revoked)
}

/// Returns the engine's explanation with what only the data plane knows.
async fn explain(client: &Client, request: Explain) -> Result<Reply, Failure> {
    let target = request.target.clone();
    let mut reply = command(client, Request::Explain(request)).await?;
    if let Reply::Explanation(explanation) = &mut reply
        && let Ok(located) = locate(client, target, Verb::Read).await
    {
        let handle = client.door.screens.find(located.run);
        explanation.unread_answers = handle.and_then(|handle| handle.answers.get());
    }
    Ok(reply)
}

/// Finds the run for a verb of the data plane.
pub(super) async fn locate(client: &Client, target: Target, verb: Verb) -> Result<Located, Failure> {
    match client.ask(Command::Locate { target, verb }).await? {
        CommandAnswer::Located(located) => Ok(located),
        CommandAnswer::Reply(_)
        | CommandAnswer::Hook(_)
        | CommandAnswer::CallerIdentity(_)
        | CommandAnswer::Tasks(_)
        | CommandAnswer::Listed { .. } => Err(unexpected("locate")),
    }
}

/// Handles a lifecycle event. The door itself refuses and audits one from outside every agent's run.
async fn hook(client: &Client, request: Hook) -> Result<Reply, Failure> {
    let is_agents = matches!(client.caller(), Caller::Process(run) if client.door.agents.find(run).is_some());
    if !is_agents {
        audit::permit(client, Verb::List).await?;
        audit::refused(client, "hook", ErrorCode::Denied, "not inside an agent's run").await;
    }
    agents::hook(client, request).await
}

/// Returns the daemon's status. Every caller learns that it runs; only callers that may see processes get
/// their numbers.
async fn status(client: &Client) -> Result<Reply, Failure> {
    let listed = match client.caller() {
        Caller::Nobody => None,
        Caller::Person | Caller::Via(_) | Caller::Process(_) => {
            match listing::processes(client, Command::List).await {
                Err(failure) if failure.code == ErrorCode::Unauthorized => None,
                listed => Some(listed?.0),
            }
        }
    };
    // Warnings are about processes of all workspaces.
    let is_limited = client.principal.limit.workspace.is_some();
    if listed.is_some() && !is_limited {
        // The settings may have changed since they were read for a spawn.
        let agents = client.door.agents.clone();
        trust::blocking(move || Ok(agents.settings())).await?;
    }
    let warnings = || if is_limited { Vec::new() } else { client.door.warnings.texts() };
    let (processes, warnings) = listed.map_or_else(Default::default, |listed| (listed, warnings()));
    Ok(Reply::Status(DaemonStatus {
        running: true,
        pid: std::process::id(),
        version: VERSION.to_owned(),
        protocol: PROTOCOL,
        processes: u32::try_from(processes.len()).unwrap_or(u32::MAX),
        viewers: processes.iter().map(|process| process.terminal.viewers).sum(),
        uptime_s: client.door.started.elapsed().as_secs(),
        warnings,
    }))
}

/// Checks a readiness pattern before anything is started.
fn check_ready(ready: Option<&Ready>) -> Result<(), Failure> {
    let Some(Ready::Pattern(text)) = ready else { return Ok(()) };
    let named = |failure: Failure| Failure { message: format!("ready.{}", failure.message), ..failure };
    line_pattern::compile(text).map(drop).map_err(named)
}

fn not_attached() -> Failure {
    Failure::new(ErrorCode::Protocol, "view works on an attached connection")
}

/// Returns the error when the engine answers with another kind than asked: our own fault.
pub(super) fn unexpected(verb: &str) -> Failure {
    Failure::new(ErrorCode::Internal, format!("{verb} was answered with something else"))
}

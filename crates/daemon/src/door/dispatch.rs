//! From a call to whoever answers it.
//!
//! Owns which verbs the engine decides and which go on to the data plane. Refuses doing either.

use engine::{Answer, Caller, Command, Located, Verb};
use proto::crew::Ready;
use proto::reply::{DaemonStatus, Welcome};
use proto::request::{Hello, Hook, Input, Request, Until};
use proto::version::{PROTOCOL, VERSION, is_compatible};
use proto::{Call, ErrorCode, Failure, Reply, Target};
use tokio::sync::mpsc;

use super::connection::{Client, failure_line};
use super::{agents, audit, follow, listing, pads, ports, read, spawn, trust, write};
use crate::screens::offset_of;
use crate::{caller, pattern};

/// Answers `hello`.
pub(super) fn hello(hello: &Hello, who: Caller) -> Result<Reply, Failure> {
    if !is_compatible(hello.protocol) {
        let message =
            format!("the daemon speaks protocol {PROTOCOL} (qd {VERSION}), the client {}", hello.protocol);
        return Err(Failure::new(ErrorCode::Version, message)
            .hint("qd shutdown ends the old daemon and leaves every process running"));
    }
    let caller = caller::name(who);
    Ok(Reply::Welcome(Welcome {
        protocol: PROTOCOL,
        version: VERSION.to_owned(),
        pid: std::process::id(),
        caller,
    }))
}

/// Whether a call is followed by data frames.
pub(super) fn wants_pieces(request: &Request) -> bool {
    matches!(request, Request::Write(write) if matches!(write.input, Input::PasteStream(_)))
}

/// An answer for the case that serving a call fails, as when no thread can be had for it: whoever hears nothing waits for
/// ever.
struct Owed {
    out: mpsc::Sender<Vec<u8>>,
    id: u64,
}

impl Drop for Owed {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let failure = Failure::new(ErrorCode::Internal, "the daemon failed to serve this call")
                .hint("try again; processes or memory may be used up (ulimit -u, pids.max)");
            // Full-queue policy: dropped. A client that takes no answers does not wait for this one.
            let _full = self.out.try_send(failure_line(self.id, failure));
        }
    }
}

/// Serves one call to its end.
pub(super) async fn serve(client: Client, call: Call, pieces: Option<mpsc::Receiver<Vec<u8>>>) {
    let id = call.id;
    let _owed = Owed { out: client.out.clone(), id };
    let result = match call.request {
        Request::Subscribe(_) => return listing::subscribe(client, id).await,
        Request::Follow(wish) => return follow::serve(client, id, wish).await,
        Request::Status(_) => status(&client).await,
        Request::List(_) => listing::list(&client).await,
        Request::Read(wish) => read::read(&client, wish).await,
        Request::Search(wish) => read::search(&client, wish).await,
        Request::Write(wish) => write::write(&client, wish, pieces).await,
        Request::Hook(wish) => hook(&client, wish).await,
        Request::Agents(wish) => match audit::permit(&client, Verb::List).await {
            Ok(()) => agents::agents(&client, wish).await,
            Err(failure) => Err(failure),
        },
        Request::CheckManifest(wish) => match audit::permit(&client, Verb::List).await {
            Ok(()) => agents::check_manifest(wish).await,
            Err(failure) => Err(failure),
        },
        Request::View(_) => audit::permit(&client, Verb::List).await.and_then(|()| Err(not_attached())),
        Request::Spawn(wish) => match check_ready(wish.ready.as_ref()) {
            Ok(()) => spawn::spawn(&client, *wish).await,
            Err(failure) => Err(failure),
        },
        Request::Presets(wish) => trust::presets(&client, wish).await,
        Request::Trust(wish) => trust::trust(&client, wish).await,
        Request::Pad(wish) => pads::pad(&client, wish).await,
        Request::Ports(wish) => ports::ports(&client, wish).await,
        Request::Audit(wish) => audit::audit(&client, wish).await,
        Request::Sample(wish) => agents::sample(&client, wish).await,
        request => command(&client, request).await,
    };
    client.answer(id, result).await;
}

/// Verbs the engine answers by itself.
async fn command(client: &Client, request: Request) -> Result<Reply, Failure> {
    let verb = request.verb();
    let command = match request {
        Request::Wait(wait) => {
            if let Until::Pattern(text) = &wait.until {
                drop(pattern::compile(text)?);
            }
            Command::Wait(read::wait_since(client, wait).await?)
        }
        Request::Resize(resize) => Command::Resize(resize),
        Request::Kill(kill) => Command::Kill(kill),
        Request::Close(close) => Command::Close(close),
        Request::Restart(restart) => Command::Restart(restart),
        Request::Rename(rename) => Command::Rename(rename),
        Request::Viewers(_) => Command::Viewers,
        Request::Detach(wish) => Command::Detach(wish),
        Request::Shutdown(shutdown) => Command::Shutdown(shutdown),
        Request::Tell(tell) => Command::Tell(tell),
        Request::Receipt(ask) => Command::Receipt(ask.mail),
        Request::CancelMessage(wish) => Command::CancelMessage(wish.mail),
        Request::Interrupt(wish) => Command::Interrupt(wish),
        Request::Result(ask) => Command::Result(ask),
        Request::Explain(explain) => Command::Explain(explain),
        Request::Inbox(_) => Command::Inbox,
        Request::Answer(answer) => Command::Answer(answer),
        Request::Resume(resume) => Command::Resume(resume),
        Request::WhoAmI(_) => Command::WhoAmI,
        Request::SetTimer(wish) => Command::SetTimer(Box::new(wish)),
        Request::Timers(_) => Command::Timers,
        Request::ChangeTimer(wish) => Command::ChangeTimer(wish),
        Request::Ask(wish) => Command::Ask(wish),
        Request::Attention(wish) => Command::Attention(wish),
        Request::Select(wish) => Command::Select(wish),
        Request::See(see) => {
            let offset = see.version.map(offset_of);
            Command::See { see, offset }
        }
        Request::Grant(wish) => Command::Grant(wish),
        Request::Revoke(wish) => Command::Revoke(wish),
        Request::Grants(_) => Command::Grants,
        Request::Distrust(wish) => Command::Distrust(wish),
        Request::Trusted(_) => Command::Trusted,
        Request::Hello(_)
        | Request::Status(_)
        | Request::List(_)
        | Request::Read(_)
        | Request::Search(_)
        | Request::Write(_)
        | Request::Attach(_)
        | Request::View(_)
        | Request::Follow(_)
        | Request::Hook(_)
        | Request::Agents(_)
        | Request::CheckManifest(_)
        | Request::Sample(_)
        | Request::Pad(_)
        | Request::Spawn(_)
        | Request::Ports(_)
        | Request::Presets(_)
        | Request::Trust(_)
        | Request::Audit(_)
        | Request::Subscribe(_) => return Err(unexpected(verb)),
    };
    match client.door.desk.ask(client.caller, command).await? {
        Answer::Reply(reply) => Ok(reply),
        Answer::Located(_) | Answer::Hook(_) | Answer::Standing(_) | Answer::Listed { .. } => {
            Err(unexpected(verb))
        }
    }
}

/// Which run a verb of the data plane means.
pub(super) async fn locate(client: &Client, target: Target, verb: Verb) -> Result<Located, Failure> {
    match client.door.desk.ask(client.caller, Command::Locate { target, verb }).await? {
        Answer::Located(located) => Ok(located),
        Answer::Reply(_) | Answer::Hook(_) | Answer::Standing(_) | Answer::Listed { .. } => {
            Err(unexpected("locate"))
        }
    }
}

/// A lifecycle event. One from outside of every agent's run is refused by the door itself, which writes that down.
async fn hook(client: &Client, wish: Hook) -> Result<Reply, Failure> {
    let is_agents = matches!(client.caller, Caller::Process(run) if client.door.agents.find(run).is_some());
    if !is_agents {
        audit::permit(client, Verb::List).await?;
        audit::refused(client, "hook", ErrorCode::Denied, "not inside an agent's run").await;
    }
    agents::hook(client, wish).await
}

/// How the daemon is. Everybody is told that it lives; what lives in it is told only to those who may know.
async fn status(client: &Client) -> Result<Reply, Failure> {
    let listed = match client.caller {
        Caller::Nobody => None,
        Caller::Human | Caller::Via(_) | Caller::Process(_) => {
            match listing::processes(client, client.caller, Command::List).await {
                Err(failure) if failure.code == ErrorCode::Unauthorized => None,
                listed => Some(listed?.0),
            }
        }
    };
    let warnings = || client.door.warnings.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone();
    let (processes, warnings) = listed.map_or_else(Default::default, |listed| (listed, warnings()));
    Ok(Reply::Status(DaemonStatus {
        running: true,
        pid: std::process::id(),
        version: VERSION.to_owned(),
        protocol: PROTOCOL,
        processes: u32::try_from(processes.len()).unwrap_or(u32::MAX),
        viewers: processes.iter().map(|process| process.viewers).sum(),
        uptime_s: client.door.started.elapsed().as_secs(),
        warnings,
    }))
}

/// What tells that a process is ready must be a pattern before anything is started.
fn check_ready(ready: Option<&Ready>) -> Result<(), Failure> {
    let Some(Ready::Pattern(text)) = ready else { return Ok(()) };
    let named = |failure: Failure| Failure { message: format!("ready.{}", failure.message), ..failure };
    pattern::compile(text).map(drop).map_err(named)
}

fn not_attached() -> Failure {
    Failure::new(ErrorCode::Protocol, "view works on an attached connection")
}

/// The engine answered something else than it was asked: our own fault, told instead of hidden.
pub(super) fn unexpected(verb: &str) -> Failure {
    Failure::new(ErrorCode::Internal, format!("{verb} was answered with something else"))
}

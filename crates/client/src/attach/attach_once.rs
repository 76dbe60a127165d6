//! One attachment from its call to its end: what happens before the loop and after it. The terminal is raw
//! before the daemon answers, and restored before anything else is asked.

use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use proto::reply::Attached;
use proto::request::{Attach, Empty, SizeRequest, Target};
use proto::terminal::KeyWatch;
use proto::{ProcessId, Reply, Request};

use super::handoff::TerminalOwner;
use super::session::{Session, sleep};
use super::signals::Signals;
use super::stall::Watch;
use super::{AttachOptions, AttachOutcome, Filter, Left, Terminal};
use crate::verbs::unexpected;
use crate::wait_limit::WaitLimit;
use crate::{ClientError, Connection, DaemonAddress};

/// How long looking up the process's name at the end may take.
const NAME_DEADLINE: Duration = Duration::from_millis(300);

pub(super) fn run(
    address: &mut DaemonAddress,
    options: &AttachOptions,
    input: BorrowedFd<'_>,
    output: BorrowedFd<'_>,
) -> Result<AttachOutcome, ClientError> {
    // Connecting may start a daemon and take time: until then every signal ends this program as usual.
    let mut connection = address.connect()?;
    let mut signals = Signals::register().map_err(ClientError::Broken)?;
    // Raw before the answer: a detach key typed as soon as the screen appears must not be a signal.
    let terminal = Terminal::enter(input, output).map_err(ClientError::Broken)?;
    let size = terminal.size().map_or_else(SizeRequest::default, SizeRequest::from);
    let request = Request::Attach(attach_request(options, options.target.clone(), size));
    let (attached, is_resized) = match begin(&mut connection, &mut signals, &terminal, request)? {
        Begun::Attached(attached, is_resized) => (*attached, is_resized),
        Begun::Signalled(signal) => {
            return Ok(AttachOutcome { name: options.target.0.clone(), left: Left::Signalled(signal) });
        }
    };
    let (id, name) = (attached.id, attached.name.to_string());
    let drawing = terminal.room();
    let mut session = Session {
        address,
        options,
        filter: Filter::new(options.clipboard),
        keys: KeyWatch::new(options.keys.clone()),
        stream: attached.stream,
        attached,
        connection,
        terminal,
        signals,
        drawing,
        unshown: Vec::new(),
        exit: None,
        last_kind: None,
        terminal_owner: TerminalOwner::Us,
        watch: Watch::Resting,
        is_typed_for_daemon: false,
        has_input: true,
        asked_at: None,
    };
    session.ask_terminal();
    if is_resized {
        session.tell_size()?;
    }
    let left = session.run_until_left();
    session.take_terminal_back();
    session.await_answers();
    // After a detach or an exit the typed keys are for the shell; otherwise they were for the program.
    if matches!(left, Ok(Left::Detached | Left::Exited(_))) {
        session.terminal.keep_unread();
    }
    let is_silent = session.is_seized();
    drop(session);
    let left = left?;
    // It may have been renamed meanwhile. Only for a process that still runs the present name matters.
    let renamed = (left == Left::Detached && !is_silent).then(|| name_now(address, id)).flatten();
    Ok(AttachOutcome { name: renamed.unwrap_or(name), left })
}

/// Returns the present name of a process, if the daemon answers at once.
fn name_now(address: &DaemonAddress, id: ProcessId) -> Option<String> {
    let deadline = Instant::now() + NAME_DEADLINE;
    let mut connection = address.connect_if_running().ok()?;
    connection.hello_before(deadline, None).ok()?;
    let request = Request::List(Empty {});
    let wait_limit = WaitLimit::with(&request).until(deadline);
    match connection.call_with(request, wait_limit).ok()? {
        Reply::Processes(processes) => {
            processes.into_iter().find(|process| process.id == id).map(|process| process.name.to_string())
        }
        _ => None,
    }
}

/// The result of asking to attach.
enum Begun {
    /// The answer, and whether the terminal has changed its size since the request.
    Attached(Box<Attached>, bool),
    /// This signal ends the client.
    Signalled(i32),
}

/// Asks to attach and waits for the answer while it handles signals: the terminal is raw, and a daemon may be
/// stopped.
fn begin(
    connection: &mut Connection,
    signals: &mut Signals,
    terminal: &Terminal,
    request: Request,
) -> Result<Begun, ClientError> {
    let wait_limit = WaitLimit::with(&request);
    let id = connection.send(request)?;
    let mut is_resized = false;
    loop {
        match connection.answer_with(id, wait_limit.listening(signals.as_fd()))? {
            Some(Reply::Attached(attached)) => return Ok(Begun::Attached(Box::new(attached), is_resized)),
            Some(other) => return Err(unexpected("attach", &other)),
            None => {}
        }
        let asked = signals.take();
        if let Some(signal) = asked.end {
            return Ok(Begun::Signalled(signal));
        }
        if asked.stop {
            sleep(terminal)?;
        }
        if asked.continued {
            terminal.make_raw().map_err(ClientError::Broken)?;
        }
        is_resized |= asked.resized;
    }
}

pub(super) fn attach_request(options: &AttachOptions, target: Target, size: SizeRequest) -> Attach {
    let AttachOptions { read_only, take_over, policy, .. } = *options;
    Attach { target, size, read_only, policy, take_over, ..Attach::default() }
}

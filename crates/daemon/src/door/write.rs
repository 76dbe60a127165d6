//! `write`: text, pastes and keys, the wait for Enter's effect, and the receipt of what reached the terminal. How long Enter
//! waits is decided in `screens/settle.rs`.
//!
//! Text is encoded for the child's current modes. Enter is a separate key, pressed after the text was written
//! and the screen is stable, and its effect is checked. The receipt claims only what was seen.

use std::time::{Duration, Instant};

use engine::Verb;
use engine::effect::{ComposerIs, Guard};
use engine::input::TypingOutcome;
use proto::reply::Wrote;
use proto::request::{MAX_WRITE_KEY, TypedInput, Write, WriteKey};
use proto::{ErrorCode, Failure, Owner, Reply};
use term::{Key, PasteEncoder, PastePiece};
use tokio::sync::{mpsc, oneshot};

use super::audit::{self, Typed};
use super::connection::Client;
use super::dispatch::locate;
use super::read::hosted;
use super::shell_command::ShellPrefix;
use crate::caller;
use crate::screens::settle::{self, Settle};
use crate::screens::{JobKey, MAX_CANONICAL, Order, ScreenHandle, Text, WriteJob, WriteOutcome};

const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);
/// A command reads its input as late as it likes: `qd exec` waits a day for it.
const MAX_TIMEOUT: Duration = Duration::from_secs(24 * 3600);
/// How long the effect of Enter may take to show.
const EFFECT: Duration = Duration::from_secs(1);
/// How long a cancelled write may take to be answered: a holder that does not answer by then is stopped.
const SILENCE: Duration = Duration::from_secs(2);
/// Most keys of one call.
const MAX_KEYS: usize = 1024;

pub(super) async fn write(
    client: &Client,
    request: Write,
    pieces: Option<mpsc::Receiver<Vec<u8>>>,
) -> Result<Reply, Failure> {
    let timeout = request.timeout_ms.map_or(DEFAULT_TIMEOUT, Duration::from_millis).min(MAX_TIMEOUT);
    let located = locate(client, request.target, Verb::Drive).await?;
    let not_running = || {
        let message = format!("{} is not running: nothing can be typed", located.name);
        Failure::new(ErrorCode::NotRunning, message).hint("qd restart starts it again")
    };
    let key = request.key.map(|key| own_key(client, key)).transpose()?;
    // After the end of a run its holder still knows how much was typed.
    if !located.is_live && !key.as_ref().is_some_and(|key| key.again) {
        return Err(not_running());
    }
    let handle = hosted(client, &located)?;
    handle.ready().await;
    let typed = Typed::begin(client, located.run);
    let (name, deadline) = (located.name.as_str(), Instant::now() + timeout);
    let shell_prefix = ShellPrefix::of(client, located.run);
    let writer = Writer { client, handle: &handle, name, deadline, typed: &typed, shell_prefix, key };
    let permit = tokio::time::timeout(timeout, handle.typing_permit.acquire()).await;
    let Ok(Ok(_permit)) = permit else {
        return Err(Failure::new(
            ErrorCode::Timeout,
            format!("another write to {} is not done", located.name),
        ));
    };
    let wrote = writer.write(request.input, request.submit, pieces).await;
    typed.flush().await;
    if let Err(failure) = &wrote
        && failure.code == ErrorCode::Denied
    {
        let why = failure.message.rsplit(": ").next().unwrap_or_default();
        audit::refused_to(client, "write", located.run, failure.code, why).await;
    }
    wrote.map(Reply::Wrote)
}

/// Returns the key under which the holder counts a write. It contains the caller, so no caller can repeat
/// another's write.
fn own_key(client: &Client, key: WriteKey) -> Result<WriteKey, Failure> {
    if key.id.is_empty() || key.id.len() > MAX_WRITE_KEY {
        return Err(Failure::invalid("key", format!("between 1 and {MAX_WRITE_KEY} bytes")));
    }
    Ok(WriteKey { id: format!("{}/{}", caller::name(client.caller()), key.id), ..key })
}

fn parse_keys(names: &[String]) -> Result<Vec<Key>, Failure> {
    if names.is_empty() || names.len() > MAX_KEYS {
        return Err(Failure::invalid("keys", format!("between 1 and {MAX_KEYS} keys")));
    }
    names.iter().map(|name| name.parse().map_err(|why| Failure::invalid("keys", why))).collect()
}

fn encode_keys(names: &[String], keys: &[Key], handle: &ScreenHandle) -> Result<Vec<u8>, Failure> {
    let modes = handle.screen().modes();
    let mut bytes = Vec::new();
    for (name, key) in names.iter().zip(keys) {
        let encoded = key.encode(&modes);
        if encoded.is_empty() {
            let message = format!("{name} cannot be sent: the program has not asked for such keys");
            return Err(Failure::invalid("keys", message)
                .hint("releases, super and hyper need a program that uses the kitty keyboard protocol"));
        }
        bytes.extend(encoded);
    }
    Ok(bytes)
}

/// What a write starts from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WritePosition {
    /// Any content: a person's draft must not be touched.
    Composer,
    /// A composer in which Enter submits: it must be seen, where it can be.
    Prompt,
    /// What this call has typed itself.
    OwnText,
}

/// The parts of a write, which the holder counts separately.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WritePart {
    Text,
    Enter,
}

struct Writer<'a> {
    client: &'a Client,
    handle: &'a ScreenHandle,
    name: &'a str,
    deadline: Instant,
    typed: &'a Typed<'a>,
    shell_prefix: ShellPrefix,
    /// The key of the write. With `again` set, an earlier daemon may have begun it.
    key: Option<WriteKey>,
}

impl Writer<'_> {
    /// Executes one call.
    async fn write(
        &self,
        input: TypedInput,
        submits: bool,
        pieces: Option<mpsc::Receiver<Vec<u8>>>,
    ) -> Result<Wrote, Failure> {
        // Keys choose their place themselves.
        let is_text = !matches!(input, TypedInput::Keys(_));
        let place = if submits && is_text { WritePosition::Prompt } else { WritePosition::Composer };
        let text = match input {
            TypedInput::Report(_) => return self.report(submits).await,
            TypedInput::PasteStream(_) => None,
            input @ (TypedInput::Text(_) | TypedInput::Paste(_) | TypedInput::Keys(_)) => {
                Some(self.encode(input, submits)?)
            }
        };
        let outcome = match text {
            Some(text) => self.send(text, submits, place, WritePart::Text).await?,
            None => self.send_pieces(pieces, submits).await?,
        };
        if outcome.written < outcome.of {
            return Err(self.incomplete(outcome).await);
        }
        self.finish(outcome, submits).await
    }

    /// Returns the bytes of a text, a paste or keys. Refuses what the agent would run as a command.
    fn encode(&self, input: TypedInput, submits: bool) -> Result<Text, Failure> {
        match input {
            TypedInput::Text(text) => {
                self.shell_prefix.check_text(&text, submits)?;
                Ok(Text::Bytes(text.into_bytes()))
            }
            TypedInput::Paste(text) => {
                self.shell_prefix.check_paste(text.as_bytes(), submits)?;
                Ok(Text::Paste(PastePiece::whole(&text)))
            }
            TypedInput::Keys(names) => {
                let keys = parse_keys(&names)?;
                self.shell_prefix.check_keys(&keys, submits)?;
                Ok(Text::Bytes(encode_keys(&names, &keys, self.handle)?))
            }
            TypedInput::Report(_) | TypedInput::PasteStream(_) => {
                Err(Failure::new(ErrorCode::Internal, "it has no bytes of its own"))
            }
        }
    }

    /// Presses Enter after a written text if the caller asked for it, and returns the receipt.
    async fn finish(&self, outcome: WriteOutcome, submits: bool) -> Result<Wrote, Failure> {
        let submitted = if submits { Some(self.submit(outcome).await?) } else { None };
        Ok(Wrote { written: outcome.written, of: outcome.of, submitted })
    }

    /// Returns how much of an earlier daemon's write was typed. The text itself is not known here, so the
    /// rest cannot be typed.
    async fn report(&self, submits: bool) -> Result<Wrote, Failure> {
        if !self.is_repeated() {
            return Err(Failure::invalid("key", "a report needs the key of an earlier write"));
        }
        let nothing = Text::Bytes(Vec::new());
        let outcome = self.send(nothing, false, WritePosition::OwnText, WritePart::Text).await?;
        if outcome.written == outcome.of && outcome.begun.is_some_and(|begun| begun.is_whole) {
            return self.finish(outcome, submits).await;
        }
        let message = format!(
            "wrote {} bytes of the paste to {}, and the rest did not reach it: the daemon ended meanwhile",
            outcome.written, self.name
        );
        Err(Failure::new(ErrorCode::Partial, message)
            .hint("the part that was typed was ended as a paste and not submitted"))
    }

    /// Returns true if an earlier daemon may have begun this write.
    fn is_repeated(&self) -> bool {
        self.key.as_ref().is_some_and(|key| key.again)
    }

    /// Returns the key under which the holder counts the bytes of one part of this write.
    fn part_key(&self, part: WritePart) -> Option<JobKey> {
        let key = self.key.as_ref()?;
        let word = match part {
            WritePart::Text => "text",
            WritePart::Enter => "enter",
        };
        let offset = self.handle.progress.borrow().seen;
        Some(JobKey { key: format!("{}/{word}", key.id).into_bytes(), offset, is_repeated: key.again })
    }

    /// Sends a text and waits until it is written, given up or dropped.
    async fn send(
        &self,
        text: Text,
        is_prompt: bool,
        place: WritePosition,
        part: WritePart,
    ) -> Result<WriteOutcome, Failure> {
        let is_person = self.client.caller().is_person();
        // People may type anywhere; a program may not type over them, into a dialog or into a password
        // prompt.
        let guard = (!is_person).then_some(Guard {
            dialog: None,
            composer: match place {
                WritePosition::Composer => ComposerIs::NoDraft,
                WritePosition::Prompt => ComposerIs::Ready,
                WritePosition::OwnText => ComposerIs::NoShell,
            },
            person_quiet_ms: engine::LEASE_MS,
        });
        let most = text.most();
        self.typed.queued(most as u64);
        let outcome = self.order(text, is_prompt, guard, part).ok_or_else(|| self.gone())?;
        let latest = self.deadline.max(Instant::now()) + SILENCE;
        let reply = tokio::time::timeout_at(latest.into(), outcome).await;
        let outcome = reply.map_err(|_| self.silent(most))?.map_err(|_| self.gone())?;
        self.typed.arrived(outcome.written);
        match outcome.obstacle {
            Some(obstacle) if outcome.written > 0 => Err(self.cut(outcome, obstacle)),
            Some(obstacle) => Err(refusal(obstacle, self.name)),
            None => Ok(outcome),
        }
    }

    /// Returns the failure for a run that went away without reporting on a text.
    fn gone(&self) -> Failure {
        if !self.is_repeated() {
            return Failure::new(ErrorCode::NotRunning, "the run ended before anything was typed");
        }
        let message = format!(
            "the daemon ended while it typed into {}, and its holder does not say how much was typed",
            self.name
        );
        Failure::new(ErrorCode::UnknownOutcome, message).hint("look before you type again: qd read")
    }

    /// Returns the failure for a text of which an earlier daemon typed a part and whose rest is refused now.
    fn cut(&self, outcome: WriteOutcome, obstacle: TypingOutcome) -> Failure {
        let why = refusal(obstacle, self.name);
        let (written, of) = (outcome.written, outcome.of);
        let message = format!(
            "wrote {written} of {of} bytes to {} before the daemon ended; the rest: {}",
            self.name, why.message
        );
        Failure { code: ErrorCode::Partial, message, ..why }
    }

    /// Queues a text for typing. Returns `None` if the run is no longer hosted.
    fn order(
        &self,
        text: Text,
        is_prompt: bool,
        guard: Option<Guard>,
        part: WritePart,
    ) -> Option<oneshot::Receiver<WriteOutcome>> {
        let (reply, outcome) = oneshot::channel();
        let by = if self.client.caller().is_person() { Owner::User } else { Owner::Orchestrator };
        let key = self.part_key(part);
        let job = WriteJob { text, is_prompt, deadline: self.deadline, by, guard, key, reply };
        let order = Order::Write(self.handle.run, job);
        self.client.door.screens.order(self.handle.run, order).then_some(outcome)
    }

    /// Sends a paste that comes in pieces; the next is read when the last is written.
    async fn send_pieces(
        &self,
        pieces: Option<mpsc::Receiver<Vec<u8>>>,
        submits: bool,
    ) -> Result<WriteOutcome, Failure> {
        let Some(mut pieces) = pieces else {
            return Err(Failure::new(ErrorCode::Internal, "a streamed paste without its stream"));
        };
        if self.is_repeated() {
            return Err(Failure::invalid("key", "a streamed paste cannot be sent again: ask for a report"));
        }
        let encoder = Some(PasteEncoder::default());
        let mut paste = StreamedPaste { writer: self, encoder, submits, is_begun: false };
        let mut total = WriteOutcome { written: 0, of: 0, was_held: false, obstacle: None, begun: None };
        let mut place = if submits { WritePosition::Prompt } else { WritePosition::Composer };
        // This much is needed to know whether a prompt is long enough to be held.
        let mut least = if submits { MAX_CANONICAL + 1 } else { 1 };
        while let Some(piece) = paste.next(&mut pieces, least).await? {
            let is_last = piece.is_last();
            let outcome = self.send(Text::Paste(piece), submits, place, WritePart::Text).await?;
            (place, least) = (WritePosition::OwnText, 1);
            total.of += outcome.of;
            total.written += outcome.written;
            total.was_held |= outcome.was_held;
            if outcome.written < outcome.of {
                // There may be more, of unknown length.
                total.of = total.of.max(total.written + 1);
                return Ok(total);
            }
            if is_last {
                break;
            }
        }
        Ok(total)
    }

    /// Presses Enter once the screen is stable; returns true if it had a visible effect.
    async fn submit(&self, text: WriteOutcome) -> Result<bool, Failure> {
        self.wait_until_quiet().await;
        let before = self.handle.progress.borrow().version;
        let version_before = self.handle.screen().version().max(before);
        let enter = Text::Bytes(b"\r".to_vec());
        let outcome = self.send(enter, false, WritePosition::OwnText, WritePart::Enter).await;
        let outcome = outcome.map_err(|failure| self.not_submitted(text, failure))?;
        if outcome.written < outcome.of {
            return Ok(false);
        }
        let mut progress = self.handle.progress.subscribe();
        // Versions start again with each daemon; offsets do not.
        let changed = progress.wait_for(|progress| match outcome.begun {
            Some(begun) => progress.seen > begun.offset || progress.exited_at.is_some(),
            None => progress.version > version_before || progress.exited_at.is_some(),
        });
        Ok(tokio::time::timeout(EFFECT, changed).await.is_ok_and(|changed| changed.is_ok()))
    }

    /// Waits until nothing has been printed for as long as a program may take a burst for a paste.
    async fn wait_until_quiet(&self) {
        let mut progress = self.handle.progress.subscribe();
        let seen = progress.borrow_and_update().seen;
        let mut settle = Settle::begin(seen, settle::SETTLE, settle::CALL_LIMIT, Instant::now());
        while !settle.is_over(Instant::now()) {
            match tokio::time::timeout_at(settle.due().into(), progress.changed()).await {
                Ok(Ok(())) => settle.observe(progress.borrow_and_update().seen, Instant::now()),
                Ok(Err(_)) => return,
                Err(_) => {}
            }
        }
    }

    /// Returns the failure for a text that was typed although Enter could not be pressed.
    fn not_submitted(&self, text: WriteOutcome, why: Failure) -> Failure {
        if !self.is_repeated() {
            return why;
        }
        let (written, of) = (text.written, text.of);
        let message = format!(
            "wrote {written} of {of} bytes to {}, and Enter was not pressed: {}",
            self.name, why.message
        );
        Failure { message, ..why }
    }

    /// Returns the failure for a text whose holder does not answer.
    fn silent(&self, most: usize) -> Failure {
        let name = self.name;
        let message = format!(
            "the holder of {name} does not answer: how many of the last {most} bytes were typed is not known"
        );
        Failure::new(ErrorCode::Timeout, message)
            .hint("look at the screen before you type again: the holder may still type what it has")
    }

    /// Returns the failure for a text of which the terminal has only a part: the run is over, or it does not read.
    async fn incomplete(&self, outcome: WriteOutcome) -> Failure {
        // Before the deadline a holder stops only because the child has closed its terminal: most children do that by
        // ending, and their end is announced a moment later.
        let may_have_ended = !outcome.was_held && Instant::now() < self.deadline;
        if may_have_ended && self.ends_soon().await {
            let message = format!(
                "wrote {} of {} bytes to {}, which has ended",
                outcome.written, outcome.of, self.name
            );
            return Failure::new(ErrorCode::NotRunning, message).hint("qd restart starts it again");
        }
        self.partial(outcome)
    }

    /// Returns true if the run is over, now or within a moment.
    async fn ends_soon(&self) -> bool {
        let mut progress = self.handle.progress.subscribe();
        let ended = progress.wait_for(|progress| progress.exited_at.is_some() || progress.is_over);
        tokio::time::timeout(SILENCE, ended).await.is_ok()
    }

    fn partial(&self, outcome: WriteOutcome) -> Failure {
        let message = format!("wrote {} of {} bytes to {}", outcome.written, outcome.of, self.name);
        let failure = Failure::new(ErrorCode::Partial, message);
        if outcome.was_held {
            return failure.hint(format!(
                "it reads whole lines of at most {MAX_CANONICAL} bytes: shorten the lines, or wait until it is ready"
            ));
        }
        failure.hint("it does not read its input; raise --timeout, or send less")
    }
}

/// A paste that comes in pieces. Its brackets are always closed: when its last piece is sent, or when it is
/// dropped, because its client went or did not continue.
struct StreamedPaste<'a> {
    writer: &'a Writer<'a>,
    encoder: Option<PasteEncoder>,
    /// Enter follows.
    submits: bool,
    /// A piece was sent.
    is_begun: bool,
}

impl StreamedPaste<'_> {
    /// Returns the next piece, of at least `least` bytes unless it is the last.
    async fn next(
        &mut self,
        pieces: &mut mpsc::Receiver<Vec<u8>>,
        least: usize,
    ) -> Result<Option<PastePiece>, Failure> {
        let (bytes, is_last) = self.receive(pieces, least).await?;
        if !std::mem::replace(&mut self.is_begun, true) {
            self.writer.shell_prefix.check_paste(&bytes, self.submits)?;
        }
        if is_last {
            return Ok(self.encoder.take().map(|encoder| encoder.last(&bytes)));
        }
        Ok(self.encoder.as_mut().map(|encoder| encoder.piece(&bytes)))
    }

    /// Returns at least `least` bytes, or all there are, and true if nothing follows them.
    async fn receive(
        &self,
        pieces: &mut mpsc::Receiver<Vec<u8>>,
        least: usize,
    ) -> Result<(Vec<u8>, bool), Failure> {
        let mut bytes = Vec::new();
        while bytes.len() < least {
            let received = tokio::time::timeout_at(self.writer.deadline.into(), pieces.recv()).await;
            let piece = received
                .map_err(|_| Failure::new(ErrorCode::Timeout, "the rest of the paste did not come"))?;
            match piece {
                Some(piece) if !piece.is_empty() => bytes.extend(piece),
                Some(_) => return Ok((bytes, true)),
                // Half a prompt is not sent.
                None => return Err(Failure::new(ErrorCode::Protocol, "the paste was not ended")),
            }
        }
        Ok((bytes, false))
    }
}

impl Drop for StreamedPaste<'_> {
    fn drop(&mut self) {
        if self.encoder.is_some() {
            // Its result is not needed; where no bracket is open it has no effect.
            drop(self.writer.order(Text::Paste(PastePiece::ending()), false, None, WritePart::Text));
        }
    }
}

/// Returns the error when a program may not type there now.
fn refusal(obstacle: TypingOutcome, name: &str) -> Failure {
    let failure = |code, why: &str| Failure::new(code, format!("nothing was typed into {name}: {why}"));
    match obstacle {
        TypingOutcome::Dialog | TypingOutcome::Stale => failure(ErrorCode::DialogOpen, "a dialog is open")
            .hint("qd inbox shows it and qd answer answers it"),
        TypingOutcome::NoEcho => failure(ErrorCode::Denied, "its terminal reads a secret")
            .hint("only a person may type there: qd attach"),
        TypingOutcome::Draft => {
            failure(ErrorCode::HumanTyping, "unsent text is in it").hint("qd tell waits until it is gone")
        }
        TypingOutcome::Shell => {
            failure(ErrorCode::Denied, "its composer is in shell mode, where it would run as a command")
                .hint("only a person may type there: qd attach")
        }
        TypingOutcome::NoComposer | TypingOutcome::OtherText => {
            failure(ErrorCode::NotDelivered, "its composer is not on the screen")
                .hint("qd explain shows what is known of it; qd tell waits until it is there")
        }
        TypingOutcome::PersonTyping => failure(ErrorCode::HumanTyping, "a person typed there a moment ago")
            .hint("try again in a few seconds; qd tell waits by itself"),
        TypingOutcome::Done | TypingOutcome::Partial | TypingOutcome::Gone => {
            failure(ErrorCode::NotRunning, "its run is over").hint("qd restart starts it again")
        }
    }
}

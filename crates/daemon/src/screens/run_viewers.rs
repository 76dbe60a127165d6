//! What viewers of a run are shown and what they send: repaint then live, composing for other sizes, and input from
//! attached terminals. `viewer` decides who is too far behind; the engine decides about sizes.

use std::time::{Duration, Instant};

use engine::RunFact;
use holder::ReadOutcome;
use proto::event::Notice;
use proto::frame::{DataKind, Frame};
use proto::request::{Request, View as ViewCall, parse_call};
use proto::terminal::DetachIntent;
use proto::{ErrorCode, Exit, Failure, Owner, Size};
use term::PaintView;

use super::facts::FactQueue;
use super::order::Ended;
use super::run::Run;
use super::terminal::Terminal;
use super::viewer::{DETACHED, Mode, Owed, Presence, Viewer};

/// The shortest time between two reports that the same viewer types.
const TYPED: Duration = Duration::from_millis(50);

impl Run {
    /// Accepts a viewer: a repaint, or the bytes from the offset that it asked for; then live.
    pub(crate) fn welcome(&mut self, mut viewer: Viewer, now: Instant, facts: &mut FactQueue) -> Viewer {
        self.show_size(&mut viewer);
        facts.push_fact(self.key(), joined(&viewer));
        match viewer.options.from.filter(|from| viewer.mode == Mode::Live && *from <= self.seen) {
            Some(from) => viewer.continue_from(from, self.seen, now),
            None => self.repaint(&mut viewer, now),
        }
        if let Some(ended) = self.ended {
            self.report_exit(&mut viewer, ended, now);
        }
        viewer
    }

    /// Detaches a viewer. It gets the last row with content, so that its client's next output does not push
    /// that away.
    pub(super) fn end_viewer(&self, viewer: &mut Viewer, reason: &str) {
        let screen = self.handle.screen();
        let is_whole = screen.size().rows <= viewer.size.rows;
        let last_row = is_whole.then(|| screen.shown_rows());
        drop(screen);
        viewer.end_below(reason, last_row);
    }

    /// Sends a viewer the terminal's size and chooses how it is shown.
    fn show_size(&self, viewer: &mut Viewer) {
        if viewer.options.mirror {
            viewer.size = self.size;
        }
        let fits = viewer.size == self.size;
        let gets_bytes = viewer.options.exact || (fits && viewer.options.pace.is_none());
        viewer.mode = if gets_bytes { Mode::Live } else { Mode::Composed };
        viewer.send_notice(Notice::Resized { stream: viewer.stream, size: self.size, fits });
    }

    /// Repaints the whole screen. What a live viewer has not been sent is left out and reported as a gap.
    pub(crate) fn repaint(&self, viewer: &mut Viewer, now: Instant) {
        self.repaint_after(viewer, &[], now);
    }

    /// Repaints the whole screen, after bytes that are not part of it.
    pub(super) fn repaint_after(&self, viewer: &mut Viewer, first: &[u8], now: Instant) {
        let screen = self.handle.screen();
        let view = match viewer.mode {
            Mode::Live => PaintView::Whole,
            Mode::Composed if viewer.size == self.size => PaintView::Whole,
            Mode::Composed => {
                PaintView::Window(term::GridSize::clamped(viewer.size.cols.into(), viewer.size.rows.into()))
            }
        };
        let mut drawing = screen.repaint(view);
        if !first.is_empty() {
            drawing = [first, &drawing].concat();
        }
        // Bytes of an unfinished sequence belong to what comes next, not to what was drawn.
        let live_from = self.seen - screen.unfinished_bytes() as u64;
        drop(screen);
        // Whatever was skipped is reported: received bytes and reported gaps are everything.
        let is_first = viewer.painted_at.is_none();
        if viewer.mode == Mode::Live && !is_first && viewer.sent_to < live_from {
            viewer.send_gap(live_from);
        }
        viewer.send_repaint(&drawing, self.seen, live_from);
        viewer.painted_at = Some(now);
    }

    /// Shows every viewer the new size.
    pub(crate) fn show_new_size(&mut self, viewers: &mut [&mut Viewer], now: Instant) {
        for viewer in viewers.iter_mut().filter(|viewer| !viewer.is_closing()) {
            viewer.owes(Owed::SizeAndPaint);
            self.pay(viewer, now);
        }
    }

    /// Shows a viewer what is pending once it has accepted everything before it: a viewer that asks and does
    /// not read gets one repaint, however often it asks.
    fn pay(&self, viewer: &mut Viewer, now: Instant) {
        if !viewer.is_clear() || viewer.is_closing() {
            return;
        }
        match viewer.take_owed() {
            Owed::Nothing => {}
            Owed::Paint if viewer.options.exact => {}
            Owed::SizeAndPaint if viewer.options.exact => self.show_size(viewer),
            Owed::Paint => self.repaint(viewer, now),
            Owed::SizeAndPaint => {
                self.show_size(viewer);
                self.repaint(viewer, now);
            }
        }
    }

    /// Sends a viewer what it has not seen, as far as its socket accepts it.
    pub(crate) fn catch_up(&self, viewer: &mut Viewer, buffer: &mut [u8], now: Instant) -> Presence {
        loop {
            if viewer.flush() == Presence::Gone {
                return Presence::Gone;
            }
            if !viewer.is_clear() || viewer.is_closing() {
                return Presence::Here;
            }
            self.pay(viewer, now);
            match viewer.mode {
                _ if !viewer.is_clear() => {}
                Mode::Composed if viewer.is_stale && frame_due(viewer).is_none_or(|due| due <= now) => {
                    let asides = viewer.asides.take();
                    self.repaint_after(viewer, &asides, now);
                }
                Mode::Live if viewer.sent_to < self.seen && !self.is_skimming(viewer, now) => {
                    self.send_next(viewer, buffer, now);
                }
                Mode::Live if viewer.sent_to >= self.seen && viewer.exit_due.is_some() => {
                    let Some(ended) = viewer.exit_due.take() else { return Presence::Here };
                    self.say_exit(viewer, ended);
                }
                Mode::Live if viewer.options.exact => return Presence::Here,
                // What came while it did not read was no flood yet, and is skimmed now: no further output may
                // come.
                Mode::Live if viewer.drawn_to < self.seen && !viewer.is_stale => viewer.is_stale = true,
                // Bytes of an unfinished sequence stay unsent after a repaint; only a stale viewer gets
                // another.
                Mode::Live if viewer.is_stale && frame_due(viewer).is_none_or(|due| due <= now) => {
                    self.repaint(viewer, now);
                }
                Mode::Live if viewer.sent_to >= self.seen => {
                    viewer.is_stale = false;
                    return Presence::Here;
                }
                Mode::Composed | Mode::Live => return Presence::Here,
            }
        }
    }

    fn send_next(&self, viewer: &mut Viewer, buffer: &mut [u8], now: Instant) {
        let behind = self.seen - viewer.sent_to;
        let most = usize::try_from(behind).unwrap_or(usize::MAX).min(buffer.len());
        let outcome = if viewer.is_far_behind(self.seen) {
            ReadOutcome::Missed { resume_at: self.seen }
        } else {
            self.handle.ring.read(viewer.sent_to, &mut buffer[..most])
        };
        match outcome {
            ReadOutcome::Bytes(count) if count > 0 => viewer.send_output(&buffer[..count]),
            ReadOutcome::Missed { resume_at } if viewer.options.exact => viewer.skip_to(resume_at),
            ReadOutcome::Bytes(_) if viewer.options.exact => viewer.skip_to(self.seen),
            ReadOutcome::Bytes(_) | ReadOutcome::Missed { .. } => {
                viewer.is_outrun = true;
                self.repaint(viewer, now);
            }
        }
    }

    /// Sends new output at once to viewers that are up to date.
    pub(crate) fn show_output(&self, viewer: &mut Viewer, before: u64, bytes: &[u8], now: Instant) {
        match viewer.mode {
            Mode::Live if self.is_skimming(viewer, now) => viewer.is_stale = true,
            Mode::Live if viewer.sent_to == before && viewer.is_clear() && !viewer.is_closing() => {
                viewer.send_output(bytes);
            }
            Mode::Live => {}
            Mode::Composed => {
                viewer.is_stale = true;
                viewer.asides.feed(bytes);
            }
        }
    }

    /// Handles the end of the run: last bytes, then how it ended, then the end. Viewers of a run that is
    /// restarted wait for the next one.
    pub(crate) fn report_exit(&self, viewer: &mut Viewer, ended: Ended, now: Instant) {
        if viewer.is_closing() {
            return;
        }
        if viewer.needs_every_byte() {
            viewer.exit_due = (!ended.restarts).then_some(ended);
            return;
        }
        if viewer.mode == Mode::Composed || viewer.sent_to < self.seen {
            let asides = viewer.asides.take();
            self.repaint_after(viewer, &asides, now);
        }
        if let Some(delay_ms) = ended.restarts_in_ms {
            self.draw_below(viewer, &restart_words(ended.exit, delay_ms));
        }
        if !ended.restarts {
            self.say_exit(viewer, ended);
        }
    }

    /// Sends how the run ended, and the end of the stream. What a program left on the alternate screen is
    /// drawn on the main one: the client would leave the alternate screen, and the last output with it.
    fn say_exit(&self, viewer: &mut Viewer, Ended { exit, final_offset, .. }: Ended) {
        let screen = self.handle.screen();
        let mut last_row = (screen.size().rows <= viewer.size.rows).then(|| screen.shown_rows());
        if screen.is_alternate() && !viewer.needs_every_byte() {
            let size = term::GridSize::clamped(viewer.size.cols.into(), viewer.size.rows.into());
            viewer.send_repaint(&screen.repaint(PaintView::Last(size)), self.seen, self.seen);
            last_row = Some(screen.shown_rows().min(viewer.size.rows));
        }
        drop(screen);
        viewer.send_notice(Notice::Exit { stream: viewer.stream, exit, offset: final_offset });
        viewer.end_below("exited", last_row);
    }

    /// Draws a line below the content, or in the last row if there is no room.
    fn draw_below(&self, viewer: &mut Viewer, words: &str) {
        let row = self.handle.screen().shown_rows().saturating_add(1).min(viewer.size.rows);
        let line = format!("\x1b[{row};1H\x1b[0;7m{words}\x1b[0m\x1b[K");
        viewer.send_repaint(line.as_bytes(), self.seen, viewer.sent_to);
    }

    /// The run is released, and a viewer that gets every byte has not read all of them: it gets a gap for the
    /// rest.
    pub(crate) fn end_bytes(&self, viewer: &mut Viewer, buffer: &mut [u8], now: Instant) {
        if viewer.needs_every_byte() && self.catch_up(viewer, buffer, now) == Presence::Here {
            if viewer.sent_to < self.seen {
                viewer.skip_to(self.seen);
            }
            if let Some(Ended { exit, final_offset, .. }) = viewer.exit_due.take() {
                viewer.send_notice(Notice::Exit { stream: viewer.stream, exit, offset: final_offset });
            }
        }
    }

    /// Processes what a viewer sent: keys for the child, or requests about its own view.
    pub(crate) fn hear(&mut self, viewer: &mut Viewer, now: Instant, facts: &mut FactQueue) {
        loop {
            if viewer.keys.pending.is_some() && self.hold_back(viewer) {
                return;
            }
            if let Some(keys) = viewer.keys.pending.take() {
                self.hear_keys(viewer, &keys, now, facts);
                viewer.keys.typed += keys.len() as u64;
            }
            let Some(frame) = viewer.next_frame() else { return };
            match frame {
                Ok(Frame::Data(data)) if data.kind == DataKind::Input => {
                    viewer.keys.pending = Some(data.bytes)
                }
                Ok(Frame::Line(line)) => self.hear_line(viewer, &line, now, facts),
                Ok(Frame::Data(_)) => {
                    viewer.send_failure(
                        0,
                        Failure::new(ErrorCode::Protocol, "only input frames come from a viewer"),
                    );
                }
                Err(error) => viewer.send_failure(0, Failure::new(ErrorCode::Protocol, error.to_string())),
            }
        }
    }

    /// Decides whether a viewer's keys wait, because the child does not read those before them; returns true
    /// if they do. A paste then waits in its terminal or its client, as it would without us, and nothing is
    /// lost. From one that has gone only what is on its way can still come.
    pub(crate) fn hold_back(&self, viewer: &mut Viewer) -> bool {
        let has_a_reader = !viewer.read_only && self.ended.is_none() && !viewer.is_leaving;
        viewer.keys.is_held_back =
            has_a_reader && self.input_queue.is_full_for(viewer.id, viewer.keys.is_held_back);
        viewer.keys.is_held_back
    }

    /// Processes what was typed on a viewer's terminal.
    pub(crate) fn hear_terminal(
        &mut self,
        viewer: &mut Viewer,
        typed: &[u8],
        now: Instant,
        facts: &mut FactQueue,
    ) {
        let Some(terminal) = &mut viewer.terminal else { return };
        let mut keys = Vec::with_capacity(typed.len());
        let intent = terminal.watch_keys(typed, now, &mut keys);
        if let Some(report) = terminal.take_report() {
            self.note_viewer_colors(viewer, &report);
            viewer.send_notice(Notice::Answered { stream: viewer.stream, report });
        }
        if !keys.is_empty() {
            self.hear_keys(viewer, &keys, now, facts);
        }
        if intent == DetachIntent::Detach {
            self.end_viewer(viewer, DETACHED);
        }
    }

    /// Types a key that began on a viewer's terminal and whose rest did not come in time.
    pub(crate) fn hear_late(&mut self, viewer: &mut Viewer, now: Instant, facts: &mut FactQueue) {
        let Some(terminal) = &mut viewer.terminal else { return };
        let mut keys = Vec::new();
        terminal.release_keys(now, &mut keys);
        if !keys.is_empty() {
            self.hear_keys(viewer, &keys, now, facts);
        }
    }

    fn hear_keys(&mut self, viewer: &mut Viewer, keys: &[u8], now: Instant, facts: &mut FactQueue) {
        if viewer.read_only {
            return viewer.refuse_keys();
        }
        if self.ended.is_some() || keys.is_empty() {
            return;
        }
        self.echo.is_due = true;
        self.input_queue.type_keys(viewer.id, keys, &self.handle, &mut self.link);
        if viewer.by == Owner::User {
            self.human_typed(now);
        }
        let is_another = self.typist != Some(viewer.id);
        if is_another || viewer.typed_at.is_none_or(|at| now.duration_since(at) > TYPED) {
            self.typist = Some(viewer.id);
            viewer.typed_at = Some(now);
            facts.push_fact(self.key(), RunFact::Typed { by: viewer.by, viewer: Some(viewer.id) });
        }
    }

    fn hear_line(&mut self, viewer: &mut Viewer, line: &[u8], now: Instant, facts: &mut FactQueue) {
        let call = match parse_call(line) {
            Ok(call) => call,
            Err((id, failure)) => return viewer.send_failure(id, failure),
        };
        let Request::View(view) = call.request else {
            let failure =
                Failure::new(ErrorCode::Protocol, "this connection is attached: only view calls work on it");
            return viewer.send_failure(call.id, failure.hint("open another connection"));
        };
        if let Some(failure) = viewer.options.refusal(&view) {
            return viewer.send_failure(call.id, failure);
        }
        if let Some(terminal) = &mut viewer.terminal {
            terminal.is_back();
        }
        match view {
            ViewCall::PaceMs(ms) => {
                viewer.options.set_pace_ms(ms);
                viewer.owes(Owed::SizeAndPaint);
                self.pay(viewer, now);
            }
            ViewCall::Terminal(intent) => {
                let undecided = intent.undecided.clone();
                viewer.take_terminal(call.id, intent);
                self.pay(viewer, now);
                self.hear_terminal(viewer, undecided.as_bytes(), now, facts);
            }
            ViewCall::Size(intent) => {
                self.view_resized(viewer, intent.or(viewer.size), now, facts);
                viewer.give_sign(call.id);
            }
            ViewCall::Report(report) => self.note_viewer_colors(viewer, &report),
            ViewCall::Repaint(_) => {
                viewer.owes(Owed::Paint);
                self.pay(viewer, now);
            }
            ViewCall::OwnSize(_) => {
                let (id, size) = (viewer.id, viewer.size);
                // The next viewer that types owns the size again, and the engine must learn of it.
                self.typist = None;
                facts.push_fact(self.key(), RunFact::ViewerResized { viewer: id, size, owns: true });
            }
        }
    }

    fn view_resized(&mut self, viewer: &mut Viewer, size: Size, now: Instant, facts: &mut FactQueue) {
        if viewer.size == size {
            return;
        }
        viewer.size = size;
        facts.push_fact(self.key(), RunFact::ViewerResized { viewer: viewer.id, size, owns: false });
        viewer.owes(Owed::SizeAndPaint);
        self.pay(viewer, now);
    }
}

/// Returns when the next repaint may be sent, to a viewer that needs one.
pub(crate) fn frame_due(viewer: &Viewer) -> Option<Instant> {
    let is_owed = viewer.is_stale && viewer.is_clear();
    viewer.painted_at.filter(|_| is_owed).map(|at| at + viewer.options.interval())
}

/// Returns when the worker must check a viewer without an event.
pub(crate) fn due(viewer: &Viewer) -> Option<Instant> {
    let keys = viewer.terminal.as_ref().and_then(Terminal::keys_due);
    keys.into_iter().chain(frame_due(viewer)).min()
}

/// Returns the text for a viewer while a failed run waits to be restarted.
fn restart_words(exit: Exit, delay_ms: u64) -> String {
    let how = match (exit.code, exit.signal) {
        (Some(code), _) => format!("exit {code}"),
        (None, Some(signal)) => format!("ended by {}", proto::stop::signal_name(signal)),
        (None, None) => "lost".to_owned(),
    };
    format!("[{how}; starts again in {} s]", delay_ms.div_ceil(1_000))
}

/// Returns the fact that a viewer has joined. Only people have labels.
fn joined(viewer: &Viewer) -> RunFact {
    let by = viewer.principal.caller;
    RunFact::ViewerJoined {
        viewer: viewer.id,
        size: viewer.size,
        read_only: viewer.read_only,
        mirrors: viewer.options.mirror,
        by,
        label: viewer.principal.label.clone().filter(|_| by.is_person()),
        pid: viewer.pid(),
    }
}

//! What viewers send to a run: keys from their sockets and their terminals, and calls about their own view.
//! `viewer_output` sends what they get back.

use std::time::Instant;

use engine::RunFact;
use proto::event::Notice;
use proto::frame::{DataKind, Frame};
use proto::request::{Request, View as ViewCall, parse_call};
use proto::terminal::DetachIntent;
use proto::{ErrorCode, Failure, Owner, Size};

use super::facts::FactQueue;
use super::run::Run;
use super::viewer::{DETACHED, Mode, PendingRepaint, Viewer};

impl Run {
    /// Accepts a viewer: a repaint, or the bytes from the offset that it asked for; then live.
    pub(crate) fn welcome(&self, mut viewer: Viewer, now: Instant, facts: &mut FactQueue) -> Viewer {
        let output = self.output();
        output.show_size(&mut viewer);
        facts.push_fact(self.key(), joined(&viewer));
        match viewer.options.from.filter(|from| viewer.mode == Mode::Live && *from <= self.position.seen()) {
            Some(from) => viewer.position.continue_from(from, self.position.seen(), now),
            None => output.repaint(&mut viewer, now),
        }
        if let Some(ended) = self.end.announced() {
            output.report_exit(&mut viewer, ended, now);
        }
        viewer
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
            let Some(frame) = viewer.socket.next_frame() else { return };
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
        let has_a_reader =
            !viewer.read_only && self.end.announced().is_none() && !viewer.socket.is_peer_gone();
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
            self.output().end(viewer, DETACHED);
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
        if self.end.announced().is_some() || keys.is_empty() {
            return;
        }
        self.echo.is_due = true;
        self.input_queue.type_keys(viewer.id, keys, &self.handle, &mut self.link);
        if viewer.by == Owner::User {
            self.typing.person_typed(now);
        }
        if self.reports.typist.is_news(viewer.id, now) {
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
                self.output().repaint_when_clear(viewer, PendingRepaint::SizeAndScreen, now);
            }
            ViewCall::Terminal(intent) => {
                let undecided = intent.undecided.clone();
                viewer.take_terminal(call.id, intent);
                self.output().repaint_when_clear(viewer, PendingRepaint::Screen, now);
                self.hear_terminal(viewer, undecided.as_bytes(), now, facts);
            }
            ViewCall::Size(intent) => {
                self.view_resized(viewer, intent.or(viewer.size), now, facts);
                viewer.give_sign(call.id);
            }
            ViewCall::Report(report) => self.note_viewer_colors(viewer, &report),
            ViewCall::Repaint(_) => {
                self.output().repaint_when_clear(viewer, PendingRepaint::Screen, now);
            }
            ViewCall::OwnSize(_) => {
                let (id, size) = (viewer.id, viewer.size);
                // The next viewer that types owns the size again, and the engine must learn of it.
                self.reports.typist.forget();
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
        self.output().repaint_when_clear(viewer, PendingRepaint::SizeAndScreen, now);
    }
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
        pid: viewer.socket.peer_pid(),
    }
}

//! What a run shows its viewers: a repaint first and live bytes then, screens composed for other sizes, and how
//! the run ended. `viewer_position` knows how far each viewer has come and decides when one has fallen behind; the engine
//! decides about sizes.

use std::time::Instant;

use holder::ReadOutcome;
use proto::event::Notice;
use proto::{Exit, Size};
use term::PaintView;

use super::handle::ScreenHandle;
use super::order::Ended;
use super::pace::Flood;
use super::viewer::{Mode, PendingRepaint, Presence, Viewer};

/// A run's screen and output as its viewers get them.
pub(super) struct ViewerOutput<'r> {
    pub(super) handle: &'r ScreenHandle,
    /// The terminal's size.
    pub(super) size: Size,
    /// Output up to here is on the screen.
    pub(super) seen: u64,
    pub(super) flood: &'r Flood,
}

impl ViewerOutput<'_> {
    /// Detaches a viewer. It gets the last row with content, so that its client's next output does not push
    /// that away.
    pub(super) fn end(&self, viewer: &mut Viewer, reason: &str) {
        let screen = self.handle.screen();
        let is_whole = screen.size().rows <= viewer.size.rows;
        let last_row = is_whole.then(|| screen.shown_rows());
        drop(screen);
        viewer.end_below(reason, last_row);
    }

    /// Sends a viewer the terminal's size and chooses how it is shown.
    pub(super) fn show_size(&self, viewer: &mut Viewer) {
        if viewer.options.mirror {
            viewer.size = self.size;
        }
        let fits = viewer.size == self.size;
        let gets_bytes = viewer.options.exact || (fits && viewer.options.pace.is_none());
        viewer.mode = if gets_bytes { Mode::Live } else { Mode::Composed };
        viewer.send_notice(Notice::Resized { stream: viewer.stream, size: self.size, fits });
    }

    /// Repaints the whole screen. What a live viewer has not been sent is left out and reported as a gap.
    pub(super) fn repaint(&self, viewer: &mut Viewer, now: Instant) {
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
        if viewer.mode == Mode::Live && viewer.position.has_gap_before(live_from) {
            viewer.send_gap(live_from);
        }
        viewer.send_repaint(&drawing, self.seen, live_from);
        viewer.position.painted(now);
    }

    /// Asks for a repaint and sends it as soon as the viewer can accept it.
    pub(super) fn repaint_when_clear(&self, viewer: &mut Viewer, wanted: PendingRepaint, now: Instant) {
        viewer.request_repaint(wanted);
        self.send_pending_repaint(viewer, now);
    }

    /// Shows a viewer what is pending once it has accepted everything before it: a viewer that asks and does
    /// not read gets one repaint, however often it asks.
    fn send_pending_repaint(&self, viewer: &mut Viewer, now: Instant) {
        if !viewer.is_clear() || viewer.is_closing() {
            return;
        }
        match viewer.take_pending_repaint() {
            PendingRepaint::None => {}
            PendingRepaint::Screen if viewer.options.exact => {}
            PendingRepaint::SizeAndScreen if viewer.options.exact => self.show_size(viewer),
            PendingRepaint::Screen => self.repaint(viewer, now),
            PendingRepaint::SizeAndScreen => {
                self.show_size(viewer);
                self.repaint(viewer, now);
            }
        }
    }

    /// Sends a viewer what it has not seen, as far as its socket accepts it.
    pub(super) fn catch_up(&self, viewer: &mut Viewer, buffer: &mut [u8], now: Instant) -> Presence {
        loop {
            if viewer.flush() == Presence::Gone {
                return Presence::Gone;
            }
            if !viewer.is_clear() || viewer.is_closing() {
                return Presence::Here;
            }
            self.send_pending_repaint(viewer, now);
            let is_due = viewer.repaint_due().is_none_or(|due| due <= now);
            let is_sent = viewer.position.sent_to() >= self.seen;
            match viewer.mode {
                _ if !viewer.is_clear() => {}
                Mode::Composed if viewer.position.is_stale() && is_due => {
                    let out_of_band = viewer.out_of_band.take();
                    self.repaint_after(viewer, &out_of_band, now);
                }
                Mode::Live if !is_sent && !self.is_skimming(viewer, now) => {
                    self.send_next(viewer, buffer, now);
                }
                Mode::Live if is_sent && viewer.exit_due.is_some() => {
                    let Some(ended) = viewer.exit_due.take() else { return Presence::Here };
                    self.send_exit(viewer, ended);
                }
                Mode::Live if viewer.options.exact => return Presence::Here,
                // What came while it did not read was no flood yet, and is skimmed now: no further output may
                // come.
                Mode::Live if !viewer.position.shows(self.seen) && !viewer.position.is_stale() => {
                    viewer.position.mark_stale();
                }
                // Bytes of an unfinished sequence stay unsent after a repaint; only a stale viewer gets
                // another.
                Mode::Live if viewer.position.is_stale() && is_due => self.repaint(viewer, now),
                Mode::Live if is_sent => {
                    viewer.position.mark_current();
                    return Presence::Here;
                }
                Mode::Composed | Mode::Live => return Presence::Here,
            }
        }
    }

    fn send_next(&self, viewer: &mut Viewer, buffer: &mut [u8], now: Instant) {
        let behind = self.seen - viewer.position.sent_to();
        let most = usize::try_from(behind).unwrap_or(usize::MAX).min(buffer.len());
        let outcome = if viewer.is_far_behind(self.seen) {
            ReadOutcome::Missed { resume_at: self.seen }
        } else {
            self.handle.ring.read(viewer.position.sent_to(), &mut buffer[..most])
        };
        match outcome {
            ReadOutcome::Bytes(count) if count > 0 => viewer.send_output(&buffer[..count]),
            ReadOutcome::Missed { resume_at } if viewer.options.exact => viewer.skip_to(resume_at),
            ReadOutcome::Bytes(_) if viewer.options.exact => viewer.skip_to(self.seen),
            ReadOutcome::Bytes(_) | ReadOutcome::Missed { .. } => {
                viewer.position.outrun();
                self.repaint(viewer, now);
            }
        }
    }

    /// Sends new output at once to viewers that are up to date.
    pub(super) fn show_output(&self, viewer: &mut Viewer, before: u64, bytes: &[u8], now: Instant) {
        match viewer.mode {
            Mode::Live if self.is_skimming(viewer, now) => viewer.position.mark_stale(),
            Mode::Live => {
                let is_next = viewer.position.sent_to() == before;
                if is_next && viewer.is_clear() && !viewer.is_closing() {
                    viewer.send_output(bytes);
                }
            }
            Mode::Composed => {
                viewer.position.mark_stale();
                viewer.out_of_band.feed(bytes);
            }
        }
    }

    /// Returns true if a viewer gets repaints instead of bytes: the child has flooded so long that every byte
    /// would only be drawn to be scrolled away, or a flood has already cost this viewer some. More bytes
    /// would then be drawn between gaps, by the thread that has to read the flood.
    fn is_skimming(&self, viewer: &Viewer, now: Instant) -> bool {
        let is_outrun = viewer.position.is_outrun() && self.flood.is_on();
        !viewer.needs_every_byte() && (self.flood.has_lasted(now) || is_outrun)
    }

    /// Handles the end of the run: last bytes, then how it ended, then the end. Viewers of a run that is
    /// restarted wait for the next one.
    pub(super) fn report_exit(&self, viewer: &mut Viewer, ended: Ended, now: Instant) {
        if viewer.is_closing() {
            return;
        }
        if viewer.needs_every_byte() {
            viewer.exit_due = (!ended.restarts).then_some(ended);
            return;
        }
        if viewer.mode == Mode::Composed || viewer.position.sent_to() < self.seen {
            let out_of_band = viewer.out_of_band.take();
            self.repaint_after(viewer, &out_of_band, now);
        }
        if let Some(delay_ms) = ended.restarts_in_ms {
            self.draw_below(viewer, &restart_words(ended.exit, delay_ms));
        }
        if !ended.restarts {
            self.send_exit(viewer, ended);
        }
    }

    /// Sends how the run ended, and the end of the stream. What a program left on the alternate screen is
    /// drawn on the main one: the client would leave the alternate screen, and the last output with it.
    fn send_exit(&self, viewer: &mut Viewer, Ended { exit, final_offset, .. }: Ended) {
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
        viewer.send_repaint(line.as_bytes(), self.seen, viewer.position.sent_to());
    }

    /// The run is released, and a viewer that gets every byte has not read all of them: it gets a gap for the
    /// rest.
    pub(super) fn end_bytes(&self, viewer: &mut Viewer, buffer: &mut [u8], now: Instant) {
        if viewer.needs_every_byte() && self.catch_up(viewer, buffer, now) == Presence::Here {
            if viewer.position.sent_to() < self.seen {
                viewer.skip_to(self.seen);
            }
            if let Some(Ended { exit, final_offset, .. }) = viewer.exit_due.take() {
                viewer.send_notice(Notice::Exit { stream: viewer.stream, exit, offset: final_offset });
            }
        }
    }
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

//! `read` and `search`: text of a screen, of its history, of its log, within limits and with what they cut
//! off. Text is produced on threads that may block, under the screen's short lock.

mod pages;
mod scan;
mod styles;

use std::sync::Arc;
use std::time::Duration;

use engine::{Located, RunKey, Verb};
use proto::reply::{Match, Matches};
use proto::request::{Read, ReadMode, RunChoice, Search, Until, Wait};
use proto::{ErrorCode, Failure, Reply, RunNumber};
use term::Wraps;

use self::pages::Span;
use self::scan::Wanted;
use super::connection::Client;
use super::dispatch::locate;
use crate::line_pattern;
use crate::screens::{ReadableRun, ScreenHandle, newest_before, offset_of};

const DEFAULT_LIMIT: usize = 12_000;
const MAX_LIMIT: usize = 65_536;
/// The default for styled rows, in bytes of JSON.
const DEFAULT_STYLED: usize = 65_536;
const MAX_STYLED: usize = 1 << 20;
/// Bytes of the longest character: a smaller limit could not hold every one.
const MIN_LIMIT: usize = 4;
const DEFAULT_MATCHES: usize = 100;
const MAX_MATCHES: usize = 1_000;
/// How long a read waits for the screen to show what was printed before it.
const CATCH_UP: Duration = Duration::from_secs(5);

pub(super) async fn read(client: &Client, request: Read) -> Result<Reply, Failure> {
    let limit = read_limit(&request)?;
    let run = chosen(client, &locate(client, request.target, Verb::Read).await?, request.run).await?;
    let caught_up = catch_up(&*run).await;
    let wraps = if request.join { Wraps::Join } else { Wraps::Keep };
    let span = Span { since: request.since, until: request.until, limit };
    blocking(move || match request.mode {
        ReadMode::Screen if request.styles => styles::screen(&*run, caught_up, span),
        ReadMode::History if request.styles => styles::history(&*run, span),
        ReadMode::Screen => pages::screen(&*run, caught_up, wraps, limit),
        ReadMode::History => pages::history(&*run, span, wraps),
        ReadMode::Stream => pages::stream(&*run, span),
    })
    .await
    .map(Reply::Text)
}

/// Returns the limit of the reply; an error for options that exclude each other.
fn read_limit(request: &Read) -> Result<usize, Failure> {
    match request {
        Read { styles: false, .. } => bounded("limit", request.limit, MIN_LIMIT, DEFAULT_LIMIT, MAX_LIMIT),
        Read { mode: ReadMode::Stream, .. } => {
            Err(Failure::invalid("styles", "a log has no styles: read the screen or the history"))
        }
        Read { join: true, .. } => Err(Failure::invalid("join", "rows with styles are not joined")),
        _ => bounded("limit", request.limit, MIN_LIMIT, DEFAULT_STYLED, MAX_STYLED),
    }
}

pub(super) async fn search(client: &Client, request: Search) -> Result<Reply, Failure> {
    let limit = bounded("limit", request.limit, 1, DEFAULT_MATCHES, MAX_MATCHES)?;
    let bytes = bounded("bytes", request.bytes, 1, DEFAULT_LIMIT, MAX_LIMIT)?;
    let wanted = Wanted {
        regex: line_pattern::compile(&request.pattern)?,
        is_light: line_pattern::is_light(&request.pattern),
    };
    let handle = hosted(client, &locate(client, request.target, Verb::Read).await?)?;
    catch_up(&*handle).await;
    blocking(move || {
        let lines = {
            let screen = handle.screen();
            screen.lines(screen.written(), Wraps::Join)
        };
        // Outside the lock: a pattern may take long, and the screen's worker serves other runs too.
        let found = scan::search(lines, &wanted, limit, bytes)?;
        let matches = found.matches.into_iter().map(to_reply).collect();
        Ok(Reply::Matches(Matches { matches, truncated: found.is_cut }))
    })
    .await?
}

fn to_reply(found: term::TextMatch) -> Match {
    let term::TextMatch { line, start, end, text, skipped, is_cut } = found;
    Match { line: line.0, start, end, text, skipped: skipped as u64, cut: is_cut }
}

/// Clamps a request to its bounds: a larger one silently becomes the maximum, because the reply reports what
/// was cut off.
fn bounded(
    field: &str,
    request: Option<u32>,
    least: usize,
    default: usize,
    most: usize,
) -> Result<usize, Failure> {
    match request.map(|request| request as usize) {
        Some(request) if request < least => Err(Failure::invalid(field, format!("at least {least}"))),
        Some(request) => Ok(request.min(most)),
        None => Ok(default),
    }
}

/// Turns a wait from a version on into one from the version's offset, whichever daemon issued the version.
pub(super) async fn wait_since(client: &Client, mut request: Wait) -> Result<Wait, Failure> {
    let Some(version) = request.since_version.take() else { return Ok(request) };
    let field = "since_version";
    let [target] = request.targets.as_slice() else {
        return Err(Failure::invalid(field, "a version belongs to one screen: name one process"));
    };
    if request.since.is_some() {
        return Err(Failure::invalid(field, "give this or `since`, not both"));
    }
    if !matches!(request.until, Until::Pattern(_)) {
        return Err(Failure::invalid(field, "only a wait for a pattern can look at earlier output"));
    }
    let located = locate(client, target.clone(), Verb::Read).await?;
    let (offset, end) = (offset_of(version), hosted(client, &located)?.ring.end());
    if offset > end {
        let message = format!("{field}: no read of {} has returned version {version}", located.name);
        return Err(Failure::new(ErrorCode::NotFound, message)
            .hint("use the offset of that read instead: --since OFFSET"));
    }
    request.since = Some(offset);
    Ok(request)
}

/// Returns the run's data, unless it is gone with its holder.
pub(super) fn hosted(client: &Client, located: &Located) -> Result<Arc<ScreenHandle>, Failure> {
    client.door.screens.find(located.run).ok_or_else(|| {
        let message = format!("{} has no screen: its run is gone", located.name);
        Failure::new(ErrorCode::NotRunning, message).hint("qd restart starts it again")
    })
}

/// Returns the run that a reader has chosen: the present one, or the kept data of an earlier one.
pub(super) async fn chosen(
    client: &Client,
    located: &Located,
    choice: RunChoice,
) -> Result<Arc<dyn ReadableRun>, Failure> {
    let (process, present) = (located.run.process, located.run.run);
    let screens = &client.door.screens;
    let find = |run: u32| screens.find(RunKey { process, run: RunNumber(run) });
    let kept = screens.kept().runs(process);
    let wanted = match choice {
        RunChoice::Present => Some(present.0),
        RunChoice::Number(number) => Some(number),
        RunChoice::Previous => {
            // A run that is being stored at this moment is still hosted.
            let hosted = present.0.checked_sub(1).filter(|run| find(*run).is_some());
            newest_before(present, &kept, hosted)
        }
    };
    let Some(wanted) = wanted else { return Err(not_kept(located, "an earlier run", &kept)) };
    if wanted == present.0 {
        return hosted(client, located).map(|handle| handle as Arc<dyn ReadableRun>);
    }
    if let Some(handle) = find(wanted) {
        return Ok(handle);
    }
    let (runs, key) = (Arc::clone(screens.kept()), RunKey { process, run: RunNumber(wanted) });
    let read = blocking(move || runs.read(key)).await?;
    let run = read.ok_or_else(|| not_kept(located, &format!("run {wanted}"), &kept))?;
    Ok(Arc::new(run))
}

fn not_kept(located: &Located, what: &str, kept: &[u32]) -> Failure {
    let message = format!("{what} of {} is not kept", located.name);
    let runs: Vec<String> = kept.iter().map(u32::to_string).collect();
    let hint = match runs.as_slice() {
        [] => format!("only the present run, {}, can be read", located.run.run),
        [run] => format!("run {run} and the present run, {}, can be read", located.run.run),
        runs => format!("runs {} and the present run, {}, can be read", runs.join(", "), located.run.run),
    };
    Failure::new(ErrorCode::NotFound, message).hint(hint)
}

/// Waits until everything that was printed before this call is on the screen, as after a restart during a
/// replay; returns the offset that it shows.
pub(super) async fn catch_up(run: &dyn ReadableRun) -> u64 {
    let end = run.log().end();
    let mut progress = run.progress().subscribe();
    let caught_up = progress.wait_for(|progress| progress.seen >= end || progress.is_over);
    // On an overloaded machine the present screen is returned; the offset shows how far it is.
    let is_late = tokio::time::timeout(CATCH_UP, caught_up).await.is_err();
    if is_late { run.progress().borrow().seen.min(end) } else { end }
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Failure> {
    crate::threads::run(work)
        .await
        .map_err(|error| Failure::new(ErrorCode::Internal, format!("reading failed: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_kept_within_what_there_may_be() {
        let limit = |request| bounded("limit", request, MIN_LIMIT, DEFAULT_LIMIT, MAX_LIMIT);
        assert_eq!((limit(None), limit(Some(4)), limit(Some(u32::MAX))), (Ok(12_000), Ok(4), Ok(65_536)));
        for low in [0, 3] {
            assert_eq!(limit(Some(low)).unwrap_err().message, "limit: at least 4");
        }
    }
}

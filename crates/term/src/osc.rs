//! Executes operating system commands: titles, directories, links, notifications, colours, clipboard, prompt
//! marks, program status. Answers consist of constants and numbers only. Unknown commands are dropped.

use crate::base64;
use crate::colors::{BACKGROUND, CURSOR, FOREGROUND, Rgb};
use crate::engine::Engine;
use crate::fact::{ClipboardTarget, Fact, NotificationSource, Progress, PromptMark, printable};
use crate::reply;
use crate::status::StatusReport;

/// Longest text of a notification.
const NOTIFICATION_MAX: usize = 4096;
/// Longest path.
const PATH_MAX: usize = 4096;
/// Longest target of a hyperlink.
const LINK_MAX: usize = 2048;
/// Longest id of a hyperlink.
const LINK_ID_MAX: usize = 64;
/// The most colour queries that are answered per command.
const COLORS_MAX: usize = 256;

/// Executes one command. `terminator` is how it ended; answers end the same way.
pub(crate) fn dispatch(engine: &mut Engine, payload: &[u8], terminator: &'static str) {
    let (code, rest) = split(payload, b';');
    match code {
        b"0" | b"2" => engine.outbox().set_title(&String::from_utf8_lossy(rest)),
        b"4" => palette(engine, rest, terminator),
        b"7" => working_directory(engine, rest),
        b"8" => hyperlink(engine, rest),
        b"9" => osc_nine(engine, rest),
        b"10" => dynamic(engine, 10, rest, terminator),
        b"11" => dynamic(engine, 11, rest, terminator),
        b"12" => dynamic(engine, 12, rest, terminator),
        b"52" => clipboard(engine, rest),
        b"99" => kitty_notification(engine, rest),
        b"104" => reset_palette(engine, rest),
        b"110" => engine.outbox().colors.reset(Some(FOREGROUND)),
        b"111" => engine.outbox().colors.reset(Some(BACKGROUND)),
        b"112" => engine.outbox().colors.reset(Some(CURSOR)),
        b"133" => prompt_mark(engine, rest),
        b"777" => urxvt_notification(engine, rest),
        b"7501" => program_status(engine, rest),
        _ => {}
    }
}

/// Returns the part before the first `separator` and the part after it.
fn split(bytes: &[u8], separator: u8) -> (&[u8], &[u8]) {
    match memchr::memchr(separator, bytes) {
        Some(at) => (&bytes[..at], &bytes[at + 1..]),
        None => (bytes, &[]),
    }
}

fn text(bytes: &[u8], max: usize) -> String {
    printable(&String::from_utf8_lossy(bytes), max)
}

fn decimal<T: std::str::FromStr>(bytes: &[u8]) -> Option<T> {
    let digits = !bytes.is_empty() && bytes.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(bytes).ok().filter(|_| digits)?.parse().ok()
}

/// OSC 4: pairs of an index and a colour or a query.
fn palette(engine: &mut Engine, rest: &[u8], terminator: &str) {
    let fields: Vec<&[u8]> = rest.split(|&byte| byte == b';').take(2 * COLORS_MAX).collect();
    for pair in fields.chunks_exact(2) {
        if let Some(index) = decimal::<u16>(pair[0]).filter(|&index| index < FOREGROUND) {
            color(engine, index, pair[1], &format!("4;{index}"), terminator);
        }
    }
}

/// `OSC 10 ; … ; …` is about 10 and 11.
fn dynamic(engine: &mut Engine, first: u16, rest: &[u8], terminator: &str) {
    let codes = [(10, FOREGROUND), (11, BACKGROUND), (12, CURSOR)];
    let meant = codes.into_iter().skip_while(|(code, _)| *code != first);
    for (field, (code, index)) in rest.split(|&byte| byte == b';').zip(meant) {
        color(engine, index, field, &code.to_string(), terminator);
    }
}

/// Sets one colour or answers a query for it. An unknown colour gets no answer.
fn color(engine: &mut Engine, index: u16, field: &[u8], name: &str, terminator: &str) {
    let outbox = engine.outbox();
    if field == b"?" {
        if let Some(color) = outbox.colors.get(index) {
            outbox.replies.push(format!("\x1b]{name};{}{terminator}", color.spec()));
        }
    } else if let Some(color) = Rgb::parse(field) {
        outbox.colors.set.set(index, color);
    }
}

fn reset_palette(engine: &mut Engine, rest: &[u8]) {
    if rest.is_empty() {
        return engine.outbox().colors.reset(None);
    }
    for index in rest.split(|&byte| byte == b';').take(COLORS_MAX).filter_map(decimal::<u16>) {
        if index < FOREGROUND {
            engine.outbox().colors.reset(Some(index));
        }
    }
}

fn working_directory(engine: &mut Engine, rest: &[u8]) {
    let address = String::from_utf8_lossy(rest);
    let encoded = address.strip_prefix("file://").map(|rest| (rest, true));
    let verbatim = address.strip_prefix("kitty-shell-cwd://").map(|rest| (rest, false));
    let Some((location, is_encoded)) = encoded.or(verbatim) else { return };
    let Some(start) = location.find('/') else { return };
    let path = match is_encoded {
        true => percent_decoded(&location[start..]),
        false => Some(location[start..].to_owned()),
    };
    report_directory(engine, path);
}

/// Records the child's directory. Control characters make a path unusable, so such a report is dropped rather
/// than cleaned.
fn report_directory(engine: &mut Engine, path: Option<String>) {
    let Some(path) = path else { return };
    if !path.is_empty() && path.len() <= PATH_MAX && !path.chars().any(char::is_control) {
        engine.outbox().facts.push(Fact::WorkingDirectory(path));
    }
}

fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let (value, after) = match (byte, after) {
            (b'%', [high, low, after @ ..]) => (hex(*high)? << 4 | hex(*low)?, after),
            (b'%', _) => return None,
            _ => (byte, after),
        };
        bytes.push(value);
        rest = after;
    }
    String::from_utf8(bytes).ok()
}

pub(crate) fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

/// Opens or closes a hyperlink. Only http and https targets count, because people click on links.
fn hyperlink(engine: &mut Engine, rest: &[u8]) {
    let (parameters, target) = split(rest, b';');
    let id = parameters
        .split(|&byte| byte == b':')
        .find_map(|field| field.strip_prefix(b"id="))
        .and_then(|id| std::str::from_utf8(id).ok())
        .filter(|id| {
            id.len() <= LINK_ID_MAX
                && id
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_' || byte == b'.')
        })
        .unwrap_or_default();
    let target = std::str::from_utf8(target).ok().filter(|target| is_link(target));
    engine.set_link(target.map(|target| (id, target)));
}

/// Returns true if a hyperlink target is one that we store and paint.
pub(crate) fn is_link(target: &str) -> bool {
    (target.starts_with("http://") || target.starts_with("https://"))
        && target.len() <= LINK_MAX
        && target.bytes().all(|byte| byte.is_ascii_graphic())
}

fn osc_nine(engine: &mut Engine, rest: &[u8]) {
    let (kind, argument) = split(rest, b';');
    match kind {
        b"4" => progress(engine, argument),
        b"9" => {
            let path = text(argument, PATH_MAX);
            report_directory(engine, Some(path.trim_matches('"').to_owned()));
        }
        // Other numbers are commands of one vendor's console, not messages.
        _ if kind.len() <= 2 && kind.iter().all(u8::is_ascii_digit) && rest.contains(&b';') => {}
        _ => notify(engine, NotificationSource::Osc9, String::new(), text(rest, NOTIFICATION_MAX)),
    }
}

fn progress(engine: &mut Engine, argument: &[u8]) {
    let (state, percent) = split(argument, b';');
    let state = match state {
        b"0" => Progress::None,
        b"1" => Progress::Running,
        b"2" => Progress::Error,
        b"3" => Progress::Indeterminate,
        b"4" => Progress::Paused,
        _ => return,
    };
    let percent = decimal::<u32>(percent).map(|percent| percent.min(100) as u8);
    engine.outbox().facts.push(Fact::Progress { state, percent });
}

fn notify(engine: &mut Engine, source: NotificationSource, title: String, body: String) {
    if !title.is_empty() || !body.is_empty() {
        engine.outbox().facts.push(Fact::Notification { source, title, body });
    }
}

fn urxvt_notification(engine: &mut Engine, rest: &[u8]) {
    let (kind, message) = split(rest, b';');
    if kind == b"notify" {
        let (title, body) = split(message, b';');
        notify(
            engine,
            NotificationSource::Osc777,
            text(title, NOTIFICATION_MAX),
            text(body, NOTIFICATION_MAX),
        );
    }
}

/// Records each part of a chunked notification as a fact of its own, without assembling them.
fn kitty_notification(engine: &mut Engine, rest: &[u8]) {
    let (metadata, payload) = split(rest, b';');
    let value = |key: &[u8]| {
        metadata
            .split(|&byte| byte == b':')
            .map(|field| split(field, b'='))
            .find_map(|(name, value)| (name == key).then_some(value))
    };
    let decoded = match value(b"e") {
        Some(b"1") => base64::decode(payload),
        _ => Some(payload.to_vec()),
    };
    let Some(decoded) = decoded else { return };
    let message = text(&decoded, NOTIFICATION_MAX);
    match value(b"p") {
        None | Some(b"title") => notify(engine, NotificationSource::Osc99, message, String::new()),
        Some(b"body") => notify(engine, NotificationSource::Osc99, String::new(), message),
        Some(_) => {}
    }
}

/// Records a write to the clipboard. Reads (`?`) are never answered: the child must not see the clipboard.
fn clipboard(engine: &mut Engine, rest: &[u8]) {
    let (targets, payload) = split(rest, b';');
    if payload == b"?" {
        return;
    }
    let target = match targets.first() {
        None | Some(b'c') => ClipboardTarget::Clipboard,
        Some(b'p' | b's') => ClipboardTarget::Selection,
        Some(_) => return,
    };
    if let Some(data) = base64::decode(payload) {
        engine.outbox().facts.push(Fact::Clipboard { target, data });
    }
}

fn prompt_mark(engine: &mut Engine, rest: &[u8]) {
    let (kind, arguments) = split(rest, b';');
    let mark = match kind {
        b"A" => PromptMark::PromptStart,
        b"B" => PromptMark::InputStart,
        b"C" => PromptMark::OutputStart,
        b"D" => {
            let (exit, _) = split(arguments, b';');
            let exit = std::str::from_utf8(exit).ok().and_then(|exit| exit.parse().ok());
            PromptMark::CommandEnd { exit }
        }
        _ => return,
    };
    if mark == PromptMark::PromptStart {
        engine.outbox().status.keep_final();
        engine.mark_prompt();
    }
    engine.outbox().facts.push(Fact::PromptMark(mark));
}

fn program_status(engine: &mut Engine, rest: &[u8]) {
    if rest == b"?" {
        engine.outbox().replies.push(reply::PROGRAM_STATUS_SUPPORTED);
    } else if let Some(report) = StatusReport::parse(rest) {
        engine.outbox().status.apply(&report);
        engine.outbox().facts.push(Fact::ProgramStatus(report));
    }
}

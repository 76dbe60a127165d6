//! Executes device control strings: queries about capabilities (XTGETTCAP) and settings (DECRQSS). Names in
//! queries are looked up, never echoed. The query for image support gets no answer, because programs take any
//! answer as yes.

use crate::engine::Engine;
use crate::modes::CursorShape;
use crate::osc::hex;
use crate::pen;

/// The capabilities that a program may query (XTGETTCAP). An empty value is a boolean capability that is on.
const CAPABILITIES: [(&str, &str); 24] = [
    ("TN", "xterm-256color"),
    ("name", "xterm-256color"),
    ("Co", "256"),
    ("colors", "256"),
    ("RGB", "8/8/8"),
    ("Tc", ""),
    ("Su", ""),
    ("XT", ""),
    ("am", ""),
    ("bce", ""),
    ("xenl", ""),
    ("Smulx", "\x1b[4:%p1%dm"),
    ("Ss", "\x1b[%p1%d q"),
    ("Se", "\x1b[0 q"),
    ("indn", "\x1b[%p1%dS"),
    ("Ms", "\x1b]52;%p1%s;%p2%s\x07"),
    ("smcup", "\x1b[?1049h"),
    ("rmcup", "\x1b[?1049l"),
    ("kcuu1", "\x1bOA"),
    ("kcud1", "\x1bOB"),
    ("kcuf1", "\x1bOC"),
    ("kcub1", "\x1bOD"),
    ("khome", "\x1bOH"),
    ("kend", "\x1bOF"),
];

/// The most names that are looked up per query.
const NAMES_MAX: usize = 64;
const CAPABILITY_UNKNOWN: &[u8] = b"\x1bP0+r\x1b\\";
const SETTING_UNKNOWN: &[u8] = b"\x1bP0$r\x1b\\";

/// Executes one device control string. Everything not listed here, sixel images included, is dropped.
pub(crate) fn dispatch(engine: &mut Engine, payload: &[u8]) {
    match payload {
        [b'+', b'q', names @ ..] => answer_capabilities(engine, names),
        [b'$', b'q', setting @ ..] => answer_setting(engine, setting),
        b"=1s" => engine.set_synchronizing(true),
        b"=2s" => engine.set_synchronizing(false),
        _ => {}
    }
}

fn answer_capabilities(engine: &mut Engine, names: &[u8]) {
    for name in names.split(|&byte| byte == b';').take(NAMES_MAX) {
        let found =
            decode_hex(name).and_then(|name| CAPABILITIES.iter().find(|(known, _)| known.as_bytes() == name));
        match found {
            None => engine.outbox().replies.push(CAPABILITY_UNKNOWN),
            Some((name, "")) => {
                engine.outbox().replies.push(format!("\x1bP1+r{}\x1b\\", encode_hex(name)));
            }
            Some((name, value)) => {
                let answer = format!("\x1bP1+r{}={}\x1b\\", encode_hex(name), encode_hex(value));
                engine.outbox().replies.push(answer);
            }
        }
    }
}

/// Answers DECRQSS for the pen, the scroll region and the cursor form; nothing else.
fn answer_setting(engine: &mut Engine, setting: &[u8]) {
    let mut answer = b"\x1bP1$r".to_vec();
    match setting {
        b"m" => {
            pen::write_report(&mut answer, &engine.visible().pen().style);
            answer.push(b'm');
        }
        b"r" => {
            let (top, bottom) = engine.registers().region;
            pen::put(&mut answer, format_args!("{};{bottom}r", top + 1));
        }
        b" q" => pen::put(&mut answer, format_args!("{} q", cursor_number(engine))),
        _ => return engine.outbox().replies.push(SETTING_UNKNOWN),
    }
    answer.extend_from_slice(b"\x1b\\");
    engine.outbox().replies.push(answer);
}

/// Returns the DECSCUSR number of the current cursor; zero for the terminal's own form.
fn cursor_number(engine: &Engine) -> u8 {
    let cursor = engine.cursor();
    if cursor.is_chosen { cursor_style(cursor.shape, cursor.blinking) } else { 0 }
}

/// Returns the DECSCUSR number for a form.
pub(crate) fn cursor_style(shape: CursorShape, blinking: bool) -> u8 {
    let steady = match shape {
        CursorShape::Block => 2,
        CursorShape::Underline => 4,
        CursorShape::Bar => 6,
    };
    steady - u8::from(blinking)
}

fn decode_hex(digits: &[u8]) -> Option<Vec<u8>> {
    if digits.is_empty() || !digits.len().is_multiple_of(2) {
        return None;
    }
    digits.chunks_exact(2).map(|pair| Some(hex(pair[0])? << 4 | hex(pair[1])?)).collect()
}

fn encode_hex(text: &str) -> String {
    text.bytes().map(|byte| format!("{byte:02X}")).collect()
}

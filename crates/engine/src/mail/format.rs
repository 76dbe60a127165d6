//! The text of a message as its agent reads it: a head that names the sender and a mark before each line of the body, so
//! that no body, label or name can pass for another sender's head. A person's text stays as it is.

use proto::printable::is_hidden;

use crate::mail::{MailRecord, Sender, SenderRelation};

/// What stands before each line of a body that no person wrote.
pub(crate) const MARK: &str = "│ ";

/// The text that is typed or handed over. `nonce` is known to the receiving run and to Quarterdeck only.
pub(crate) fn write(mail: &MailRecord, nonce: &str) -> String {
    let Some(tag) = tag(mail) else { return mail.text.clone() };
    let mut text = format!("[{tag} {nonce}]");
    for line in body_lines(&mail.text) {
        text.push('\n');
        text.push_str(MARK);
        text.push_str(&line);
    }
    text
}

/// Returns the sender that the head names; none for a person, whose text has no head.
fn tag(mail: &MailRecord) -> Option<String> {
    let name = mail.from_name.as_ref().map_or("unknown", |name| name.as_str());
    match &mail.sender {
        Sender::System { tag } => Some(plain(tag)),
        Sender::Process(SenderRelation::Orchestrator) => Some(format!("orchestrator {name}")),
        Sender::Process(SenderRelation::SubAgent) => Some(format!("sub-agent:{name}")),
        Sender::Process(SenderRelation::Peer) => Some(format!("peer:{name}")),
        // A record of an older daemon: the process that it names was no person.
        Sender::Person if mail.from.is_some() => Some(format!("peer:{name}")),
        Sender::Person => None,
    }
}

/// A text as a part of a head: one line, nothing hidden, nothing that ends the head.
fn plain(text: &str) -> String {
    let plain = |c| match visible(c) {
        '[' => '(',
        ']' => ')',
        '\t' => ' ',
        c if is_break(c) => '\u{fffd}',
        c => c,
    };
    text.chars().map(plain).collect()
}

/// The lines of a body, whatever separates them. Only what acts on a terminal is replaced: joiners and marks of direction
/// belong to the text of many languages, and the mark before each line keeps them from forging a head.
fn body_lines(text: &str) -> Vec<String> {
    let text = text.replace("\r\n", "\n");
    let harmless = |c: char| if c.is_control() && c != '\t' { '\u{fffd}' } else { c };
    text.split(is_break).map(|line| line.chars().map(harmless).collect()).collect()
}

/// The lines of a text, whatever separates them; control characters and marks of direction are shown, not sent.
pub(crate) fn lines(text: &str) -> Vec<String> {
    let text = text.replace("\r\n", "\n");
    text.split(is_break).map(|line| line.chars().map(visible).collect()).collect()
}

/// Returns true if a character begins a new line somewhere.
fn is_break(c: char) -> bool {
    matches!(c, '\n' | '\u{b}' | '\u{c}' | '\r' | '\u{1c}'..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

fn visible(c: char) -> char {
    match c {
        '\t' => '\t',
        c if c.is_control() || is_hidden(c) => '\u{fffd}',
        c => c,
    }
}

//! Draws a QR code with half blocks, for a phone's camera.

use qrcodegen::{QrCode, QrCodeEcc};

/// Blank modules around a code, as cameras expect them.
const QUIET: i32 = 2;

/// Returns the lines of a code, two rows of modules in each; none if the text is too long for one. It is drawn dark on
/// light whatever colours the terminal has.
#[must_use]
pub fn qr_lines(text: &str) -> Option<Vec<String>> {
    let code = QrCode::encode_text(text, QrCodeEcc::Low).ok()?;
    let end = code.size() + QUIET;
    let line = |top: i32| {
        let module = |column: i32| match (code.get_module(column, top), code.get_module(column, top + 1)) {
            (true, true) => '\u{2588}',
            (true, false) => '\u{2580}',
            (false, true) => '\u{2584}',
            (false, false) => ' ',
        };
        let modules: String = (-QUIET..end).map(module).collect();
        format!("\u{1b}[30;107m{modules}\u{1b}[0m")
    };
    Some((-QUIET..end).step_by(2).map(line).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_as_wide_as_it_is_high() {
        let lines = qr_lines("https://desk.example/#c=K7QM2XPD").unwrap();
        let width =
            lines[0].chars().filter(|character| " \u{2588}\u{2580}\u{2584}".contains(*character)).count();
        assert_eq!(width.div_ceil(2), lines.len(), "{lines:?}");
        assert!(qr_lines(&"x".repeat(10_000)).is_none());
    }
}

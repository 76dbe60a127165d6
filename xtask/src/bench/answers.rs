//! What a terminal answers when it is asked for its status and for its kind. The bench interprets nothing else.

/// Questions and their answers.
const ANSWERS: [(&[u8], &[u8]); 2] = [(b"\x1b[5n", b"\x1b[0n"), (b"\x1b[c", b"\x1b[?62;4c")];

/// Finds questions in output that comes in pieces.
#[derive(Debug, Default)]
pub(crate) struct Answers {
    /// What may be the beginning of a question.
    tail: Vec<u8>,
}

impl Answers {
    /// Returns the answers to the questions that end in this piece.
    pub(crate) fn to(&mut self, piece: &[u8]) -> Vec<u8> {
        self.tail.extend_from_slice(piece);
        let mut answers = Vec::new();
        let mut done = 0;
        for start in 0..self.tail.len() {
            let asked = ANSWERS.iter().find(|(question, _)| self.tail[start..].starts_with(question));
            if let Some((question, answer)) = asked {
                answers.extend_from_slice(answer);
                done = start + question.len();
            }
        }
        let longest = ANSWERS.iter().map(|(question, _)| question.len()).max().unwrap_or(1);
        self.tail.drain(..done.max(self.tail.len().saturating_sub(longest - 1)));
        answers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_answered_once_wherever_it_is_cut() {
        let asked = b"text\x1b[5n\x1b[?2026hmore\x1b[c";
        for cut in 0..asked.len() {
            let mut answers = Answers::default();
            let both = [answers.to(&asked[..cut]), answers.to(&asked[cut..]), answers.to(b"n c")].concat();
            assert_eq!(both, b"\x1b[0n\x1b[?62;4c", "{cut}");
        }
    }
}

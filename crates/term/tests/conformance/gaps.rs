//! Cases that the screen does not meet, each with what it shows instead. The design note on what the screen
//! understands has the reasons.

pub(crate) const NOT_UNDERSTOOD: &[(&str, &str)] = &[
    // Kept on purpose.
    ("erasing right takes the last column", "0123456789 @1;10 waits"),
    // Hidden and protected content is not kept.
    ("47 shows what was there", " @1;6"),
    ("decsca protects from decsel", " @1;7"),
    ("decsca protects from decsed", " @1;7"),
    // Modes and sets that no program we know asks for.
    ("reverse wrap goes to the row above", "0123456789|x @2;2"),
    ("the british set has a pound sign", "# @1;2"),
    // Above the level we report.
    ("left and right margins", "  abcd @1;7"),
    ("sl moves columns left", "abcde|fghij|klmno|pqrst|uvwxy @1;1"),
    ("sr moves columns right", "abcde|fghij|klmno|pqrst|uvwxy @1;1"),
    ("decic inserts columns", "abcde|fghij|klmno|pqrst|uvwxy @1;3"),
    ("decdc deletes columns", "abcde|fghij|klmno|pqrst|uvwxy @1;3"),
    ("decera erases a rectangle", "abcde|fghij|klmno|pqrst|uvwxy @5;6"),
    ("decfra fills a rectangle", "abcde|fghij|klmno|pqrst|uvwxy @5;6"),
    ("deccra copies a rectangle", "abcde|fghij|klmno|pqrst|uvwxy @5;6"),
];

//! Cases the screen does not meet, each with what is seen instead. The reasons are in the design note on what the
//! screen understands.

pub(crate) const NOT_UNDERSTOOD: &[(&str, &str)] = &[
    // Kept on purpose.
    ("erasing right takes the last column", "0123456789 @1;10 waits"),
    // Nothing of what is hidden or protected is kept.
    ("47 shows what was there", " @1;6"),
    ("decsca protects from decsel", " @1;7"),
    ("decsca protects from decsed", " @1;7"),
    // Modes and sets nobody here asks for.
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

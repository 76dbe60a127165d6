//! What Quarterdeck itself tells a process: a child ended, a quota was hit, a timer was cancelled.
//!
//! Owns when such a notice is due. Refuses repeating what the process has asked to be told anyway.

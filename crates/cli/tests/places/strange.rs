//! Places that are strange, and work all the same or are told in one clear sentence.

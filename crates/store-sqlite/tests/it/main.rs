//! The conformance suite on a file, and what only a file can do: survive.

mod conformance;

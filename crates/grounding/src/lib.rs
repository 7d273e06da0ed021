//! Citations: markers in a text, held against the bytes of the evidence that they name.
//!
//! The one piece of code behind the `citations` check of a live run and the audit of a recorded
//! trace. No I/O, no clock. Grounding says that a text quotes what it names, not that it is true.

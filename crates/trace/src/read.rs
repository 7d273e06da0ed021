//! From a line to an event: shapes, and what breaks them.

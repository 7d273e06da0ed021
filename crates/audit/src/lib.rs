//! What can be proved of a record from its bytes alone: episodes and drift.

//! Behaviour of the trace auditor through its public face.

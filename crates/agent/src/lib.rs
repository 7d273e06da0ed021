//! Typed agents whose output is verified before it counts.

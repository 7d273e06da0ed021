//! The workspace as facts: paths, snapshots, changes, the sealed judge, trust.

mod snapshot;

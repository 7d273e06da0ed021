//! Writes sample runs that the auditor accepts.

//! Starlark verifiers and the worker process they run in.

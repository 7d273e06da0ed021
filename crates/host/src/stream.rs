//! Events as they happen: each one is put into words once, whoever reads.

mod feed;
mod frame;
mod log;
mod mode;
mod sse;

pub(crate) use feed::Feeds;
pub(crate) use log::{LogTold, log_response};
pub(crate) use mode::Modes;
pub(crate) use sse::{Told, response};

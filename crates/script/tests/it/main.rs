//! Scripts through the public face: in a worker, and in the process.

mod examples;
mod faults;
mod globals;
mod hostile;
mod pool;
mod returns;
mod seeds;
mod support;

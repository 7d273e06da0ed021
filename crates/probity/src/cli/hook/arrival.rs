//! An event on its way in: read whole, within a time.

use std::io;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

/// Bytes that are read at once.
const PIECE_BYTES: usize = 8 * 1024;

/// Reads everything that arrives until the other side closes, if it is not more than so many bytes and
/// does not take longer than that.
///
/// # Errors
/// What reading comes to; [`io::ErrorKind::FileTooLarge`], [`io::ErrorKind::TimedOut`].
pub(super) fn read_within(
    from: &impl AsFd,
    max_bytes: usize,
    patience: Duration,
) -> io::Result<Vec<u8>> {
    let started = Instant::now();
    let mut bytes = Vec::new();
    let mut piece = [0; PIECE_BYTES];
    loop {
        match ready(from, patience.saturating_sub(started.elapsed())) {
            Ok(true) => {}
            Ok(false) => {
                return Err(io::Error::new(io::ErrorKind::TimedOut, "it did not arrive whole"));
            }
            Err(Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
        }
        match rustix::io::read(from, &mut piece) {
            Ok(0) => return Ok(bytes),
            Ok(read) => bytes.extend(piece.iter().take(read)),
            Err(Errno::INTR | Errno::AGAIN) => {}
            Err(error) => return Err(error.into()),
        }
        if bytes.len() > max_bytes {
            let message = format!("it is larger than {max_bytes} bytes");
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
        }
    }
}

/// Whether there is something to read within that time.
fn ready(from: &impl AsFd, within: Duration) -> Result<bool, Errno> {
    let within = Timespec {
        tv_sec: i64::try_from(within.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: within.subsec_nanos().into(),
    };
    let mut fds = [PollFd::new(from, PollFlags::IN)];
    Ok(poll(&mut fds, Some(&within))? > 0)
}

//! What parent and worker say to each other: JSON behind a four-byte little-endian length.

use std::io::{self, Read, Write};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

use crate::fault::FaultFrame;
use crate::host::{HostAnswer, HostCall};
use crate::interpreter::{Report, Source};
use crate::limits::Limits;
use crate::session::Input;

/// The largest frame, in bytes: a claim with its tool results, or a script's source.
pub(crate) const MAX_FRAME_BYTES: usize = 64 << 20;

/// From the parent.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "frame", rename_all = "snake_case")]
pub(crate) enum ToWorker {
    /// First frame: the worker bounds itself before it reads on.
    Hello { memory_bytes: u64 },
    /// Load this under this key.
    Load { key: String, source: Source, limits: Limits },
    /// Call what is loaded under the key. `left_ms` are left of the check's time.
    Call { key: String, input: Box<Input>, limits: Limits, left_ms: u64 },
    /// The answer to `Ask`.
    Answer { answer: HostAnswer },
}

/// From the worker.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "frame", rename_all = "snake_case")]
pub(crate) enum FromWorker {
    /// Nothing is loaded under that key.
    Missing,
    /// `Load` is done.
    Loaded { result: Result<(), FaultFrame> },
    /// The script asks the host and waits, no longer than `within_ms` where that is given.
    Ask {
        call: HostCall,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        within_ms: Option<u64>,
    },
    /// `Call` is done.
    Done { report: Box<Report> },
}

/// The frame's bytes, length included.
pub(crate) fn encode(frame: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; 4];
    serde_json::to_writer(&mut bytes, frame)?;
    let length = bytes.len() - 4;
    let prefix = u32::try_from(length).ok().filter(|_| length <= MAX_FRAME_BYTES);
    let prefix = prefix.ok_or_else(|| too_large(length))?.to_le_bytes();
    bytes.iter_mut().zip(prefix).for_each(|(byte, length)| *byte = length);
    Ok(bytes)
}

fn length(prefix: [u8; 4]) -> io::Result<usize> {
    let length = usize::try_from(u32::from_le_bytes(prefix)).unwrap_or(usize::MAX);
    if length <= MAX_FRAME_BYTES { Ok(length) } else { Err(too_large(length)) }
}

fn too_large(length: usize) -> io::Error {
    let message = format!("a frame of {length} bytes, the limit is {MAX_FRAME_BYTES}");
    io::Error::new(io::ErrorKind::InvalidData, message)
}

fn decode<T: DeserializeOwned>(bytes: &[u8]) -> io::Result<T> {
    serde_json::from_slice(bytes).map_err(io::Error::from)
}

/// Reads one frame; `None` at the end of the stream.
pub(crate) fn read_blocking<T: DeserializeOwned>(from: &mut impl Read) -> io::Result<Option<T>> {
    let mut prefix = [0; 4];
    match from.read_exact(&mut prefix) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        Err(error) => return Err(error),
    }
    let mut bytes = vec![0; length(prefix)?];
    from.read_exact(&mut bytes)?;
    decode(&bytes).map(Some)
}

/// Writes one frame.
pub(crate) fn write_blocking(to: &mut impl Write, frame: &impl Serialize) -> io::Result<()> {
    to.write_all(&encode(frame)?)?;
    to.flush()
}

/// Reads one frame; the end of the stream is an error.
pub(crate) async fn read<T: DeserializeOwned>(
    from: &mut (impl AsyncRead + Unpin),
) -> io::Result<T> {
    let mut prefix = [0; 4];
    from.read_exact(&mut prefix).await?;
    let mut bytes = vec![0; length(prefix)?];
    from.read_exact(&mut bytes).await?;
    decode(&bytes)
}

/// Writes a frame made by [`encode`].
pub(crate) async fn write(to: &mut (impl AsyncWrite + Unpin), bytes: &[u8]) -> io::Result<()> {
    to.write_all(bytes).await?;
    to.flush().await
}

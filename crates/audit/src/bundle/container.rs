//! The container: a plain ustar in which every byte of a header follows from name and size.
//!
//! So a reader need not interpret a header: it writes the one that must stand there and compares.

use std::io::{self, Read, Write};

use probity_report::Place;

use super::rule::{self, Refusal};
use super::{MAX_ENTRY_BYTES, MAX_NAME_BYTES};

/// The unit of the container: headers are one block, content is filled up to whole ones.
pub(super) const BLOCK_BYTES: usize = 512;

/// The blocks of zeros behind the last entry.
const END_BLOCKS: usize = 2;

/// Fields of a header: where they begin and how long they are.
const SIZE_AT: (usize, usize) = (124, 12);
const TYPE_AT: usize = 156;
const MAGIC_AT: (usize, usize) = (257, 8);
const PREFIX_AT: (usize, usize) = (345, 155);

/// The header of an entry: a regular file, mode 0644, owner 0, time 0, no names of owners.
pub(super) fn header(name: &str, bytes: u64) -> Vec<u8> {
    let blank = spelled(name, bytes, "        ");
    let sum: u32 = blank.iter().map(|byte| u32::from(*byte)).sum();
    spelled(name, bytes, &format!("{sum:06o}\0 "))
}

fn spelled(name: &str, bytes: u64, checksum: &str) -> Vec<u8> {
    let size = format!("{bytes:011o}\0");
    let fields: [(&str, usize); 16] = [
        (name, MAX_NAME_BYTES),
        ("0000644\0", 8),
        ("0000000\0", 8),
        ("0000000\0", 8),
        (&size, 12),
        ("00000000000\0", 12),
        (checksum, 8),
        ("0", 1),
        ("", 100),
        ("ustar\x0000", 8),
        ("", 32),
        ("", 32),
        ("0000000\0", 8),
        ("0000000\0", 8),
        ("", 155),
        ("", 12),
    ];
    let mut block = Vec::with_capacity(BLOCK_BYTES);
    for (text, width) in fields {
        let end = block.len() + width;
        block.extend(text.bytes().take(width));
        block.resize(end, 0);
    }
    block
}

/// How many bytes fill an entry up to whole blocks.
fn padding(bytes: u64) -> u64 {
    let block = BLOCK_BYTES as u64;
    bytes.next_multiple_of(block) - bytes
}

/// Writes entries one behind the other.
pub(super) struct Packer<'w> {
    sink: &'w mut dyn Write,
    bytes: u64,
}

impl<'w> Packer<'w> {
    pub(super) fn new(sink: &'w mut dyn Write) -> Self {
        Self { sink, bytes: 0 }
    }

    pub(super) fn entry(&mut self, name: &str, content: &[u8]) -> io::Result<()> {
        let bytes = content.len() as u64;
        self.put(&header(name, bytes))?;
        self.put(content)?;
        let fill = usize::try_from(padding(bytes)).unwrap_or(0);
        self.put(&vec![0; fill])
    }

    /// Writes the end and says how many bytes the file has.
    pub(super) fn finish(mut self) -> io::Result<u64> {
        self.put(&[0; BLOCK_BYTES * END_BLOCKS])?;
        self.sink.flush()?;
        Ok(self.bytes)
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.bytes = self.bytes.saturating_add(bytes.len() as u64);
        self.sink.write_all(bytes)
    }
}

/// Reads entries that are known beforehand, and the first, of which only the name is.
pub(super) struct Unpacker<'r> {
    source: &'r mut dyn Read,
    at: u64,
}

impl<'r> Unpacker<'r> {
    pub(super) fn new(source: &'r mut dyn Read) -> Self {
        Self { source, at: 0 }
    }

    /// The entry that must stand at the beginning, of any size up to `max_bytes`.
    pub(super) fn first(&mut self, name: &str, max_bytes: u64) -> Result<Vec<u8>, Refusal> {
        let found = self.exact(BLOCK_BYTES as u64, name)?;
        let bytes = size_of(&found).unwrap_or(0);
        if header(name, bytes) != found {
            return Err(stray(&found, name, None, &|_| Standing::Unlisted));
        }
        if bytes > max_bytes {
            let message = format!("{bytes} bytes, at most {max_bytes} are read");
            return Err(Refusal::new(&rule::TOO_LARGE, Place::file(name), message));
        }
        self.content(name, bytes)
    }

    /// The next entry, of which everything is known. `standing` says of another name where it would
    /// belong.
    pub(super) fn next(
        &mut self,
        name: &str,
        bytes: u64,
        standing: &dyn Fn(&str) -> Standing,
    ) -> Result<Vec<u8>, Refusal> {
        let found = self.exact(BLOCK_BYTES as u64, name)?;
        if header(name, bytes) != found {
            return Err(stray(&found, name, Some(bytes), standing));
        }
        self.content(name, bytes)
    }

    /// The end: two blocks of zeros, and nothing behind them.
    pub(super) fn end(&mut self, standing: &dyn Fn(&str) -> Standing) -> Result<(), Refusal> {
        for _ in 0..END_BLOCKS {
            let found = self.exact(BLOCK_BYTES as u64, "")?;
            if found.iter().any(|byte| *byte != 0) {
                return Err(stray(&found, "", None, standing));
            }
        }
        let start = self.at;
        if self.read(1, "")?.is_empty() {
            return Ok(());
        }
        let place = Place::default().bytes(start, start.saturating_add(1));
        Err(Refusal::new(&rule::TRAILING, place, "bytes behind the end of the container"))
    }

    fn content(&mut self, name: &str, bytes: u64) -> Result<Vec<u8>, Refusal> {
        let content = self.exact(bytes, name)?;
        let start = self.at;
        let fill = self.exact(padding(bytes), name)?;
        if fill.iter().any(|byte| *byte != 0) {
            let place = Place::file(name).bytes(start, self.at);
            let message = "the bytes that fill up the last block are not zero";
            return Err(Refusal::new(&rule::HEADER, place, message));
        }
        Ok(content)
    }

    fn exact(&mut self, bytes: u64, name: &str) -> Result<Vec<u8>, Refusal> {
        let start = self.at;
        let found = self.read(bytes, name)?;
        if found.len() as u64 == bytes {
            return Ok(found);
        }
        let place = Place::file(name).bytes(start, self.at);
        let message = format!("{bytes} bytes must stand here, {} are left", found.len());
        Err(Refusal::new(&rule::TRUNCATED, place, message))
    }

    /// Up to so many bytes. Grows with what is there, not with what is claimed.
    fn read(&mut self, bytes: u64, name: &str) -> Result<Vec<u8>, Refusal> {
        let mut found = Vec::new();
        let read = (&mut *self.source).take(bytes).read_to_end(&mut found);
        self.at = self.at.saturating_add(found.len() as u64);
        match read {
            Ok(_) => Ok(found),
            Err(error) => {
                let place = Place::file(name).bytes(self.at, self.at);
                Err(Refusal::new(&rule::UNREADABLE, place, error.to_string()))
            }
        }
    }
}

/// Where an entry of some name stands in a bundle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// It was read already.
    Behind,
    /// It comes later.
    Ahead,
    /// There is none.
    Unlisted,
}

/// Why a header is not the one that must stand there. An empty `name` means the end.
fn stray(
    found: &[u8],
    name: &str,
    bytes: Option<u64>,
    standing: &dyn Fn(&str) -> Standing,
) -> Refusal {
    let shown = field(found, (0, MAX_NAME_BYTES));
    let refuse = |rule, message: String| Refusal::new(rule, Place::file(shown.as_str()), message);
    if found.iter().all(|byte| *byte == 0) {
        let message = format!("`{name}` must stand here, and the container ends");
        return Refusal::new(&rule::ENTRY_MISSING, Place::file(name), message);
    }
    if field(found, MAGIC_AT) != "ustar\x0000" || !field(found, PREFIX_AT).is_empty() {
        return refuse(&rule::HEADER, "not a plain ustar header".to_owned());
    }
    if found.get(TYPE_AT) != Some(&b'0') {
        let kind = found.get(TYPE_AT).copied().unwrap_or(0).escape_ascii();
        return refuse(&rule::ENTRY_TYPE, format!("type `{kind}`; only regular files are legal"));
    }
    if !is_plain(&shown) {
        return refuse(&rule::ENTRY_NAME, "not a name of an entry".to_owned());
    }
    if shown != name {
        let (rule, what) = match standing(&shown) {
            Standing::Behind => (&rule::ENTRY_TWICE, "stood before"),
            Standing::Ahead => (&rule::ENTRY_ORDER, "stands too early"),
            Standing::Unlisted => (&rule::ENTRY_UNLISTED, "is not listed"),
        };
        let expected = if name.is_empty() { "the end" } else { name };
        return refuse(rule, format!("the entry {what}; expected {expected}"));
    }
    match (size_of(found), bytes) {
        (Some(size), Some(bytes)) if size != bytes => {
            refuse(&rule::ENTRY_SIZE, format!("{size} bytes, the manifest lists {bytes}"))
        }
        (Some(size), _) if size > MAX_ENTRY_BYTES => {
            refuse(&rule::TOO_LARGE, format!("{size} bytes, at most {MAX_ENTRY_BYTES} are read"))
        }
        _ => refuse(&rule::HEADER, "owner, mode, time, links or checksum differ".to_owned()),
    }
}

/// Whether a name is one that an entry can have: relative, plain, without a way up.
pub(super) fn is_plain(name: &str) -> bool {
    let is_legal = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
    name.len() <= MAX_NAME_BYTES
        && name
            .split('/')
            .all(|part| !part.is_empty() && !part.starts_with('.') && part.bytes().all(is_legal))
}

/// The text of a field up to its first zero.
fn field(block: &[u8], (start, len): (usize, usize)) -> String {
    let bytes = block.get(start..start + len).unwrap_or_default();
    // The magic is six bytes with a zero in it, and two of version.
    if (start, len) == MAGIC_AT {
        return String::from_utf8_lossy(bytes).into_owned();
    }
    let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(text).into_owned()
}

fn size_of(block: &[u8]) -> Option<u64> {
    u64::from_str_radix(&field(block, SIZE_AT), 8).ok()
}

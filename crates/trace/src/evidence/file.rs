//! The file of a piece of evidence: read whole where it is small, in pieces where it is not.

use std::io::Read as _;

use sha2::{Digest as _, Sha256};

use crate::{FileError, RunFiles};

/// The largest file that is read whole.
const MAX_WHOLE_BYTES: u64 = 4 << 20;

/// The largest file that is read at all.
const MAX_FILE_BYTES: u64 = 4 << 30;

/// The longest part of a large file that is given.
const MAX_RANGE_BYTES: u64 = 64 << 20;

/// What is read at once of a large file.
const PIECE_BYTES: u64 = 64 << 10;

/// What a file holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Content {
    pub(super) sha256: [u8; 32],
    pub(super) len: u64,
    pub(super) is_utf8: bool,
    /// Nothing but white space.
    pub(super) is_blank: bool,
    /// The buffer holds it whole.
    pub(super) is_whole: bool,
}

/// Whether a file of so many bytes is read whole.
pub(super) const fn is_whole(len: u64) -> bool {
    len <= MAX_WHOLE_BYTES
}

/// Reads a file. The buffer holds it only where the content says so.
pub(super) fn read(
    files: &dyn RunFiles,
    path: &str,
    buffer: &mut Vec<u8>,
) -> Result<Content, FileError> {
    match files.read(path, MAX_WHOLE_BYTES, buffer) {
        Ok(()) => {
            let text = std::str::from_utf8(buffer);
            Ok(Content {
                sha256: Sha256::digest(&buffer).into(),
                len: buffer.len() as u64,
                is_utf8: text.is_ok(),
                is_blank: text.is_ok_and(is_blank),
                is_whole: true,
            })
        }
        Err(FileError::TooLarge { .. }) => read_in_pieces(files, path, buffer),
        Err(error) => Err(error),
    }
}

/// Reads bytes `[start, end)` of a file and the one behind them, if there is one.
pub(super) fn read_range(
    files: &dyn RunFiles,
    path: &str,
    (start, end): (u64, u64),
    buffer: &mut Vec<u8>,
) -> Result<(), FileError> {
    let len = end.saturating_sub(start).saturating_add(1);
    if len > MAX_RANGE_BYTES {
        return Err(FileError::TooLarge { max_bytes: MAX_RANGE_BYTES });
    }
    buffer.clear();
    let mut file = files.open(path)?;
    std::io::copy(&mut file.by_ref().take(start), &mut std::io::sink()).map_err(broken)?;
    file.take(len).read_to_end(buffer).map_err(broken)?;
    Ok(())
}

fn read_in_pieces(
    files: &dyn RunFiles,
    path: &str,
    buffer: &mut Vec<u8>,
) -> Result<Content, FileError> {
    let mut file = files.open(path)?;
    let mut hash = Sha256::new();
    let (mut len, mut is_utf8, mut all_blank) = (0_u64, true, true);
    buffer.clear();
    loop {
        // What is left in the buffer is the beginning of a character.
        let before = buffer.len();
        file.by_ref().take(PIECE_BYTES).read_to_end(buffer).map_err(broken)?;
        let piece = buffer.get(before..).unwrap_or_default();
        hash.update(piece);
        len = len.saturating_add(piece.len() as u64);
        if piece.is_empty() {
            break;
        }
        if len > MAX_FILE_BYTES {
            return Err(FileError::TooLarge { max_bytes: MAX_FILE_BYTES });
        }
        let valid = match std::str::from_utf8(buffer) {
            Ok(text) => text.len(),
            Err(error) => {
                is_utf8 &= error.error_len().is_none();
                error.valid_up_to()
            }
        };
        let text = buffer.get(..valid).and_then(|bytes| std::str::from_utf8(bytes).ok());
        all_blank &= text.is_none_or(is_blank);
        match is_utf8 {
            true => drop(buffer.drain(..valid)),
            false => buffer.clear(),
        }
    }
    is_utf8 &= buffer.is_empty();
    let is_blank = is_utf8 && all_blank;
    Ok(Content { sha256: hash.finalize().into(), len, is_utf8, is_blank, is_whole: false })
}

fn is_blank(text: &str) -> bool {
    text.chars().all(char::is_whitespace)
}

fn broken(error: std::io::Error) -> FileError {
    FileError::Io(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MemoryFiles;

    const PIECE: usize = 64 << 10;
    const WHOLE: usize = 4 << 20;

    fn content(bytes: Vec<u8>, whole: bool) -> Content {
        let files = MemoryFiles { files: [("e".to_owned(), bytes)].into(), ..Default::default() };
        let mut buffer = b"of another file".to_vec();
        match whole {
            true => read(&files, "e", &mut buffer).unwrap(),
            false => read_in_pieces(&files, "e", &mut buffer).unwrap(),
        }
    }

    #[test]
    fn in_pieces_or_whole_a_file_is_the_same() {
        let long = "é".repeat(PIECE);
        let mut shifted = b"a".to_vec();
        shifted.extend_from_slice(long.as_bytes());
        let mut cut = shifted.clone();
        cut.pop();
        let mut wrong = long.clone().into_bytes();
        wrong[PIECE] = 0xff;
        let blank = " \n".repeat(PIECE).into_bytes();
        for bytes in [vec![], long.into_bytes(), shifted, cut, wrong, blank, vec![0xc3]] {
            let whole = content(bytes.clone(), true);
            assert_eq!(Content { is_whole: true, ..content(bytes, false) }, whole);
        }
    }

    #[test]
    fn a_large_file_is_not_held() {
        let content = content(vec![b'a'; WHOLE + 1], true);
        assert!(!content.is_whole && content.is_utf8 && !content.is_blank);
        assert_eq!(content.len, MAX_WHOLE_BYTES + 1);
    }

    #[test]
    fn a_range_has_the_byte_behind_it() {
        let files = MemoryFiles {
            files: [("e".to_owned(), b"abcdef".to_vec())].into(),
            ..Default::default()
        };
        let mut buffer = Vec::new();
        read_range(&files, "e", (1, 3), &mut buffer).unwrap();
        assert_eq!(buffer, b"bcd");
        read_range(&files, "e", (4, 6), &mut buffer).unwrap();
        assert_eq!(buffer, b"ef");
        let too_long = read_range(&files, "e", (0, MAX_RANGE_BYTES), &mut buffer);
        assert_eq!(too_long, Err(FileError::TooLarge { max_bytes: MAX_RANGE_BYTES }));
    }
}

//! Server-sent events, as far as model providers use them.

use std::mem;

/// One event.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Event {
    /// Its name; empty where none was given.
    pub(crate) name: String,
    /// Its data lines, joined with newlines.
    pub(crate) data: String,
}

/// Puts events together from pieces of a body, each byte read once. The caller bounds the body.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    line: Vec<u8>,
    event: Event,
    has_data: bool,
}

/// The stream is not UTF-8.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NotText;

impl Reader {
    /// The events that a piece completes, up to the first line that is no text. Those before it count,
    /// wherever the pieces are cut.
    pub(crate) fn push(&mut self, piece: &[u8]) -> Vec<Result<Event, NotText>> {
        let mut events = Vec::new();
        for part in piece.split_inclusive(|&byte| byte == b'\n') {
            self.line.extend_from_slice(part);
            if part.ends_with(b"\n") {
                let ended = self.end_line();
                let is_over = ended.is_err();
                events.extend(ended.transpose());
                if is_over {
                    break;
                }
            }
        }
        events
    }

    /// The event that the end of the body completes: servers forget the last empty line.
    pub(crate) fn finish(mut self) -> Result<Option<Event>, NotText> {
        let last = self.end_line()?;
        Ok(last.or_else(|| self.take()))
    }

    fn end_line(&mut self) -> Result<Option<Event>, NotText> {
        let line = mem::take(&mut self.line);
        let line = std::str::from_utf8(&line).map_err(|_| NotText)?;
        let line = line.strip_suffix('\n').unwrap_or(line);
        let line = line.strip_suffix('\r').unwrap_or(line);
        let line = line.strip_prefix('\u{feff}').unwrap_or(line);
        if line.is_empty() {
            return Ok(self.take());
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.event.name),
            "data" => {
                if self.has_data {
                    self.event.data.push('\n');
                }
                self.event.data.push_str(value);
                self.has_data = true;
            }
            _ => {}
        }
        Ok(None)
    }

    /// An event without data is none.
    fn take(&mut self) -> Option<Event> {
        let event = mem::take(&mut self.event);
        mem::take(&mut self.has_data).then_some(event)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pieces: &[&[u8]]) -> Result<Vec<(String, String)>, NotText> {
        let mut reader = Reader::default();
        let mut events = Vec::new();
        for piece in pieces {
            for event in reader.push(piece) {
                events.push(event?);
            }
        }
        events.extend(reader.finish()?);
        Ok(events.into_iter().map(|event| (event.name, event.data)).collect())
    }

    #[test]
    fn events_are_the_same_wherever_the_pieces_are_cut() {
        let text = "\u{feff}: hello\r\n\r\nevent: a\r\ndata: {\"é\":1}\r\n\r\ndata:x\ndata:  y\n\nid: 3\n\nevent: b\ndata: [DONE]";
        let whole = read(&[text.as_bytes()]).unwrap();
        let expected = [("a", "{\"é\":1}"), ("", "x\n y"), ("b", "[DONE]")];
        let expected: Vec<_> =
            expected.iter().map(|(n, d)| ((*n).to_owned(), (*d).to_owned())).collect();
        assert_eq!(whole, expected);
        for cut in 0..text.len() {
            let (head, tail) = text.as_bytes().split_at(cut);
            assert_eq!(read(&[head, tail]).unwrap(), expected, "cut at {cut}");
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_refused() {
        assert_eq!(read(&[b"data: \xff\n\n"]), Err(NotText));
    }
}

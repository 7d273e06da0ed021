//! JSON values on a stream: one per line, or one for all of it.

use probity_sandbox::Captured;
use serde_json::Value;

/// The objects on the stream, in order.
///
/// Lines before the first one that opens an object or a list are a banner and are skipped. Where
/// the middle of the stream was dropped, so are the two lines that were cut.
pub(super) fn read(stdout: &Captured, killed: bool) -> Result<Vec<Value>, String> {
    let truncated = stdout.truncated();
    if !truncated && let Some(document) = document(&stdout.head) {
        return Ok(match document {
            Value::Array(records) => records,
            record => vec![record],
        });
    }
    let head = if truncated { whole_lines_of_head(&stdout.head) } else { &stdout.head };
    let mut records = Vec::new();
    let skipped = banner_lines(head);
    lines(head, skipped, "line", killed && !truncated, &mut records)?;
    if truncated {
        lines(whole_lines_of_tail(&stdout.tail), 0, "behind the gap, line", killed, &mut records)?;
    }
    if records.is_empty() && !killed {
        return Err(if stdout.total_bytes == 0 {
            "it wrote nothing".to_owned()
        } else {
            "it wrote no JSON".to_owned()
        });
    }
    Ok(records)
}

/// The first object, whether it stands on one line or on many.
pub(super) fn first(stdout: &Captured) -> Option<Value> {
    let skipped = banner_lines(&stdout.head);
    let line = stdout.head.split(|&byte| byte == b'\n').nth(skipped)?;
    let value = serde_json::from_slice(line).ok().or_else(|| document(&stdout.head))?;
    match value {
        Value::Array(records) => records.into_iter().next(),
        Value::Object(_) => Some(value),
        _ => None,
    }
}

/// All of it as one value, behind a banner: what agents write in their plain JSON modes, often over
/// many lines.
fn document(bytes: &[u8]) -> Option<Value> {
    let start = bytes.split_inclusive(|&byte| byte == b'\n').take(banner_lines(bytes));
    let start: usize = start.map(<[u8]>::len).sum();
    let value: Value = serde_json::from_slice(bytes.get(start..)?).ok()?;
    (value.is_object() || value.is_array()).then_some(value)
}

/// Lines before the first that opens an object or a list; none when no line does.
fn banner_lines(bytes: &[u8]) -> usize {
    bytes
        .split(|&byte| byte == b'\n')
        .position(|line| matches!(line.trim_ascii_start().first(), Some(b'{' | b'[')))
        .unwrap_or_default()
}

fn lines(
    bytes: &[u8],
    skipped: usize,
    label: &str,
    may_be_cut: bool,
    records: &mut Vec<Value>,
) -> Result<(), String> {
    let mut rest = bytes.split(|&byte| byte == b'\n').enumerate().skip(skipped).peekable();
    while let Some((index, line)) = rest.next() {
        if line.trim_ascii().is_empty() {
            continue;
        }
        match serde_json::from_slice::<Value>(line) {
            Ok(record) if record.is_object() => records.push(record),
            Ok(_) => return Err(format!("{label} {} is not an object", index + 1)),
            // The last piece of the split has no line end behind it.
            Err(_) if may_be_cut && rest.peek().is_none() => {}
            Err(error) => return Err(format!("{label} {} is not JSON: {error}", index + 1)),
        }
    }
    Ok(())
}

fn whole_lines_of_head(head: &[u8]) -> &[u8] {
    let end = head.iter().rposition(|&byte| byte == b'\n');
    end.and_then(|end| head.get(..end)).unwrap_or_default()
}

fn whole_lines_of_tail(tail: &[u8]) -> &[u8] {
    let start = tail.iter().position(|&byte| byte == b'\n');
    start.and_then(|start| tail.get(start + 1..)).unwrap_or_default()
}

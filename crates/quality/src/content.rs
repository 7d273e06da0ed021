//! Changes of a file's bytes that know nothing of what the bytes mean.

use crate::change::Splice;
use crate::draw::Draw;
use crate::operator::Operator;

/// The places where an operator of plain bytes can be applied; at most `max`, chosen by the draw.
pub(crate) fn splices(
    operator: Operator,
    bytes: &[u8],
    is_text: bool,
    draw: &mut Draw,
    max: usize,
) -> Vec<Splice> {
    let one = match operator {
        Operator::Empty => (!bytes.is_empty()).then(|| cut(bytes, 0, "emptying {}")),
        Operator::CutHalf => cut_half(bytes, is_text),
        Operator::CutLastLine => cut_last_line(bytes),
        Operator::SameSize => same_size(bytes),
        Operator::FlipByte => return flips(bytes, draw, max),
        Operator::SwapLines => return swaps(bytes, draw, max),
        _ => None,
    };
    one.into_iter().collect()
}

/// The lines, each with where it begins; the ends of lines are part of them.
pub(crate) fn lines(bytes: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    bytes.split_inclusive(|byte| *byte == b'\n').scan(0_usize, |at, line| {
        let begins = *at;
        *at = begins.saturating_add(line.len());
        Some((begins, line))
    })
}

/// Everything from a place on goes.
fn cut(bytes: &[u8], at: usize, what: &str) -> Splice {
    let len = bytes.len().saturating_sub(at);
    Splice { at, len, with: Vec::new(), line: None, what: what.to_owned() }
}

/// In text at the end of a line: half a command is another command.
fn cut_half(bytes: &[u8], is_text: bool) -> Option<Splice> {
    let half = bytes.len() / 2;
    let at = match is_text {
        true => lines(bytes).map(|(at, _)| at).find(|at| *at >= half).unwrap_or(bytes.len()),
        false => half,
    };
    (at > 0 && at < bytes.len()).then(|| cut(bytes, at, "cutting the second half of {}"))
}

fn cut_last_line(bytes: &[u8]) -> Option<Splice> {
    let (at, _) = lines(bytes).last()?;
    let number = lines(bytes).count();
    // One line alone is all there is: that is `empty`.
    (at > 0).then(|| Splice { line: Some(number), ..cut(bytes, at, "cutting the last line of {}") })
}

/// Every letter and digit is the next one, and everything else stays: the shape is that of before.
fn same_size(bytes: &[u8]) -> Option<Splice> {
    let next = |byte: u8| match byte {
        b'z' => b'a',
        b'Z' => b'A',
        b'9' => b'0',
        byte if byte.is_ascii_alphanumeric() => byte.wrapping_add(1),
        byte if byte.is_ascii() => byte,
        // A byte of a longer character: another bit would be no text any more.
        byte => byte,
    };
    let mut with: Vec<u8> = bytes.iter().map(|byte| next(*byte)).collect();
    if with == bytes {
        with = bytes.iter().map(|byte| byte ^ 1).collect();
    }
    let what = "other bytes of the same size in {}".to_owned();
    (with != bytes).then_some(Splice { at: 0, len: bytes.len(), with, line: None, what })
}

fn flips(bytes: &[u8], draw: &mut Draw, max: usize) -> Vec<Splice> {
    let mut places = Vec::new();
    for _ in 0..max.min(bytes.len()) {
        let at = draw.below(bytes.len());
        if !places.contains(&at) {
            places.push(at);
        }
    }
    let flip = |at: usize| {
        let byte = bytes.get(at)?;
        let what = format!("flipping a bit of byte {at} of {{}}");
        Some(Splice { at, len: 1, with: vec![byte ^ 1], line: None, what })
    };
    places.into_iter().filter_map(flip).collect()
}

fn swaps(bytes: &[u8], draw: &mut Draw, max: usize) -> Vec<Splice> {
    let all: Vec<(usize, &[u8])> = lines(bytes).collect();
    let mut places: Vec<Splice> = Vec::new();
    for (number, pair) in (1_usize..).zip(all.windows(2)) {
        let [(at, first), (_, second)] = pair else { continue };
        let is_blank = |line: &[u8]| line.trim_ascii().is_empty();
        if first == second || is_blank(first) || is_blank(second) {
            continue;
        }
        let mut with = second.to_vec();
        if !with.ends_with(b"\n") {
            with.push(b'\n');
        }
        with.extend_from_slice(first);
        if !second.ends_with(b"\n") {
            with.pop();
        }
        let len = first.len().saturating_add(second.len());
        let what = format!("swapping lines {number} and {} of {{}}", number.saturating_add(1));
        if bytes.get(*at..at.saturating_add(len)) != Some(with.as_slice()) {
            places.push(Splice { at: *at, len, with, line: Some(number), what });
        }
    }
    draw.shuffle(&mut places);
    places.truncate(max);
    places
}

//! A: lines and JSON.

use super::{CLAIM, Row, Run};

pub(super) const ROWS: &[Row] = &[
    ("A01 trace emptied", "trace_header_missing", |run| run.put("trace.jsonl", "")),
    ("A02 header removed", "trace_header_missing", |run| {
        run.trace(|text| text.split_once('\n').expect("lines").1.to_owned());
    }),
    ("A03 header moved to the end", "trace_header_missing", |run| {
        run.trace(|text| {
            let (header, rest) = text.split_once('\n').expect("lines");
            format!("{rest}{header}\n")
        });
    }),
    ("A04 header twice", "trace_header_misplaced", |run| {
        run.trace(|text| format!("{}\n{text}", text.lines().next().expect("a line")));
    }),
    ("A05 cut within a line", "trace_syntax", |run| {
        run.trace(|text| text[..text.len() - 20].to_owned());
    }),
    ("A06 last event cut", "trace_step_unfinished", |run| drop_lines(run, 1)),
    ("A07 all events cut", "trace_step_not_run", |run| drop_lines(run, 24)),
    ("A08 no final newline", "trace_no_final_newline", |run| {
        run.trace(|text| text.trim_end().to_owned());
    }),
    ("A09 CRLF", "trace_carriage_return", |run| run.trace(|text| text.replace('\n', "\r\n"))),
    ("A10 blank lines", "trace_blank_line", |run| run.trace(|text| text.replace('\n', "\n\n"))),
    ("A11 line of blanks", "trace_blank_line", |run| run.trace(|text| text + "   \n")),
    ("A12 line of garbage", "trace_syntax", |run| run.trace(|text| text + "garbage\n")),
    ("A13 unknown record", "trace_record_unknown", |run| {
        run.trace(|text| text + "{\"record\":\"trace_footer\"}\n");
    }),
    ("A14 unknown key beside the event", "trace_key_unknown", |run| {
        run.trace(|text| {
            replace_last(
                &text,
                "\"record\":\"trace_event\"}",
                "\"record\":\"trace_event\",\"x\":1}",
            )
        });
    }),
    ("A15 unknown key in the header", "trace_key_unknown", |run| {
        run.header(|header| header["x"] = 1.into());
    }),
    ("A16 unknown key in an event", "trace_key_unknown", |run| {
        run.event(CLAIM, |event| event["x"] = 1.into());
    }),
    ("A17 key twice: idx", "trace_duplicate_key", |run| {
        run.swap("{\"idx\":0,", "{\"idx\":7,\"idx\":0,");
    }),
    ("A18 key twice: snippet", "trace_duplicate_key", |run| {
        let zeros = "0".repeat(64);
        run.swap(
            "\"snippet_sha256\":",
            &format!("\"snippet_sha256\":\"{zeros}\",\"snippet_sha256\":"),
        );
    }),
    ("A20 byte order mark", "trace_bom", |run| run.trace(|text| format!("\u{feff}{text}"))),
    ("A21 not UTF-8", "trace_not_utf8", |run| {
        let bytes = run.files.files.get_mut("trace.jsonl").expect("a trace");
        let at = bytes.len() / 2;
        bytes[at] = 0xff;
    }),
    ("A22 UTF-16", "trace_not_utf8", |run| {
        let units: Vec<u8> =
            run.text("trace.jsonl").encode_utf16().flat_map(u16::to_le_bytes).collect();
        run.put("trace.jsonl", [vec![0xff, 0xfe], units].concat());
    }),
    ("A23 NaN", "trace_number", |run| run.swap("\"confidence\":0.7", "\"confidence\":NaN")),
    ("A24 Infinity", "trace_number", |run| {
        run.swap("\"min_supports_per_claim\":2", "\"min_supports_per_claim\":Infinity");
    }),
    ("A25 1e400", "trace_number", |run| run.swap("\"confidence\":0.7", "\"confidence\":1e400")),
    ("A26 5000 digits", "trace_number", |run| {
        run.swap("\"idx\":5", &format!("\"idx\":{}", "5".repeat(5000)));
    }),
    ("A27 21 digits", "trace_number", |run| {
        run.swap("\"idx\":5", &format!("\"idx\":{}", "5".repeat(21)));
    }),
    ("A28 200,000 arrays", "trace_too_deep", |run| {
        let deep = format!("\"metadata\":{{\"a\":{}{}", "[".repeat(200_000), "]".repeat(200_000));
        run.swap("\"metadata\":{", &format!("{deep},"));
    }),
    ("A29 half a character", "trace_surrogate", |run| {
        run.swap("\"statement\":\"", "\"statement\":\"\\ud800");
    }),
    ("A31 blanks", "trace_not_canonical", |run| run.swap("\"idx\":5,", "\"idx\": 5,")),
    ("A32 keys in another order", "trace_not_canonical", |run| {
        run.swap("\"idx\":0,\"kind\":\"step_started\"", "\"kind\":\"step_started\",\"idx\":0");
    }),
    ("A33 a record that is a list", "trace_type", |run| run.trace(|text| text + "[1]\n")),
    ("A34 two records on a line", "trace_syntax", |run| {
        run.trace(|text| replace_last(&text, "}\n{", "}{"));
    }),
    ("A35 a bare carriage return", "trace_syntax", |run| {
        run.trace(|text| replace_last(&text, "}\n{", "}\r{"));
    }),
    ("A36 trailing comma", "trace_syntax", |run| {
        run.trace(|text| {
            replace_last(&text, "\"record\":\"trace_event\"}", "\"record\":\"trace_event\",}")
        });
    }),
    ("A37 no event", "trace_key_missing", |run| {
        run.trace(|text| text + "{\"record\":\"trace_event\"}\n");
    }),
    ("A38 NUL padding", "trace_syntax", |run| run.trace(|text| text + "\0\0\0\0")),
];

fn drop_lines(run: &mut Run, count: usize) {
    run.trace(|text| {
        let kept = text.lines().count() - count;
        text.lines().take(kept).map(|line| format!("{line}\n")).collect()
    });
}

/// Puts one text in the place of the last such.
fn replace_last(text: &str, from: &str, to: &str) -> String {
    let at = text.rfind(from).expect("it is there");
    format!("{}{to}{}", &text[..at], &text[at + from.len()..])
}

//! Text of a stranger as text of a page.

use probity_report::legible;

/// The text with every character escaped that could end it, and without those that turn its
/// direction or hide it. Line ends stay.
pub(super) fn escaped(text: &str) -> String {
    let mut page = String::with_capacity(text.len());
    for (at, line) in text.split('\n').enumerate() {
        if at > 0 {
            page.push('\n');
        }
        for c in legible(line, usize::MAX).chars() {
            match c {
                '&' => page.push_str("&amp;"),
                '<' => page.push_str("&lt;"),
                '>' => page.push_str("&gt;"),
                '"' => page.push_str("&quot;"),
                '\'' => page.push_str("&#39;"),
                c => page.push(c),
            }
        }
    }
    page
}

/// The head of a table, and the beginning of its body.
pub(super) fn header(page: &mut String, names: &[&str]) {
    page.push_str("<thead><tr>");
    for name in names {
        page.push_str("<th scope=\"col\">");
        page.push_str(name);
        page.push_str("</th>");
    }
    page.push_str("</tr></thead>\n<tbody>\n");
}

/// A row: the first cell names it.
pub(super) fn cells(page: &mut String, texts: &[&str]) {
    page.push_str("<tr>");
    for (at, text) in texts.iter().enumerate() {
        let (open, close) =
            if at == 0 { ("<th scope=\"row\">", "</th>") } else { ("<td>", "</td>") };
        page.push_str(open);
        page.push_str(&escaped(text));
        page.push_str(close);
    }
    page.push_str("</tr>\n");
}

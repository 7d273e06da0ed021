//! What agents show, as text.

use std::fmt::Write;

use agent_client_protocol::v1::schema::{
    ContentBlock, Diff, EmbeddedResourceResource, ToolCallContent,
};

use crate::text::Excerpt;

/// The text of one block; of what is not text, its kind.
pub(crate) fn block_text(block: &ContentBlock) -> String {
    match block {
        ContentBlock::Text(text) => text.text.clone(),
        ContentBlock::Image(_) => "[image]".to_owned(),
        ContentBlock::Audio(_) => "[audio]".to_owned(),
        ContentBlock::ResourceLink(link) => format!("[resource {}]", link.uri),
        ContentBlock::Resource(resource) => match &resource.resource {
            EmbeddedResourceResource::TextResourceContents(text) => text.text.clone(),
            EmbeddedResourceResource::BlobResourceContents(blob) => {
                format!("[resource {}]", blob.uri)
            }
            _ => "[resource]".to_owned(),
        },
        _ => "[content]".to_owned(),
    }
}

/// What a tool call shows, one block under the other, at most about `max_bytes` of it.
pub(crate) fn tool_text(content: &[ToolCallContent], max_bytes: usize) -> String {
    let mut text = Excerpt::new(max_bytes);
    for (index, content) in content.iter().enumerate() {
        if index > 0 {
            text.push("\n");
        }
        match content {
            ToolCallContent::Content(content) => text.push(&block_text(&content.content)),
            ToolCallContent::Diff(diff) => text.push(&diff_text(diff)),
            ToolCallContent::Terminal(terminal) => {
                text.push(&format!("[terminal {}]", terminal.terminal_id));
            }
            _ => text.push("[content]"),
        }
    }
    text.into_text()
}

/// Which file a change is of and how long it is. Not the change itself: the file is there to be read.
fn diff_text(diff: &Diff) -> String {
    let mut text = format!("[diff of {}: ", diff.path.display());
    let lines = |text: &str| text.lines().count();
    // Writing to a string cannot fail.
    let _ = match &diff.old_text {
        Some(old) => write!(text, "{} lines become {}]", lines(old), lines(&diff.new_text)),
        None => write!(text, "new, {} lines]", lines(&diff.new_text)),
    };
    text
}

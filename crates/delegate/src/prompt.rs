//! What a delegate is told, as one text. The same inputs give the same bytes.

use std::fmt::Write;

use crate::{Conversation, Prompt, cut_middle};

/// How much of the last claim a new conversation is shown.
pub const MAX_LAST_RESPONSE_BYTES: usize = 4 * 1024;

/// How much of a correction is passed on. Corrections are bounded where they are made; this is for
/// callers that make their own.
pub const MAX_CORRECTION_BYTES: usize = 16 * 1024;

impl Prompt {
    /// The text for a delegate whose conversation goes on, or starts anew.
    ///
    /// The first attempt is the task as written. A later one is the correction where the delegate
    /// remembers the rest; else the task again, the last claim quoted as data, and the correction.
    #[must_use]
    pub fn render(&self, conversation: Conversation) -> String {
        if let Some(rewritten) = &self.rewritten {
            return rewritten.as_ref().to_owned();
        }
        let Some(correction) = &self.correction else { return self.opening() };
        let correction = cut_middle(correction, MAX_CORRECTION_BYTES);
        if conversation == Conversation::Same {
            return correction.into_owned();
        }
        let mut text = format!("{}\n\n---\n", self.opening().trim_end());
        if let Some(last) = self.last_response.as_deref().filter(|last| !last.trim().is_empty()) {
            text.push_str("An earlier attempt at this task answered the following. ");
            text.push_str("It was checked and not accepted.\n\n");
            for line in cut_middle(last, MAX_LAST_RESPONSE_BYTES).lines() {
                let line = line.replace(|c: char| c.is_control() && c != '\t', "\u{fffd}");
                // Writing to a string cannot fail.
                let _ = writeln!(text, "> {line}");
            }
            text.push('\n');
        }
        text.push_str(&correction);
        text
    }

    /// What a conversation begins with: the task, behind the words of the profile where it has some.
    fn opening(&self) -> String {
        match &self.system {
            Some(system) => format!("{}\n\n---\n\n{}", system.trim_end(), self.task),
            None => self.task.as_ref().to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prompt(correction: Option<&str>, last: Option<&str>) -> Prompt {
        Prompt {
            task: "Write the file.\n".into(),
            correction: correction.map(Into::into),
            last_response: last.map(Into::into),
            ..Prompt::default()
        }
    }

    #[test]
    fn the_first_prompt_is_the_task_and_nothing_else() {
        for conversation in [Conversation::Same, Conversation::Fresh] {
            assert_eq!(prompt(None, Some("x")).render(conversation), "Write the file.\n");
        }
    }

    #[test]
    fn the_words_of_a_profile_open_a_conversation_and_are_not_repeated_in_it() {
        let with =
            |correction| Prompt { system: Some("Be brief.\n".into()), ..prompt(correction, None) };
        let opening = "Be brief.\n\n---\n\nWrite the file.\n";
        for conversation in [Conversation::Same, Conversation::Fresh] {
            assert_eq!(with(None).render(conversation), opening);
        }
        assert_eq!(with(Some("Not done.")).render(Conversation::Same), "Not done.");
        let anew = with(Some("Not done.")).render(Conversation::Fresh);
        assert_eq!(anew, "Be brief.\n\n---\n\nWrite the file.\n\n---\nNot done.");
    }

    #[test]
    fn what_a_hook_wrote_stands_for_everything() {
        let prompt =
            Prompt { rewritten: Some("Only this.".into()), ..prompt(Some("No."), Some("x")) };
        for conversation in [Conversation::Same, Conversation::Fresh] {
            assert_eq!(prompt.render(conversation), "Only this.");
        }
    }

    #[test]
    fn a_conversation_that_goes_on_hears_only_the_correction() {
        let text = prompt(Some("Not done: no file."), Some("Done!")).render(Conversation::Same);
        assert_eq!(text, "Not done: no file.");
    }

    #[test]
    fn a_new_conversation_hears_task_claim_and_correction() {
        let text = prompt(Some("Not done: no file."), Some("Done!\nSee \x1b[1mfile"));
        assert_eq!(
            text.render(Conversation::Fresh),
            "Write the file.\n\n---\n\
             An earlier attempt at this task answered the following. \
             It was checked and not accepted.\n\n\
             > Done!\n> See \u{fffd}[1mfile\n\n\
             Not done: no file."
        );
        let silent = prompt(Some("Not done."), Some(" \n")).render(Conversation::Fresh);
        assert_eq!(silent, "Write the file.\n\n---\nNot done.");
    }

    #[test]
    fn long_parts_are_cut_in_the_middle_at_characters() {
        let long = "ä".repeat(1_000_000);
        let text = prompt(Some(&long), Some(&long)).render(Conversation::Fresh);
        assert!(
            text.len() < MAX_LAST_RESPONSE_BYTES + MAX_CORRECTION_BYTES + 400,
            "{}",
            text.len()
        );
        assert_eq!(text.matches("bytes left out").count(), 2);
    }
}

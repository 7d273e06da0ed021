//! The process table, as far as it is needed to find what a command started.

use std::fs;

/// One line of the process table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) pid: i32,
    pub(crate) parent: i32,
    pub(crate) session: i32,
    /// Dead, and not yet reaped by its parent.
    pub(crate) zombie: bool,
    /// Halted by a signal, not by a debugger.
    pub(crate) stopped: bool,
    /// When it started, in clock ticks since the machine did.
    pub(crate) start_ticks: u64,
}

/// All processes that can be seen. Not one moment's picture: processes come and go while it is read.
pub(crate) fn all() -> Vec<Process> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries.flatten().filter_map(|entry| one(entry.file_name().to_str()?.parse().ok()?)).collect()
}

/// The process that has this id now.
pub(crate) fn one(pid: i32) -> Option<Process> {
    parse(pid, &fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// `pid (name) state parent group session …`, the start being field 22; the name may itself hold `)`.
fn parse(pid: i32, stat: &str) -> Option<Process> {
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_whitespace();
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    let session = fields.nth(1)?.parse().ok()?;
    let start_ticks = fields.nth(15)?.parse().ok()?;
    let (zombie, stopped) = (matches!(state, "Z" | "X"), state == "T");
    Some(Process { pid, parent, session, zombie, stopped, start_ticks })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_name_cannot_forge_the_fields_behind_it() {
        let process = |zombie, stopped| Process {
            pid: 12,
            parent: 7,
            session: 9,
            zombie,
            stopped,
            start_ticks: 22,
        };
        let rest = "7 8 9 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23";
        let line = |name: &str, state: &str| format!("12 ({name}) {state} {rest}");
        assert_eq!(parse(12, &line("sh", "S")), Some(process(false, false)));
        assert_eq!(parse(12, &line("sh", "T")), Some(process(false, true)));
        assert_eq!(parse(12, &line("a) S 1 1 1 (b", "Z")), Some(process(true, false)));
        assert_eq!(parse(12, "12 (sh) S 7"), None);
    }

    #[test]
    fn this_process_is_in_the_table() {
        let own = i32::try_from(std::process::id()).unwrap();
        assert!(all().iter().any(|process| process.pid == own && !process.zombie));
    }
}

//! Versions of the server.

/// The oldest server that keeps what it acknowledged: older ones lost streams or took two appends
/// at one place.
pub(crate) const LEAST: Version = Version(2, 12, 3);

/// `major.minor.patch`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Version(u64, u64, u64);

impl Version {
    /// Reads the beginning of `2.12.3-beta.1`; what is no number counts as 0, so that an unreadable
    /// version is an old one.
    pub(crate) fn read(text: &str) -> Self {
        let core = text.trim_start_matches('v').split(['-', '+']).next().unwrap_or_default();
        let mut parts = core.split('.').map(|part| part.parse().unwrap_or_default());
        let mut next = || parts.next().unwrap_or_default();
        let version = Self(next(), next(), next());
        // A build before the release of that number does not count as it.
        if text.contains('-') && version == LEAST { Self(0, 0, 0) } else { version }
    }
}

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}.{}", self.0, self.1, self.2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_number() {
        for old in ["2.9.10", "2.12.2", "2.12.3-beta.1", "1.99.99", "", "x"] {
            assert!(Version::read(old) < LEAST, "{old}");
        }
        for new in ["2.12.3", "v2.12.3", "2.12.10", "2.15.1", "2.13.0-RC.1", "3.0.0", "10.0"] {
            assert!(Version::read(new) >= LEAST, "{new}");
        }
    }
}

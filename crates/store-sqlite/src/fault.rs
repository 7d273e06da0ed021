//! SQLite's result codes as storage faults.

use probity_store::{FaultKind, StoreFault};
use rusqlite::ErrorCode;

/// What went wrong, in the words of the store.
pub(crate) fn fault(error: &rusqlite::Error) -> StoreFault {
    StoreFault::new(kind(error), error.to_string())
}

fn kind(error: &rusqlite::Error) -> FaultKind {
    let Some(code) = error.sqlite_error_code() else {
        // A column of another type than the schema gives it.
        return FaultKind::Corrupt;
    };
    match code {
        ErrorCode::DiskFull => FaultKind::Full,
        ErrorCode::ReadOnly => FaultKind::ReadOnly,
        ErrorCode::DatabaseCorrupt => FaultKind::Corrupt,
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => FaultKind::Busy,
        ErrorCode::CannotOpen
        | ErrorCode::NotADatabase
        | ErrorCode::PermissionDenied
        | ErrorCode::AuthorizationForStatementDenied => FaultKind::CannotOpen,
        _ => FaultKind::Io,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rusqlite::ffi;

    #[test]
    fn every_result_code_that_an_operator_meets_has_its_fault() {
        for (code, wanted) in [
            (ffi::SQLITE_FULL, FaultKind::Full),
            (ffi::SQLITE_READONLY, FaultKind::ReadOnly),
            (ffi::SQLITE_READONLY_DIRECTORY, FaultKind::ReadOnly),
            (ffi::SQLITE_CORRUPT, FaultKind::Corrupt),
            (ffi::SQLITE_BUSY, FaultKind::Busy),
            (ffi::SQLITE_BUSY_SNAPSHOT, FaultKind::Busy),
            (ffi::SQLITE_LOCKED, FaultKind::Busy),
            (ffi::SQLITE_CANTOPEN, FaultKind::CannotOpen),
            (ffi::SQLITE_NOTADB, FaultKind::CannotOpen),
            (ffi::SQLITE_PERM, FaultKind::CannotOpen),
            (ffi::SQLITE_IOERR, FaultKind::Io),
            (ffi::SQLITE_IOERR_FSYNC, FaultKind::Io),
            (ffi::SQLITE_NOMEM, FaultKind::Io),
        ] {
            let error = rusqlite::Error::SqliteFailure(ffi::Error::new(code), None);
            assert_eq!(kind(&error), wanted, "{error}");
        }
        assert_eq!(kind(&rusqlite::Error::QueryReturnedNoRows), FaultKind::Corrupt);
    }
}

//! What a run's report does not say of it.

use serde::Serialize;

use super::{Asks, StoppedBy};
use crate::location::StoreUrl;

/// People who have to do with a run.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub(crate) struct Beside<'a> {
    /// Whom it waits for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) asks: Option<&'a Asks>,
    /// Who asked for it to be stopped.
    #[serde(rename = "cancel_requested", skip_serializing_if = "Option::is_none")]
    pub(crate) stopped_by: Option<&'a StoppedBy>,
    /// Where it is kept; the user's own store where that is not known.
    #[serde(skip)]
    pub(crate) kept: Option<&'a Kept>,
}

/// Where a run is kept, as commands say it that come later.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kept {
    /// In a store that these words behind a command find; none for the user's own.
    In(String),
    /// In memory: nothing is left of it.
    Nowhere,
}

impl Kept {
    /// In that store.
    pub(crate) fn by(url: &StoreUrl) -> Self {
        match url {
            StoreUrl::Memory => Self::Nowhere,
            // Its URL may hold a password.
            StoreUrl::Nats(_) => Self::In(" --store nats://...".to_owned()),
            url if StoreUrl::of_user().is_ok_and(|of_user| of_user == *url) => {
                Self::In(String::new())
            }
            url => {
                let label = url.absolute().label();
                let label =
                    shlex::try_quote(&label).map_or_else(|_| "STORE".to_owned(), Into::into);
                Self::In(format!(" --store {label}"))
            }
        }
    }

    /// The words behind a command.
    pub(crate) fn words(&self) -> &str {
        match self {
            Self::In(words) => words,
            Self::Nowhere => "",
        }
    }
}

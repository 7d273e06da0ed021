//! How a commit of one process wakes the others.
//!
//! SQLite says nothing to other processes. After each commit the writer opens the `-wal` file for
//! reading and closes it; every writer on the same file has an inotify watch on exactly that. Watching
//! for writes would not do: they happen before a commit can be seen, and a look at that moment would
//! find nothing. No lock hangs on the `-wal` file, so closing it takes none away, which it would with
//! the database file.
//!
//! A bell may be missed: by a process that cannot watch, or from a program that does not ring. So the
//! writer also looks by itself, seldom where it has a watch and often where it has none.

use std::path::PathBuf;
use std::time::Duration;

#[cfg(target_os = "linux")]
pub(crate) use linux::Listener;
#[cfg(not(target_os = "linux"))]
pub(crate) use silent::Listener;

/// How often to look for commits of other processes beside the bell.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// How often to look for them without a bell.
const LOOK_EVERY_DEAF: Duration = Duration::from_millis(100);

/// The bell on one database file.
pub(crate) struct Bell {
    /// The `-wal` file; `None` where its name cannot be told.
    wal: Option<PathBuf>,
}

impl Bell {
    /// The bell of the database that SQLite has opened under that name.
    pub(crate) fn of(database: Option<&str>) -> Self {
        let wal = database.filter(|name| !name.is_empty()).map(|name| format!("{name}-wal").into());
        Self { wal }
    }

    /// Wakes whoever listens. Who is not woken looks by itself a little later.
    pub(crate) fn ring(&self) {
        if cfg!(target_os = "linux") {
            drop(self.wal.as_ref().map(std::fs::File::open));
        }
    }

    /// Begins to listen. Within a runtime.
    pub(crate) fn listen(&self) -> Listener {
        Listener::new(self.wal.as_deref())
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::mem::MaybeUninit;
    use std::os::fd::OwnedFd;
    use std::path::Path;
    use std::time::Duration;

    use rustix::fs::inotify;
    use rustix::io::Errno;
    use tokio::io::unix::AsyncFd;

    use super::{LOOK_EVERY, LOOK_EVERY_DEAF};

    /// Events that are taken at once; those beyond wake again.
    const MAX_EVENTS: usize = 1024;

    /// Hears the bell, as long as the watch holds.
    pub(crate) struct Listener {
        watch: Option<AsyncFd<OwnedFd>>,
    }

    impl Listener {
        pub(super) fn new(wal: Option<&Path>) -> Self {
            Self { watch: wal.and_then(|wal| watch(wal).ok()) }
        }

        /// How often to look without having heard anything.
        pub(crate) fn look_every(&self) -> Duration {
            if self.watch.is_some() { LOOK_EVERY } else { LOOK_EVERY_DEAF }
        }

        /// Forgets what was rung until now, so that a writer does not wake itself. What others rang is
        /// forgotten with it: whoever calls this looks.
        pub(crate) fn forget(&mut self) {
            let is_gone = self.watch.as_ref().is_some_and(|at| take_events(at.get_ref()).is_err());
            if is_gone {
                self.watch = None;
            }
        }

        /// Waits for the bell; for ever where it cannot be heard.
        pub(crate) async fn rung(&mut self) {
            let Some(watch) = &self.watch else { return std::future::pending().await };
            let holds = match watch.readable().await {
                Ok(mut ready) => match take_events(watch.get_ref()) {
                    Ok(Taken::All) => {
                        ready.clear_ready();
                        true
                    }
                    Ok(Taken::Some) => true,
                    Err(_) => false,
                },
                Err(_) => false,
            };
            if !holds {
                self.watch = None;
            }
        }
    }

    #[expect(
        deprecated,
        reason = "sound with an owned descriptor, which stays what it is; its successor is unsafe"
    )]
    fn watch(wal: &Path) -> std::io::Result<AsyncFd<OwnedFd>> {
        let flags = inotify::CreateFlags::NONBLOCK | inotify::CreateFlags::CLOEXEC;
        let watch = inotify::init(flags)?;
        inotify::add_watch(&watch, wal, inotify::WatchFlags::CLOSE_NOWRITE)?;
        AsyncFd::new(watch)
    }

    enum Taken {
        All,
        Some,
    }

    /// An error where the file is gone, and the watch with it.
    fn take_events(watch: &OwnedFd) -> rustix::io::Result<Taken> {
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut events = inotify::Reader::new(watch, &mut buffer);
        for _ in 0..MAX_EVENTS {
            match events.next() {
                Ok(event) if event.events().contains(inotify::ReadFlags::IGNORED) => {
                    return Err(Errno::NOENT);
                }
                Ok(_) => {}
                Err(Errno::AGAIN) => return Ok(Taken::All),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Taken::Some)
    }
}

#[cfg(not(target_os = "linux"))]
mod silent {
    use std::path::Path;
    use std::time::Duration;

    use super::LOOK_EVERY_DEAF;

    /// Hears nothing.
    pub(crate) struct Listener;

    impl Listener {
        pub(super) fn new(_wal: Option<&Path>) -> Self {
            Self
        }

        pub(crate) fn look_every(&self) -> Duration {
            LOOK_EVERY_DEAF
        }

        pub(crate) fn forget(&mut self) {}

        pub(crate) async fn rung(&mut self) {
            std::future::pending().await
        }
    }
}

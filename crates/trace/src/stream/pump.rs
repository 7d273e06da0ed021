//! Moves pieces from the reader to the rules: in one thread, or with the reader in a second.
//!
//! The pieces, and their order, are the same either way.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use super::piece::Piece;
use super::reader::Reader;

/// The pieces that are under way between two threads.
const PIECES: usize = 3;

/// Fills pieces until there are no more, and hands each over in order. `first` is used again.
pub(super) fn run(
    reader: &mut Reader,
    first: Piece,
    threads: u8,
    mut each: impl FnMut(&mut Piece),
) {
    if threads < 2 || !with_thread(reader, &mut each) {
        alone(reader, first, &mut each);
    }
}

fn alone(reader: &mut Reader, mut piece: Piece, each: &mut impl FnMut(&mut Piece)) {
    loop {
        let has_more = reader.fill(&mut piece);
        each(&mut piece);
        if !has_more {
            return;
        }
    }
}

/// Reads in a thread of its own; false if there is none to be had, and then nothing was read.
fn with_thread(reader: &mut Reader, each: &mut impl FnMut(&mut Piece)) -> bool {
    let (full, filled) = sync_channel(1);
    let (back, empty) = sync_channel(PIECES);
    for _ in 0..PIECES {
        // There is room for all of them.
        let _ = back.try_send(Piece::default());
    }
    // The ends of both channels move in, so that whoever breaks sets the other free.
    thread::scope(move |scope| {
        let read = move || fill_all(reader, &empty, &full);
        let Ok(thread) = thread::Builder::new().name("trace".to_owned()).spawn_scoped(scope, read)
        else {
            return false;
        };
        for mut piece in filled {
            each(&mut piece);
            // The reader is gone once it has read all: then nobody needs the piece.
            let _ = back.try_send(piece);
        }
        if let Err(panic) = thread.join() {
            std::panic::resume_unwind(panic);
        }
        true
    })
}

fn fill_all(reader: &mut Reader, empty: &Receiver<Piece>, full: &SyncSender<Piece>) {
    while let Ok(mut piece) = empty.recv() {
        let has_more = reader.fill(&mut piece);
        if full.send(piece).is_err() || !has_more {
            return;
        }
    }
}

//! The conductor through its public face.

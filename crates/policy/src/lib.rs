//! Policy as data: decision envelopes, policy packs, hook and profile artifacts. Parsing and
//! validation only; no file is opened here.

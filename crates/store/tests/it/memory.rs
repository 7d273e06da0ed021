use probity_store::MemoryStore;

probity_store::conformance_suite!(async || (MemoryStore::new(), ()));

use std::collections::BTreeSet;

use probity_store::{AppendError, BlobError, FaultKind, ReadError, StoreFault};

#[test]
fn every_fault_has_its_own_code_and_says_what_to_do() {
    let codes: BTreeSet<&str> = FaultKind::ALL.iter().map(|kind| kind.code()).collect();
    assert_eq!(codes.len(), FaultKind::ALL.len());
    for kind in FaultKind::ALL {
        let fault = StoreFault::new(kind, "the provider's words");
        assert!(kind.code().parse::<probity_core::Code>().is_ok());
        assert!(fault.to_string().ends_with(": the provider's words"));
        assert!(kind.advice().contains(';'), "`{}` says no remedy", kind.code());
        assert_eq!(ReadError::from(fault.clone()).code(), kind.code());
        assert_eq!(BlobError::from(fault.clone()).code(), kind.code());
        assert_eq!(AppendError::Unavailable(fault.clone()).code(), kind.code());
        // Nobody may take a lost answer for a clean refusal.
        assert_eq!(AppendError::Unknown(fault).code(), "append_unknown");
    }
}

//! Every bit counts.

use probity_audit::bundle::BundlePolicy;
use probity_report::Verdict;
use proptest::prelude::*;

use crate::{audit_signed, audit_with, bundle, find, public_key, sample, signing_key};

/// Flips bits, one at a time, and holds that nothing of it is valid or proves integrity.
fn flip(bytes: &[u8], policy: &BundlePolicy, places: &[(usize, u8)]) {
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for worker in 0..workers {
            scope.spawn(move || {
                let mut changed = bytes.to_vec();
                for (at, bit) in places.iter().copied().skip(worker).step_by(workers) {
                    changed[at] ^= 1 << bit;
                    let verdict = audit_with(&changed, policy).verdict;
                    assert!(
                        !matches!(verdict, Verdict::Valid | Verdict::IntegrityOnly),
                        "bit {bit} of byte {at} does not count: {verdict:?}"
                    );
                    changed[at] ^= 1 << bit;
                }
            });
        }
    });
}

/// One bit of every byte but of the schemas, where one of every 97th is.
#[test]
fn no_bit_can_be_flipped() {
    let key = signing_key();
    let bytes = bundle(&sample::stopped(), Some(&key));
    assert_eq!(audit_signed(&bytes).verdict, Verdict::Valid);
    let schemas =
        find(&bytes, "schemas/bundle-manifest.schema.json\0").unwrap()..first_blob(&bytes);
    let places = (0..bytes.len()).filter(|at| !schemas.contains(at) || at % 97 == 0);
    let places: Vec<(usize, u8)> = places.map(|at| (at, u8::try_from(at % 8).unwrap())).collect();
    let policy = BundlePolicy { public_key: Some(public_key()), ..BundlePolicy::default() };
    assert!(places.len() > 8_000, "{}", places.len());
    flip(&bytes, &policy, &places);
}

/// The first header of a blob: names in the manifest stand within a line.
fn first_blob(bytes: &[u8]) -> usize {
    (0..bytes.len()).step_by(512).find(|at| bytes[*at..].starts_with(b"blobs/")).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Bytes put in, taken out or written over anywhere.
    #[test]
    fn no_run_of_bytes_can_be_exchanged(
        at in any::<prop::sample::Index>(),
        removed in 0_usize..2000,
        added in prop::collection::vec(any::<u8>(), 0..2000),
    ) {
        let bytes = bundle(&sample::decision(), None);
        let start = at.index(bytes.len());
        let end = (start + removed).min(bytes.len());
        let mut changed = bytes.clone();
        changed.splice(start..end, added);
        prop_assume!(changed != bytes);
        let verdict = audit_with(&changed, &BundlePolicy::default()).verdict;
        prop_assert!(!matches!(verdict, Verdict::Valid | Verdict::IntegrityOnly), "{verdict:?}");
    }

    /// Whatever the bytes, they are read to an end and are no bundle.
    #[test]
    fn any_bytes_are_malformed(bytes in prop::collection::vec(any::<u8>(), 0..4000)) {
        let verdict = audit_with(&bytes, &BundlePolicy::default()).verdict;
        prop_assert_eq!(verdict, Verdict::Malformed);
    }
}

/// All bits of all bytes, without a key: the digests alone must show each.
#[test]
#[ignore = "takes minutes; the test above flips one bit of each byte"]
fn no_bit_at_all_can_be_flipped() {
    let bytes = bundle(&sample::stopped(), Some(&signing_key()));
    let all: Vec<(usize, u8)> =
        (0..bytes.len()).flat_map(|at| (0..8).map(move |bit| (at, bit))).collect();
    flip(&bytes, &BundlePolicy::default(), &all);
}

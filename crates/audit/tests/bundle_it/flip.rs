//! Every bit counts.

use probity_audit::bundle::BundlePolicy;
use probity_report::Verdict;

use crate::{audit_with, bundle, find, public_key, sample, signing_key};

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
    let bytes = bundle(&sample::plain(), Some(&key));
    let schemas =
        find(&bytes, "schemas/bundle-manifest.schema.json\0").unwrap()..first_blob(&bytes);
    let places = (0..bytes.len()).filter(|at| !schemas.contains(at) || at % 97 == 0);
    let places: Vec<(usize, u8)> = places.map(|at| (at, u8::try_from(at % 8).unwrap())).collect();
    let policy = BundlePolicy { public_key: Some(public_key()), ..BundlePolicy::default() };
    assert!(places.len() > 10_000, "{}", places.len());
    flip(&bytes, &policy, &places);
}

/// The first header of a blob: names in the manifest stand within a line.
fn first_blob(bytes: &[u8]) -> usize {
    (0..bytes.len()).step_by(512).find(|at| bytes[*at..].starts_with(b"blobs/")).unwrap()
}

/// All bits of all bytes, without a key: the digests alone must show each.
#[test]
#[ignore = "takes minutes; the test above flips one bit of each byte"]
fn no_bit_at_all_can_be_flipped() {
    let bytes = bundle(&sample::plain(), Some(&signing_key()));
    let all: Vec<(usize, u8)> =
        (0..bytes.len()).flat_map(|at| (0..8).map(move |bit| (at, bit))).collect();
    flip(&bytes, &BundlePolicy::default(), &all);
}

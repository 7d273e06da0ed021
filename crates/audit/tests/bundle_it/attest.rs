//! Keys, the envelope, and every state of a signature.

use std::process::Command;

use probity_audit::attest::{Envelope, KeyError, PAYLOAD_TYPE, PublicKey, SigningKey, pae};
use probity_audit::bundle::BundlePolicy;
use probity_report::{CheckState, Severity, Verdict};
use serde_json::Value;

use crate::container::unpack;
use crate::damage::refitted;
use crate::{
    PRIVATE_PEM, PUBLIC_PEM, audit, audit_signed, audit_with, bundle, codes, public_key, sample,
    signing_key,
};

const OTHER_PUBLIC_PEM: &str = include_str!("../../../../testdata/bundles/other.pub.pem");

fn hex(text: &str) -> Vec<u8> {
    let digits = |at| u8::from_str_radix(&text[at..at + 2], 16).unwrap();
    (0..text.len()).step_by(2).map(digits).collect()
}

/// RFC 8032, section 7.1, test 1.
#[test]
fn signs_as_the_rfc_does() {
    let seed = hex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60");
    let key = SigningKey::from_seed(&seed.try_into().unwrap());
    let public = hex("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a");
    assert_eq!(key.public().as_bytes().as_slice(), public);
    let signature = hex(concat!(
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701c",
        "f9b46bd25bf5f0595bbe24655141438e7a100b"
    ));
    assert_eq!(key.sign(b"").as_slice(), signature);
    assert!(key.public().verifies(b"", &signature.try_into().unwrap()));
}

/// The example of the DSSE protocol, version 1.
#[test]
fn encodes_as_dsse_does() {
    assert_eq!(
        pae("http://example.com/HelloWorld", b"hello world"),
        b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"
    );
    assert_eq!(pae("", b""), b"DSSEv1 0  0 ");
}

#[test]
fn reads_the_key_files_of_openssl_and_no_others() {
    assert_eq!(signing_key().public(), public_key());
    assert_eq!(format!("{:?}", signing_key()), format!("SigningKey({})", public_key().id()));
    let long = format!("{PRIVATE_PEM}{}", "\n".repeat(5000));
    assert_eq!(SigningKey::from_pem(&long).unwrap_err().code(), "key_too_large");
    // A key of small order, under which anyone can sign anything.
    let weak = "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEAAQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n-----END PUBLIC KEY-----\n";
    for pem in ["", "x", PRIVATE_PEM, weak, &PUBLIC_PEM[..80]] {
        assert_eq!(PublicKey::from_pem(pem).unwrap_err(), KeyError::Public, "{pem}");
    }
    for pem in ["", "x", PUBLIC_PEM, &PRIVATE_PEM[..80]] {
        assert_eq!(SigningKey::from_pem(pem).unwrap_err(), KeyError::Private, "{pem}");
    }
}

/// Every state that a signature can be in, under every policy.
#[test]
fn every_state_of_a_signature() {
    let key = signing_key();
    let unsigned = bundle(&sample::plain(), None);
    let signed = bundle(&sample::plain(), Some(&key));
    let right = Some(public_key());
    let other = Some(PublicKey::from_pem(OTHER_PUBLIC_PEM).unwrap());
    let table = [
        (&unsigned, &None, false, "bundle_unsigned", Verdict::Valid, None),
        (&unsigned, &None, true, "bundle_signature_missing", Verdict::Invalid, Some(false)),
        (&unsigned, &right, false, "bundle_signature_missing", Verdict::Invalid, Some(false)),
        (&unsigned, &right, true, "bundle_signature_missing", Verdict::Invalid, Some(false)),
        (&signed, &None, false, "bundle_signature_unanchored", Verdict::Valid, None),
        (&signed, &None, true, "bundle_signature_unanchored", Verdict::IntegrityOnly, Some(false)),
        (&signed, &right, false, "", Verdict::Valid, Some(true)),
        (&signed, &right, true, "", Verdict::Valid, Some(true)),
        (&signed, &other, false, "bundle_signature_wrong", Verdict::Invalid, Some(false)),
        (&signed, &other, true, "bundle_signature_wrong", Verdict::Invalid, Some(false)),
    ];
    for (bytes, public_key, require_signature, code, verdict, passed) in table {
        let public_key = public_key.clone();
        let policy = BundlePolicy { public_key, require_signature, ..BundlePolicy::default() };
        let report = audit_with(bytes, &policy);
        let found = codes(&report);
        assert_eq!(found.first().copied().unwrap_or_default(), code, "{policy:?}");
        assert!(found.len() <= 1, "{found:?}");
        assert_eq!(report.verdict, verdict, "{policy:?}");
        let check = report.checks.iter().find(|check| check.name == "signature");
        assert_eq!(check.map(|check| check.state == CheckState::Passed), passed, "{policy:?}");
    }
}

/// Without a key nothing is said of the signature but that it was not looked at.
#[test]
fn an_unanchored_signature_is_a_note_that_says_so() {
    let signed = bundle(&sample::plain(), Some(&signing_key()));
    let report = audit_with(&signed, &BundlePolicy::default());
    let [note] = report.failures.as_slice() else { panic!("{:?}", report.failures) };
    assert_eq!(note.severity, Severity::Note);
    assert!(note.message.contains("not checked"));
}

fn envelope(bundle: &[u8]) -> Envelope {
    serde_json::from_slice(&unpack(bundle).pop().unwrap().bytes).unwrap()
}

#[test]
fn the_statement_names_log_run_and_proof() {
    let sample = sample::plain();
    let bytes = bundle(&sample, Some(&signing_key()));
    let statement: Value = serde_json::from_slice(&envelope(&bytes).payload().unwrap()).unwrap();
    assert_eq!(statement["_type"], "https://in-toto.io/Statement/v1");
    assert_eq!(statement["predicateType"], "https://probity.dev/attestation/run/v1");
    assert_eq!(statement["subject"][0]["name"], "log.jsonl");
    let log = probity_record::blob_digest(&sample.log).to_string();
    assert_eq!(statement["subject"][0]["digest"]["sha256"], log);
    let records = probity_record::read_jsonl(&sample.log).unwrap();
    assert_eq!(statement["subject"][1]["name"], "run/run-plain");
    assert_eq!(statement["subject"][1]["digest"]["sha256"], records.head.to_string());
    let manifest: Value = serde_json::from_slice(&unpack(&bytes)[0].bytes).unwrap();
    let proof = probity_record::canonical::to_canonical(&manifest["proof"]).unwrap();
    let proof = probity_record::blob_digest(&proof).to_string();
    assert_eq!(statement["predicate"]["proof"]["sha256"], proof);
    assert_eq!(statement["predicate"]["attempts"], 2);
    assert_eq!(statement["predicate"]["outcome"], "verified");
}

/// Another implementation of the signature: openssl where there is one, else the oracle's own parts
/// checked by hand.
#[test]
fn openssl_verifies_what_is_signed() {
    let envelope = envelope(&bundle(&sample::plain(), Some(&signing_key())));
    let payload = envelope.payload().unwrap();
    let message = pae(PAYLOAD_TYPE, &payload);
    let signature = signing_key().sign(&message);
    let encoded = serde_json::to_value(&envelope).unwrap()["signatures"][0]["sig"].clone();
    assert_eq!(encoded, base64(&signature));
    assert_eq!(envelope.signatures[0].keyid, public_key().id().to_string());
    let folder = tempfile::tempdir().unwrap();
    let put = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    };
    let verify = |message: &[u8]| {
        Command::new("openssl")
            .args(["pkeyutl", "-verify", "-pubin", "-rawin", "-inkey"])
            .arg(put("key.pem", PUBLIC_PEM.as_bytes()))
            .arg("-sigfile")
            .arg(put("signature", &signature))
            .arg("-in")
            .arg(put("message", message))
            .output()
    };
    // A machine without openssl has checked everything above.
    if let Ok(output) = verify(&message) {
        assert!(output.status.success(), "{output:?}");
        assert!(!verify(&payload).unwrap().status.success(), "the type is signed too");
    }
}

fn base64(bytes: &[u8]) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

/// An envelope that was changed, with a manifest that lists it as it is.
fn enveloped(bundle: &[u8], change: impl FnOnce(&mut Envelope)) -> Vec<u8> {
    let mut envelope = envelope(bundle);
    change(&mut envelope);
    let bytes = probity_record::canonical::to_canonical(&envelope).unwrap();
    refitted(&unpack(bundle), "statement.dsse.json", &bytes)
}

/// Signatures that are right somewhere else, or in another spelling.
#[test]
fn no_signature_is_taken_for_another() {
    let key = signing_key();
    let (mine, theirs) =
        (bundle(&sample::plain(), Some(&key)), bundle(&sample::decision(), Some(&key)));
    let other = envelope(&theirs);
    let raw = |text: &str| -> Vec<u8> {
        use base64::Engine as _;
        base64::engine::general_purpose::STANDARD.decode(text).unwrap()
    };
    let again = |envelope: &mut Envelope, kind: &str| {
        let bytes = key.sign(&pae(kind, &raw(&envelope.payload)));
        envelope.signatures[0].sig = base64(&bytes);
    };
    type Change<'a> = Box<dyn Fn(&mut Envelope) + 'a>;
    let urls = |text: &str| text.replace('+', "-").replace('/', "_");
    let cases: [(&str, Change<'_>, &str, Verdict); 13] = [
        (
            "of another run",
            Box::new(|it| *it = other.clone()),
            "bundle_statement_differs",
            Verdict::Invalid,
        ),
        (
            "over another payload",
            Box::new(|it| it.signatures = other.signatures.clone()),
            "bundle_signature_wrong",
            Verdict::Invalid,
        ),
        (
            "another type",
            Box::new(|it| it.payload_type = "text/plain".into()),
            "bundle_statement_differs",
            Verdict::Invalid,
        ),
        (
            "another type, signed",
            Box::new(|it| {
                it.payload_type = "text/plain".into();
                again(it, "text/plain")
            }),
            "bundle_statement_differs",
            Verdict::Invalid,
        ),
        (
            "over the bare payload",
            Box::new(|it| it.signatures[0].sig = base64(&key.sign(&raw(&it.payload)))),
            "bundle_signature_wrong",
            Verdict::Invalid,
        ),
        (
            "over the base64",
            Box::new(|it| {
                it.signatures[0].sig = base64(&key.sign(&pae(PAYLOAD_TYPE, it.payload.as_bytes())))
            }),
            "bundle_signature_wrong",
            Verdict::Invalid,
        ),
        (
            "another key's name",
            Box::new(|it| it.signatures[0].keyid = "ab".repeat(32)),
            "bundle_signature_wrong",
            Verdict::Invalid,
        ),
        (
            "no key's name",
            Box::new(|it| it.signatures[0].keyid = "me".into()),
            "bundle_statement",
            Verdict::Malformed,
        ),
        (
            "twice",
            Box::new(|it| it.signatures.push(it.signatures[0].clone())),
            "bundle_statement",
            Verdict::Malformed,
        ),
        (
            "a good one behind a bad one",
            Box::new(|it| it.signatures.insert(0, other.signatures[0].clone())),
            "bundle_statement",
            Verdict::Malformed,
        ),
        (
            "no signature at all",
            Box::new(|it| it.signatures[0].sig = "AAAA".into()),
            "bundle_statement",
            Verdict::Malformed,
        ),
        (
            "without padding",
            Box::new(|it| it.signatures[0].sig = it.signatures[0].sig.trim_end_matches('=').into()),
            "bundle_statement",
            Verdict::Malformed,
        ),
        (
            "for addresses",
            Box::new(|it| it.signatures[0].sig = urls(&format!("-{}", &it.signatures[0].sig[1..]))),
            "bundle_statement",
            Verdict::Malformed,
        ),
    ];
    for (what, change, code, verdict) in cases {
        let bytes = enveloped(&mine, change);
        let report = audit_signed(&bytes);
        assert!(report.has(code), "{what}: {:?}", codes(&report));
        assert_eq!(report.verdict, verdict, "{what}");
        // Without a key nothing of this is told but its spelling and what it is about.
        let open = audit(&bytes).verdict;
        let expected = if code == "bundle_signature_wrong" { Verdict::Valid } else { verdict };
        assert_eq!(open, expected, "{what}");
    }
}

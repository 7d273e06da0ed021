//! Tokens: what they are for, and that nobody else makes them.

use probity_host::Grant;

fn grant() -> Grant {
    Grant {
        run: "run".to_owned(),
        node: "gate".to_owned(),
        interrupt: "i-1".to_owned(),
        principal: "ci".to_owned(),
        expires_ms: 5,
    }
}

#[test]
fn a_token_reads_back_with_its_secret_alone() {
    let token = grant().sign(&[1; 32]);
    assert_eq!(Grant::read(&token, &[1; 32]), Some(grant()));
    assert_eq!(Grant::read(&token, &[2; 32]), None);
}

#[test]
fn a_token_that_was_changed_anywhere_is_none() {
    let token = grant().sign(&[1; 32]);
    for place in 0..token.len() {
        let mut changed = token.clone().into_bytes();
        changed[place] = if changed[place] == b'A' { b'B' } else { b'A' };
        let changed = String::from_utf8(changed).unwrap();
        if changed.to_lowercase() != token.to_lowercase() {
            assert_eq!(Grant::read(&changed, &[1; 32]), None, "{place}");
        }
    }
    for text in ["", ".", "a.b", &"a".repeat(5_000)] {
        assert_eq!(Grant::read(text, &[1; 32]), None);
    }
}

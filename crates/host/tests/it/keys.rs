//! Keys: read, compared, never shown.

use probity_host::{Keys, KeysError, Scope};

const FILE: &str = r#"
[[key]]
sha256 = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b"
tenant = "acme"
principal = "ci"
scopes = ["runs:read", "runs:create"]

[[key]]
key_env = "OTHER"
tenant = "other"
"#;

fn env(name: &str) -> Option<String> {
    (name == "OTHER").then(|| "open sesame".to_owned())
}

#[test]
fn a_key_is_known_by_its_digest_or_by_its_variable() {
    let keys = Keys::parse(FILE, env).unwrap();
    // The digest above is that of `secret`.
    let caller = keys.caller("secret").unwrap();
    assert_eq!((caller.tenant.as_str(), caller.principal.as_str()), ("acme", "ci"));
    assert!(caller.may(Scope::RunsCreate) && !caller.may(Scope::RunsCancel));
    let other = keys.caller("open sesame").unwrap();
    assert_eq!((other.tenant.as_str(), other.principal.as_str()), ("other", "other"));
    assert_eq!(other.scopes, Scope::ALL);
    for wrong in [
        "",
        "Secret",
        "secret ",
        "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b",
    ] {
        assert!(keys.caller(wrong).is_none(), "{wrong:?}");
    }
    assert_eq!(keys.tenants(), ["acme", "other"]);
}

#[test]
fn one_key_of_the_environment_may_everything() {
    let keys = Keys::single("k").unwrap();
    assert_eq!(keys.caller("k").unwrap().tenant, "default");
    assert_eq!(keys.caller("k").unwrap().scopes, Scope::ALL);
    assert!(matches!(Keys::single(" "), Err(KeysError::None)));
}

#[test]
fn what_is_wrong_in_a_keys_file_is_told_and_no_key_is_shown() {
    let digest = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b";
    for (text, code) in [
        (String::new(), "host_keys_none"),
        ("[[key]]\nsecret = \"hush\"".to_owned(), "host_keys_unreadable"),
        ("[[key]]\ntenant = \"a\"".to_owned(), "host_key_invalid"),
        ("[[key]]\nkey_env = \"UNSET\"".to_owned(), "host_key_invalid"),
        ("[[key]]\nsha256 = \"12\"".to_owned(), "host_key_invalid"),
        (format!("[[key]]\nsha256 = \"{digest}\"\nscopes = [\"all\"]"), "host_key_invalid"),
        (format!("[[key]]\nsha256 = \"{digest}\"\ntenant = \"\""), "host_key_invalid"),
        (
            format!("[[key]]\nsha256 = \"{digest}\"\n[[key]]\nsha256 = \"{digest}\""),
            "host_key_invalid",
        ),
        (format!("[[key]]\nsha256 = \"{digest}\"\nkey_env = \"OTHER\""), "host_key_invalid"),
    ] {
        let error = Keys::parse(&text, env).unwrap_err();
        assert_eq!(error.code(), code, "{text}");
        assert!(!error.to_string().contains("hush"), "{error}");
    }
    let shown = format!("{:?}", Keys::single("hush").unwrap());
    assert!(!shown.contains("hush"), "{shown}");
}

#[test]
fn every_scope_reads_back_as_itself() {
    for scope in Scope::ALL {
        assert_eq!(scope.as_str().parse::<Scope>().unwrap(), scope);
    }
    assert!("runs:*".parse::<Scope>().is_err());
}

//! Credentials files: keys as NATS writes them, and servers that ask for them.

use std::fs;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use nkeys::{KeyPair, KeyPairType};
use probity_store::{Batch, RunLog as _};
use probity_store_nats::{Login, NatsOptions, NatsStore};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::cluster::{Cluster, Setup};

fn key(kind: KeyPairType, byte: u8) -> KeyPair {
    KeyPair::new_from_raw(kind, [byte; 32]).unwrap()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Seeds, public keys and signatures of `nonce`, as the published crate `nkeys` 0.4.5 gives them.
#[test]
fn keys_are_those_of_nats() {
    let counted = std::array::from_fn(|index| u8::try_from(index).unwrap());
    for (kind, raw, seed, public, signature) in [
        (
            KeyPairType::User,
            [0; 32],
            "SUAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAEQ",
            "UA5WUJ54Z23KILLCUOUNAKTPBVZWKMQVO4O6EQ5GHLAERIMLLHNCTYM5",
            "fee20f7abb48891e88a5fd38f5063c529d77cfee174662f34ee84d81004235f6\
             4140235f08243636b4057bae94741ee269774db8e64ce6740ca35d142e4f8a0d",
        ),
        (
            KeyPairType::Account,
            [7; 32],
            "SAAAOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DQOB6O4U",
            "ADVEU3DD4KOFECV66VIHWEZOYX4ZKR3WV27L464SIIPOU2IUI3JCZW22",
            "b46cc0d261f1d06d79de7f3c26f05328e6915a6483cdba7bbeb5d098b0c521ec\
             1ecc91a9068db07d3bdb0f1b5fe657050318cadff70ca272d0182a86e6287304",
        ),
        (
            KeyPairType::Operator,
            [255; 32],
            "SOAP77777777777777777777777777777777777777777777777777YLDY",
            "OB3KCWJAISTOJ5IREZN4U45GATMQWBJJ2HPWAK7DBIM2SJLWMDI7KDH2",
            "229b9e38307cbdbd44f567a72dbe481ceb8d4ba52cc1d4c35e14f509e18f6051\
             2020722acabf22b75945fd94b02f395d61cdb39bf7c4a35108263d2466777a0a",
        ),
        (
            KeyPairType::User,
            counted,
            "SUAAAAICAMCAKBQHBAEQUCYMBUHA6EARCIJRIFIWC4MBSGQ3DQOR4H776Y",
            "UAB2CB576PHBBPQ5ODORRZ2LYCMWPZGWGCN2KDK7DXOIMZASKUY3RLKK",
            "f874eae1de830c754d6fc32c4d1019b5221ad2f5c0ff2b996e5c1303b253e706\
             3398a071276c2961f8c787b85ca6d66589d6d5c3fe992f2b9b8e6ff20e4f8e09",
        ),
    ] {
        let read = KeyPair::from_seed(seed).unwrap();
        assert_eq!(read.key_pair_type(), kind);
        for key in [KeyPair::new_from_raw(kind, raw).unwrap(), read] {
            assert_eq!(key.seed().unwrap(), seed);
            assert_eq!(key.public_key(), public);
            assert_eq!(hex(&key.sign(b"nonce").unwrap()), signature);
            assert!(!format!("{key:?}").contains(seed));
        }
    }
    // The one in the documentation of the client.
    let seed = "SUANQDPB2RUOE4ETUA26CNX7FUKE5ZZKFCQIIW63OX225F2CO7UEXTM7ZY";
    let public = "UAMMBNV2EYR65NYZZ7IAK5SIR5ODNTTERJOBOF4KJLMWI45YOXOSWULM";
    assert_eq!(KeyPair::from_seed(seed).unwrap().public_key(), public);
}

#[test]
fn damaged_seeds_are_refused() {
    let seed = key(KeyPairType::User, 3).seed().unwrap();
    for place in 0..seed.len() {
        let mut changed = seed.clone().into_bytes();
        changed[place] = if changed[place] == b'B' { b'C' } else { b'B' };
        let changed = String::from_utf8(changed).unwrap();
        assert!(KeyPair::from_seed(&changed).is_err(), "{place}");
        assert!(KeyPair::from_seed(&seed[..place]).is_err(), "{place}");
    }
    for other in
        ["", "SU", "not base32!", &seed.to_lowercase(), &key(KeyPairType::User, 3).public_key()]
    {
        assert!(KeyPair::from_seed(other).is_err(), "{other}");
    }
}

fn jwt(
    signer: &KeyPair,
    name: &str,
    subject: &KeyPair,
    expires: Option<u64>,
    nats: &Value,
) -> String {
    let encode = |value: &Value| BASE64_URL_SAFE_NO_PAD.encode(value.to_string());
    let head = encode(&json!({ "typ": "JWT", "alg": "ed25519-nkey" }));
    let mut claims = json!({
        "jti": name, "iat": 1_700_000_000, "iss": signer.public_key(), "name": name,
        "sub": subject.public_key(), "nats": nats,
    });
    if let Some(expires) = expires {
        claims["exp"] = json!(expires);
    }
    let text = format!("{head}.{}", encode(&claims));
    let signature = BASE64_URL_SAFE_NO_PAD.encode(signer.sign(text.as_bytes()).unwrap());
    format!("{text}.{signature}")
}

fn user_jwt(account: &KeyPair, user: &KeyPair, expires: Option<u64>) -> String {
    let nats = json!({
        "pub": {}, "sub": {}, "subs": -1, "data": -1, "payload": -1, "type": "user", "version": 2,
    });
    jwt(account, "u", user, expires, &nats)
}

fn creds(jwt: &str, user: &KeyPair) -> String {
    format!(
        "-----BEGIN NATS USER JWT-----\n{jwt}\n------END NATS USER JWT------\n\n\
         ************************* IMPORTANT *************************\n\
         NKEYs are sensitive and should be treated as secrets.\n\n\
         -----BEGIN USER NKEY SEED-----\n{}\n------END USER NKEY SEED------\n",
        user.seed().unwrap()
    )
}

/// A server that trusts one operator, with one account that may use JetStream.
async fn operated(operator: &KeyPair, account: &KeyPair) -> Cluster {
    let system = key(KeyPairType::Account, 9);
    let limits = |disk: i64| {
        json!({
            "limits": {
                "subs": -1, "data": -1, "payload": -1, "imports": -1, "exports": -1,
                "wildcards": true, "conn": -1, "leaf": -1, "mem_storage": disk,
                "disk_storage": disk, "streams": disk, "consumer": disk,
            },
            "default_permissions": { "pub": {}, "sub": {} }, "type": "account", "version": 2,
        })
    };
    let lines = format!(
        "operator: {}\nsystem_account: {}\nresolver: MEMORY\nresolver_preload: {{ {}: {}, {}: {} }}",
        jwt(operator, "o", operator, None, &json!({ "type": "operator", "version": 2 })),
        system.public_key(),
        system.public_key(),
        jwt(operator, "sys", &system, None, &limits(0)),
        account.public_key(),
        jwt(operator, "a", account, None, &limits(-1)),
    );
    Cluster::with(1, &Setup { lines, ..Setup::default() }).await
}

fn written(folder: &TempDir, name: &str, text: &str) -> PathBuf {
    let path = folder.path().join(name);
    fs::write(&path, text).unwrap();
    path
}

async fn appends(store: &NatsStore) {
    let run = "proven".parse().unwrap();
    let len = store.state(&run).await.unwrap().unwrap_or_default().len;
    let appended = store.append(&run, len, Batch::of(vec![b"x".to_vec()])).await;
    assert_eq!(appended, Ok(len + 1));
}

/// The code and the words of a refusal.
async fn refused(options: NatsOptions) -> (&'static str, String) {
    let error = NatsStore::connect(options).await.expect_err("it was opened");
    (error.code(), error.to_string())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_credentials_file_lets_its_user_in() {
    let operator = key(KeyPairType::Operator, 1);
    let (account, user) = (key(KeyPairType::Account, 2), key(KeyPairType::User, 3));
    let cluster = operated(&operator, &account).await;
    let folder = tempfile::tempdir().unwrap();
    let with = |path: &Path| NatsOptions {
        login: Login::Credentials(path.to_owned()),
        ..cluster.options()
    };
    let good = creds(&user_jwt(&account, &user, None), &user);
    let path = written(&folder, "good.creds", &good);
    let url = format!(
        "nats://{}?replicas=1&monitor={}&creds={}",
        cluster.address(0),
        cluster.options().monitors[0],
        path.display()
    );
    let store = NatsStore::connect(NatsOptions::parse(&url).unwrap()).await.unwrap();
    appends(&store).await;
    let windows = written(&folder, "windows.creds", &good.replace('\n', "\r\n"));
    appends(&cluster.open(with(&windows)).await).await;

    let stranger = key(KeyPairType::User, 4);
    for (name, text) in [
        ("other-key", creds(&user_jwt(&account, &user, None), &stranger)),
        ("other-account", creds(&user_jwt(&key(KeyPairType::Account, 5), &user, None), &user)),
        ("expired", creds(&user_jwt(&account, &user, Some(1_700_000_001)), &user)),
        ("seed-alone", user.seed().unwrap()),
    ] {
        let (code, text) = refused(with(&written(&folder, name, &text))).await;
        assert_eq!(code, "nats_auth", "{name}: {text}");
        assert!(text.contains("creds file"), "{name}: {text}");
    }
    assert_eq!(refused(cluster.options()).await.0, "nats_auth");

    // The file was renewed meanwhile; the next connection takes what it holds then.
    let other = creds(&user_jwt(&account, &stranger, None), &stranger);
    fs::write(&path, other).unwrap();
    cluster.kill(0);
    cluster.restart(0);
    appends(&store).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_seed_alone_lets_a_known_key_in() {
    let user = key(KeyPairType::User, 11);
    let lines = format!("authorization {{ users: [ {{ nkey: {} }} ] }}", user.public_key());
    let cluster = Cluster::with(1, &Setup { lines, ..Setup::default() }).await;
    let folder = tempfile::tempdir().unwrap();
    let with = |text: &str| NatsOptions {
        login: Login::Credentials(written(&folder, "user.nk", text)),
        ..cluster.options()
    };
    let seed = user.seed().unwrap();
    appends(&cluster.open(with(&format!("{seed}\n"))).await).await;
    let stranger = key(KeyPairType::User, 12).seed().unwrap();
    assert_eq!(refused(with(&stranger)).await.0, "nats_auth");
}

/// What is wrong with a file is said before any server is asked, without a word of what is in it.
#[tokio::test]
async fn what_is_wrong_with_a_file_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let user = key(KeyPairType::User, 3);
    let seed = user.seed().unwrap();
    let changed = format!("{}A{}", &seed[..20], &seed[21..]);
    assert_ne!(changed, seed);
    for (text, word) in [
        (String::new(), "BEGIN USER NKEY SEED"),
        (
            "-----BEGIN NATS USER JWT-----\na.b.c\n------END NATS USER JWT------\n".to_owned(),
            "SEED",
        ),
        (creds("a.b.c", &user).replace(&seed, ""), "SEED"),
        (creds("a.b.c", &user).replace(&seed, &changed), "checksum"),
        (creds("a.b.c", &user).replace(&seed, &seed[..40]), "58 characters"),
        (creds("a.b.c", &key(KeyPairType::Account, 3)), "SU"),
        ("S".repeat(100_000), "larger than"),
    ] {
        let path = written(&folder, "bad.creds", &text);
        let login = Login::Credentials(path.clone());
        let (code, said) = refused(NatsOptions { login, ..NatsOptions::default() }).await;
        assert_eq!(code, "nats_auth", "{said}");
        assert!(said.contains(word) && said.contains("bad.creds"), "{said}");
        assert!(!said.contains(&seed[2..30]) && !said.contains(&changed[2..30]), "{said}");
    }
    let login = Login::Credentials(folder.path().join("none"));
    let (code, said) = refused(NatsOptions { login, ..NatsOptions::default() }).await;
    assert_eq!(code, "nats_auth");
    assert!(said.contains("none"), "{said}");
}

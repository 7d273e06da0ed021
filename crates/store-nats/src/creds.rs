//! Credentials files: who this is, and the key that proves it.

use std::io::Read as _;
use std::path::Path;

use async_nats::Auth;
use nkeys::KeyPair;
use zeroize::Zeroizing;

/// What is read of a file; the word of an account with all its limits is a few KiB.
const MAX_FILE_BYTES: u64 = 64 * 1024;

/// What a file says.
struct Credentials {
    /// What the account says about the user. Without it the server knows the key itself.
    jwt: Option<String>,
    key: KeyPair,
}

/// Reads a file and signs what the server sent. Each time anew, so that a file that was renewed counts
/// from the next connection on, and no secret stays in memory.
///
/// # Errors
/// What is wrong with the file, in words that hold nothing of it.
pub(crate) async fn login(path: &Path, nonce: Vec<u8>) -> Result<Auth, String> {
    let path = path.to_owned();
    let work = tokio::task::spawn_blocking(move || {
        let why = |why: String| format!("creds file `{}`: {why}", path.display());
        read(&path).and_then(|credentials| credentials.sign(&nonce)).map_err(why)
    });
    work.await.map_err(|error| error.to_string())?
}

/// Blocks between lines of dashes: one that is about a JWT and one that is about a seed. A file without
/// such lines is a seed alone.
fn read(path: &Path) -> Result<Credentials, String> {
    let mut bytes = Zeroizing::new(Vec::with_capacity(8 * 1024));
    let file = std::fs::File::open(path).map_err(|error| error.to_string())?;
    file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(format!("it is larger than {MAX_FILE_BYTES} bytes"));
    }
    let text = std::str::from_utf8(&bytes).map_err(|_| "it is no text".to_owned())?;
    let (mut jwt, mut seed) = (None, None);
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty()).peekable();
    if lines.peek().is_some_and(|line| !line.contains("---")) {
        seed = lines.next();
    }
    while let Some(line) = lines.next() {
        if !(line.starts_with("---") && line.contains("BEGIN")) {
            continue;
        }
        let value = lines.next().filter(|value| !value.starts_with("---"));
        if line.contains("JWT") {
            jwt = jwt.or(value);
        } else if line.contains("SEED") {
            seed = seed.or(value);
        }
    }
    let seed = seed.ok_or("it has no block `BEGIN USER NKEY SEED`; ask for a whole one")?;
    if !seed.starts_with("SU") {
        return Err("its seed is not the one of a user, which begins with SU".to_owned());
    }
    let key = KeyPair::from_seed(seed).map_err(|error| error.to_string())?;
    Ok(Credentials { jwt: jwt.map(str::to_owned), key })
}

impl Credentials {
    fn sign(self, nonce: &[u8]) -> Result<Auth, String> {
        let mut auth = Auth::new();
        auth.signature = Some(self.key.sign(nonce).map_err(|error| error.to_string())?);
        if self.jwt.is_none() {
            auth.nkey = Some(self.key.public_key());
        }
        auth.jwt = self.jwt;
        Ok(auth)
    }
}

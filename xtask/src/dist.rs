//! The release archive: the binary with completions, manual pages and licences, byte for byte the same
//! for the same inputs.

mod binary;
mod error;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

pub use error::DistError;

/// Files of the repository that go along.
const FILES: [&str; 4] = ["CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT", "README.md"];
/// Shells with completions, and the names that each looks for.
const SHELLS: [(&str, &str); 3] =
    [("bash", "bash/probity"), ("zsh", "zsh/_probity"), ("fish", "fish/probity.fish")];

/// What is packed, and where to.
#[derive(Debug, Default)]
pub struct Dist {
    /// The repository.
    pub root: PathBuf,
    /// Where archives are put. Default: `target/dist`.
    pub out: Option<PathBuf>,
    /// A binary that was built. Default: one is built for release.
    pub binary: Option<PathBuf>,
    /// A folder with manual pages. Default: they are written.
    pub man: Option<PathBuf>,
    /// What the binary was built for. Default: musl where its target is installed, else this machine.
    pub target: Option<String>,
}

impl Dist {
    /// Reads the words behind `dist`.
    ///
    /// # Errors
    /// [`DistError::Usage`].
    pub fn parse(root: &Path, words: &[&str]) -> Result<Self, DistError> {
        let mut dist = Self { root: root.to_path_buf(), ..Self::default() };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let value = words.next().ok_or(DistError::Usage)?;
            match *word {
                "--binary" => dist.binary = Some(value.into()),
                "--man" => dist.man = Some(value.into()),
                "--out" => dist.out = Some(value.into()),
                "--target" => dist.target = Some((*value).to_owned()),
                _ => return Err(DistError::Usage),
            }
        }
        Ok(dist)
    }

    /// Packs, and gives the archive. `SHA256SUMS` beside it names every archive of the folder.
    ///
    /// # Errors
    /// [`DistError`] with what is missing or failed.
    pub fn pack(&self) -> Result<PathBuf, DistError> {
        let target = binary::target(&self.root, self.target.as_deref())?;
        let built = match &self.binary {
            Some(binary) => binary.clone(),
            None => binary::build(&self.root, &target)?,
        };
        let version = binary::version(&built)?;
        let out = self.out.clone().unwrap_or_else(|| self.root.join("target/dist"));
        let name = format!("probity-{version}-{target}");
        let folder = out.join(&name);
        if folder.exists() {
            fs::remove_dir_all(&folder).map_err(|error| DistError::io(&folder, error))?;
        }
        self.fill(&folder, &built)?;
        let archive = out.join(format!("{name}.tar.gz"));
        pack_folder(&out, &name, &archive, self.built_at())?;
        fs::remove_dir_all(&folder).map_err(|error| DistError::io(&folder, error))?;
        write_sums(&out)?;
        match binary::glibc(&built)? {
            Some(least) => eprintln!("xtask: the binary needs glibc {least} or newer"),
            None => eprintln!("xtask: the binary is static, or not of glibc"),
        }
        Ok(archive)
    }

    fn fill(&self, folder: &Path, built: &Path) -> Result<(), DistError> {
        copy(built, &folder.join("bin/probity"))?;
        for file in FILES {
            copy(&self.root.join(file), &folder.join(file))?;
        }
        for (shell, name) in SHELLS {
            let script = output(Command::new(built).args(["completions", shell]))?;
            write(&folder.join("completions").join(name), &script)?;
        }
        let man = folder.join("man/man1");
        match &self.man {
            Some(pages) => copy_all(pages, &man),
            None => {
                let words = ["run", "--quiet", "-p", "probity", "--example", "man", "--"];
                run(Command::new(cargo()).current_dir(&self.root).args(words).arg(&man))
            }
        }
    }

    /// The time of every file in the archive: that of the commit, or of `SOURCE_DATE_EPOCH`.
    fn built_at(&self) -> u64 {
        let named = std::env::var("SOURCE_DATE_EPOCH").ok();
        let of_commit = || {
            let mut git = Command::new("git");
            git.args(["log", "-1", "--format=%ct"]).current_dir(&self.root).stderr(Stdio::null());
            output(&mut git).ok().and_then(|bytes| String::from_utf8(bytes).ok())
        };
        let text = named.or_else(of_commit).unwrap_or_default();
        text.trim().parse().unwrap_or_default()
    }
}

/// In order of name, owned by nobody, of one time: what differs between machines is left out.
fn pack_folder(out: &Path, name: &str, archive: &Path, built_at: u64) -> Result<(), DistError> {
    let tarred = out.join(format!("{name}.tar"));
    let mut tar = Command::new("tar");
    tar.args(["--sort=name", "--format=ustar", "--owner=0", "--group=0", "--numeric-owner"])
        .args(["--mode=u=rwX,go=rX", &format!("--mtime=@{built_at}")])
        .arg("--directory")
        .arg(out)
        .arg("--create")
        .arg("--file")
        .arg(&tarred)
        .arg(name);
    run(&mut tar)?;
    let packed = output(Command::new("gzip").args(["-9", "--no-name", "--stdout"]).arg(&tarred))?;
    fs::remove_file(&tarred).map_err(|error| DistError::io(&tarred, error))?;
    write(archive, &packed)
}

fn write_sums(out: &Path) -> Result<(), DistError> {
    let mut names = Vec::new();
    for entry in fs::read_dir(out).map_err(|error| DistError::io(out, error))? {
        let name = entry.map_err(|error| DistError::io(out, error))?.file_name();
        if name.to_string_lossy().ends_with(".tar.gz") {
            names.push(name);
        }
    }
    names.sort();
    let sums = output(Command::new("sha256sum").args(&names).current_dir(out))?;
    write(&out.join("SHA256SUMS"), &sums)
}

fn copy_all(from: &Path, to: &Path) -> Result<(), DistError> {
    for entry in fs::read_dir(from).map_err(|error| DistError::io(from, error))? {
        let entry = entry.map_err(|error| DistError::io(from, error))?;
        copy(&entry.path(), &to.join(entry.file_name()))?;
    }
    Ok(())
}

fn copy(from: &Path, to: &Path) -> Result<(), DistError> {
    make_folder_of(to)?;
    fs::copy(from, to).map(drop).map_err(|error| DistError::io(from, error))
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), DistError> {
    make_folder_of(path)?;
    fs::write(path, bytes).map_err(|error| DistError::io(path, error))
}

fn make_folder_of(path: &Path) -> Result<(), DistError> {
    let folder = path.parent().unwrap_or_else(|| Path::new("."));
    fs::create_dir_all(folder).map_err(|error| DistError::io(folder, error))
}

fn run(command: &mut Command) -> Result<(), DistError> {
    let text = format!("{command:?}");
    let start = |error| DistError::Start { command: text.clone(), error };
    let status = command.status().map_err(start)?;
    if status.success() { Ok(()) } else { Err(DistError::Failed { command: text }) }
}

fn output(command: &mut Command) -> Result<Vec<u8>, DistError> {
    let text = format!("{command:?}");
    let start = |error| DistError::Start { command: text.clone(), error };
    let output = command.stderr(Stdio::inherit()).output().map_err(start)?;
    if output.status.success() {
        Ok(output.stdout)
    } else {
        Err(DistError::Failed { command: text })
    }
}

/// The cargo that runs this, so that toolchains do not mix.
fn cargo() -> std::ffi::OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

//! Builds the control plane's programs from the Go modules, once for each version of the sources
//! and of Go. The caller chooses where to run them.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use sha2::{Digest as _, Sha256};

use crate::kubernetes_version::{KubernetesVersion, patch_in};
use crate::process::{dismiss, watched};
use crate::question::{answer_of, question_to};
use crate::whole_file::write_whole;
use crate::{carried_sources, environment};

/// The names under which the one binary can be called; see `cluster/main.go`.
pub(crate) const PROGRAMS: [&str; 5] =
    ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl"];
/// The name of the one binary.
pub(crate) const ONE_BINARY: &str = "almanac-cluster";
/// The directory in the cache for the initial data of control planes, which the test harness creates.
pub const BOOTSTRAPPED: &str = "bootstrapped";
/// The prefixes of the names of directories with sources, and of directories under removal.
pub(crate) const SOURCES: &str = "sources-";
const REMOVED: &str = "removed-";
/// The file that is locked while a control plane is built.
const LOCK: &str = "lock";
/// The interval of the progress lines of a long build.
const PROGRESS: Duration = Duration::from_secs(5);

/// A Go module to build, and the directory for its programs.
#[derive(Clone, Debug)]
pub struct GoBuild {
    /// The directory of the module.
    pub sources: PathBuf,
    /// The directory that contains a directory for each built version.
    pub kept_in: PathBuf,
}

/// A directory with the programs, and whether this call built it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Built {
    /// The directory with one link for each program.
    pub folder: PathBuf,
    /// Whether this call built the programs.
    pub now: bool,
}

impl GoBuild {
    /// The control plane of a version, built from the embedded sources and stored in the cache directory.
    pub fn for_control_plane(version: KubernetesVersion) -> Result<Self> {
        let kept_in = environment::control_planes()?;
        Ok(Self { sources: carried_sources::write(&kept_in, version)?, kept_in })
    }

    /// Removes all built control planes and their initial data, and returns the removed directories. Waits for a
    /// running build. A running control plane keeps running until one of its programs must restart.
    pub fn remove_all() -> Result<Vec<PathBuf>> {
        let bootstrapped = environment::cache_folder()?.join(BOOTSTRAPPED);
        let mut removed = Vec::new();
        for parent in [environment::control_planes()?, bootstrapped] {
            if parent.is_dir() {
                remove_directories(&parent, &mut removed)?;
            }
        }
        removed.sort();
        Ok(removed)
    }

    /// The programs, built unless this version was built before. Two runs at the same time are
    /// safe: one run builds, and the other waits.
    pub fn provide(&self) -> Result<Built> {
        if environment::program_on_path("go").is_none()
            && let Some(folder) = self.built_before()?
        {
            return Ok(Built { folder, now: false });
        }
        let version = self.version()?;
        let folder = self.folder(&version)?;
        if folder.is_dir() {
            self.note_built(&folder)?;
            return Ok(Built { folder, now: false });
        }
        fs::create_dir_all(&self.kept_in)
            .with_context(|| format!("failed to create {}", self.kept_in.display()))?;
        let _lock = lock_builds(&self.kept_in)?;
        if folder.is_dir() {
            return Ok(Built { folder, now: false });
        }
        self.build(&version, &folder).context("failed to build the control plane")?;
        self.note_built(&folder)?;
        Ok(Built { folder, now: true })
    }

    /// Fails with the reason if this machine cannot build the programs.
    pub fn check(&self) -> Result<()> {
        self.folder(&self.version()?).map(drop)
    }

    /// The programs that were last built from these sources. Without Go, the Go version cannot be read, but the
    /// programs run without Go.
    fn built_before(&self) -> Result<Option<PathBuf>> {
        let note = self.note_of_last()?;
        let Ok(name) = fs::read_to_string(&note) else { return Ok(None) };
        Ok(Some(self.kept_in.join(name.trim())).filter(|folder| folder.is_dir()))
    }

    fn note_built(&self, folder: &Path) -> Result<()> {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        let note = self.note_of_last()?;
        if fs::read_to_string(&note).is_ok_and(|noted| noted == name) {
            return Ok(());
        }
        write_whole(&note, &name)
    }

    fn note_of_last(&self) -> Result<PathBuf> {
        Ok(self.kept_in.join(format!("last-of-{}", hexadecimal(self.digest()?))))
    }

    /// The Kubernetes version `go.mod` pins, such as `1.36.2`.
    pub fn version(&self) -> Result<String> {
        let file = self.sources.join("go.mod");
        let text = fs::read_to_string(&file)
            .with_context(|| format!("failed to read {}", file.display()))?;
        patch_in(&text)
            .map(str::to_owned)
            .with_context(|| format!("{} requires no k8s.io/kubernetes", file.display()))
    }

    /// The directory for these sources with this Go version. Another Go version or changed sources use another
    /// directory.
    fn folder(&self, version: &str) -> Result<PathBuf> {
        let mut digest = self.digest()?;
        digest.update(self.go_version()?);
        digest.update(Self::link_flags(version)?);
        Ok(self.kept_in.join(format!("{version}-{}", hexadecimal(digest))))
    }

    /// The digest of the sources.
    fn digest(&self) -> Result<Sha256> {
        let mut digest = Sha256::new();
        for file in self.source_files()? {
            let bytes =
                fs::read(&file).with_context(|| format!("failed to read {}", file.display()))?;
            digest.update(file.file_name().unwrap_or_default().as_encoded_bytes());
            digest.update(bytes.len().to_le_bytes());
            digest.update(bytes);
        }
        Ok(digest)
    }

    fn source_files(&self) -> Result<Vec<PathBuf>> {
        let mut files = Vec::new();
        let entries = fs::read_dir(&self.sources)
            .with_context(|| format!("failed to read {}", self.sources.display()))?;
        for entry in entries {
            let file = entry?.path();
            let counts = file.file_name().is_some_and(|name| name == "go.mod" || name == "go.sum")
                || file.extension().is_some_and(|extension| extension == "go");
            if counts {
                files.push(file);
            }
        }
        files.sort();
        Ok(files)
    }

    /// The output of `go version` in the directory of the module, which may name a toolchain.
    fn go_version(&self) -> Result<Vec<u8>> {
        let Some(go) = environment::program_on_path("go") else {
            bail!(
                "Go is not on the PATH, and the control plane must be built with Go once: install it \
                 (go.dev/dl), or set {} to a directory with the programs to run",
                environment::KUBEBUILDER_ASSETS
            );
        };
        let mut question = question_to(&go);
        question.arg("version").current_dir(&self.sources);
        let output = answer_of(question).context("failed to start go")?;
        if !output.status.success() {
            bail!("`go version` failed: {}", String::from_utf8_lossy(&output.stderr).trim());
        }
        Ok(output.stdout)
    }

    /// Upstream's release build sets the version at link time; without it, clients cannot read it.
    fn link_flags(version: &str) -> Result<String> {
        let mut parts = version.split('.');
        let (Some(major), Some(minor)) = (parts.next(), parts.next()) else {
            bail!("go.mod requires k8s.io/kubernetes v{version}, which is not MAJOR.MINOR.PATCH");
        };
        Ok(["k8s.io/component-base/version", "k8s.io/client-go/pkg/version"]
            .map(|package| {
                format!(
                    "-X {package}.gitVersion=v{version} -X {package}.gitMajor={major} \
                     -X {package}.gitMinor={minor}"
                )
            })
            .join(" "))
    }

    fn build(&self, version: &str, folder: &Path) -> Result<()> {
        let started = Instant::now();
        print_progress(&format!(
            "building the Kubernetes {version} control plane; the first time, this takes minutes"
        ));
        // Removes the files of a run that was killed; this process has the lock.
        let unfinished = self.kept_in.join("unfinished");
        if unfinished.exists() {
            fs::remove_dir_all(&unfinished)?;
        }
        fs::create_dir_all(&unfinished)?;
        let binary = unfinished.join(ONE_BINARY);
        let mut command = watched(Path::new("go"));
        command
            .args(["build", "-v", "-trimpath", "-buildvcs=false", "-ldflags"])
            .arg(format!("-s -w {}", Self::link_flags(version)?))
            .arg("-o")
            .arg(&binary)
            .arg(".")
            // No C compiler is needed, and the result runs anywhere.
            .env("CGO_ENABLED", "0")
            // The build targets this machine, even if the user's environment selects another platform.
            .env_remove("GOOS")
            .env_remove("GOARCH")
            .current_dir(&self.sources);
        run_with_progress(command)?;
        for program in PROGRAMS {
            std::os::unix::fs::symlink(ONE_BINARY, unfinished.join(program))?;
        }
        // Complete or absent: no process ever sees a partial build.
        fs::rename(&unfinished, folder)
            .with_context(|| format!("failed to move the programs to {}", folder.display()))?;
        print_progress(&format!(
            "built the control plane in {:.0} s",
            started.elapsed().as_secs_f64()
        ));
        Ok(())
    }
}

/// Holds the lock that lets one process at a time build or remove control planes of any version.
fn lock_builds(kept_in: &Path) -> Result<File> {
    let lock = File::create(kept_in.join(LOCK))?;
    if lock.try_lock().is_err() {
        print_progress("another run is building a control plane; waiting for it");
        lock.lock().context("failed to lock the cache directory")?;
    }
    Ok(lock)
}

/// Removes the built programs in a directory. A build in the same directory waits.
fn remove_directories(parent: &Path, removed: &mut Vec<PathBuf>) -> Result<()> {
    let _lock = lock_builds(parent)?;
    let entries = fs::read_dir(parent)
        .with_context(|| format!("failed to read {}", parent.display()))?
        .collect::<std::io::Result<Vec<_>>>()?;
    for entry in entries {
        let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        // A build that waits for the lock has already written its sources.
        if !entry.file_type()?.is_dir() || name.starts_with(SOURCES) {
            continue;
        }
        let doomed = if name.starts_with(REMOVED) {
            path.clone()
        } else {
            // Complete or absent, also for a process without the lock, and if this process is killed.
            let doomed = parent.join(format!("{REMOVED}{}-{name}", std::process::id()));
            fs::rename(&path, &doomed)
                .with_context(|| format!("failed to move {}", path.display()))?;
            doomed
        };
        fs::remove_dir_all(&doomed)
            .with_context(|| format!("failed to remove {}", doomed.display()))?;
        removed.push(path);
    }
    Ok(())
}

/// Enough of a digest to distinguish the sources.
pub(crate) fn hexadecimal(digest: Sha256) -> String {
    digest.finalize().iter().take(8).fold(String::new(), |mut name, byte| {
        let _ = write!(name, "{byte:02x}");
        name
    })
}

/// Runs `go build -v`, which names each compiled package, and prints the progress.
fn run_with_progress(mut command: Command) -> Result<()> {
    let mut go = command
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .context("failed to start go")?;
    let watcher = go.stdin.take().context("go has no watcher")?;
    let output = go.stderr.take().context("go has no standard error")?;
    let (sender, receiver) = mpsc::channel();
    let reader = std::thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(std::io::Result::ok) {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    let started = Instant::now();
    let mut shown = started;
    let mut lines: Vec<String> = Vec::new();
    loop {
        match receiver.recv_timeout(PROGRESS) {
            Ok(line) => lines.push(line),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        if shown.elapsed() >= PROGRESS {
            shown = Instant::now();
            let now = lines.last().map_or("reading modules, or linking", String::as_str);
            print_progress(&format!(
                "{:4} s, {} packages: {now}",
                started.elapsed().as_secs(),
                lines.len()
            ));
        }
    }
    let status = go.wait()?;
    dismiss(watcher);
    if reader.join().is_err() {
        bail!("failed to read the output of go");
    }
    if !status.success() {
        let end = lines[lines.len().saturating_sub(20)..].join("\n");
        bail!("`go build` ended with {status}:\n{end}");
    }
    Ok(())
}

/// Prints a line past the test runner's capture, because the user is waiting at a silent terminal.
pub fn print_progress(text: &str) {
    let _ = writeln!(std::io::stderr(), "control-plane: {text}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_programs_and_the_rest_of_a_killed_removal_are_removed_but_no_sources() {
        let parent = tempfile::tempdir().expect("a directory");
        let built = ["1.37.2-abc", "removed-1-1.37.2-abc"].map(|name| parent.path().join(name));
        let sources = parent.path().join(format!("{SOURCES}1.37-def"));
        for dir in built.iter().chain([&sources]) {
            fs::create_dir(dir).expect("a directory");
            fs::write(dir.join("etcd"), "").expect("a file");
        }
        let mut removed = Vec::new();
        remove_directories(parent.path(), &mut removed).expect("removed");
        removed.sort();
        assert_eq!(removed, built);
        let entries =
            fs::read_dir(parent.path()).expect("entries").map(|it| it.expect("one").path());
        let mut left: Vec<_> = entries.collect();
        left.sort();
        assert_eq!(left, [parent.path().join(LOCK), sources]);
    }
}

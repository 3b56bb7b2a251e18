//! The files that were read once, when the client was created or the server started: CAs and certificates.
//!
//! These files are never read again, so after a rotation the process would trust no server, or no client would trust
//! it. The process is notified and shuts down for a restart: it restarts with one client, and until then a standby
//! takes over. Tokens in files are not included, because the client re-reads those by itself.

use std::path::{Path, PathBuf};
use std::time::Duration;

use kube::config::{AuthInfo, Cluster, Kubeconfig};

/// The file in which a pod finds the CA of its API server.
pub(super) const POD_CA_FILE: &str = "/var/run/secrets/kubernetes.io/serviceaccount/ca.crt";

/// The interval of the checks. CAs are rotated days before they expire.
const LOOKS_EVERY: Duration = Duration::from_secs(5);

/// Files and their contents.
#[derive(Clone, Default)]
pub struct ReadOnce {
    files: Vec<ReadFile>,
}

/// The contents of a file. They may be secret, so they cannot be printed.
#[derive(Clone, PartialEq, Eq)]
struct ReadFile {
    path: PathBuf,
    content: Vec<u8>,
}

impl ReadOnce {
    /// Reads the files. Skips an unreadable file; building the client reports it.
    pub(super) fn read(paths: impl IntoIterator<Item = PathBuf>) -> Self {
        Self { files: paths.into_iter().filter_map(read).collect() }
    }

    /// Adds files to watch.
    #[must_use]
    pub fn and(mut self, paths: impl IntoIterator<Item = PathBuf>) -> Self {
        self.files.extend(paths.into_iter().filter_map(read));
        self
    }

    /// Waits until the contents of a file have changed, and returns its path.
    ///
    /// The change must be read twice in a row, because a file may be in the middle of being
    /// written. A missing or empty file is no reason to shut down, because no process could start
    /// with such a file.
    pub async fn replaced(&self) -> PathBuf {
        let mut before = None;
        loop {
            tokio::time::sleep(LOOKS_EVERY).await;
            match self.replacement() {
                Some(found) if before.as_ref() == Some(&found) => return found.path,
                found => before = found,
            }
        }
    }

    fn replacement(&self) -> Option<ReadFile> {
        let mut found = self.files.iter().filter_map(|file| Some((file, read(file.path.clone())?)));
        found.find(|(file, now)| *file != now).map(|(_, now)| now)
    }
}

fn read(path: PathBuf) -> Option<ReadFile> {
    let content = std::fs::read(&path).ok().filter(|content| !content.is_empty())?;
    Some(ReadFile { path, content })
}

/// The files that a client reads for this context of a kubeconfig.
pub(super) fn files_of(kubeconfig: &Kubeconfig, context: Option<&str>) -> Vec<PathBuf> {
    let Some(name) = context.or(kubeconfig.current_context.as_deref()) else { return Vec::new() };
    let contexts = &kubeconfig.contexts;
    let context = contexts.iter().find(|it| it.name == name).and_then(|it| it.context.as_ref());
    let Some(context) = context else { return Vec::new() };
    let cluster = kubeconfig.clusters.iter().find(|it| it.name == context.cluster);
    let user = kubeconfig.auth_infos.iter().find(|it| Some(&it.name) == context.user.as_ref());
    let authority = cluster.and_then(|it| it.cluster.as_ref()).and_then(authority_of);
    let own = user.and_then(|it| it.auth_info.as_ref()).map(own_of).unwrap_or_default();
    authority.into_iter().chain(own).map(|path| Path::new(path).to_owned()).collect()
}

/// Inline data in the kubeconfig takes precedence over a file.
fn authority_of(cluster: &Cluster) -> Option<&str> {
    let written = cluster.certificate_authority_data.is_some();
    cluster.certificate_authority.as_deref().filter(|_| !written)
}

fn own_of(user: &AuthInfo) -> Vec<&str> {
    let certificate = user.client_certificate.as_deref();
    let certificate = certificate.filter(|_| user.client_certificate_data.is_none());
    let key = user.client_key.as_deref().filter(|_| user.client_key_data.is_none());
    certificate.into_iter().chain(key).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tempfile::TempDir;

    use super::*;

    /// Files of a test, in its own temporary directory.
    fn written(files: &[&str]) -> (TempDir, Vec<PathBuf>) {
        let folder = tempfile::tempdir().expect("create a temporary directory");
        let paths = files.iter().map(|name| folder.path().join(name));
        let paths = paths.inspect(|path| fs::write(path, "old").expect("write a file")).collect();
        (folder, paths)
    }

    /// Whether the file is reported as replaced, given ample time.
    async fn is_replaced(read_once: &ReadOnce) -> Option<PathBuf> {
        tokio::time::timeout(10 * LOOKS_EVERY, read_once.replaced()).await.ok()
    }

    #[tokio::test(start_paused = true)]
    async fn only_a_file_with_changed_content_is_detected() {
        let (_folder, paths) = written(&["ca.crt", "client.crt"]);
        let read_once = ReadOnce::read(paths.clone());
        assert_eq!(is_replaced(&read_once).await, None);
        fs::write(&paths[1], "old").expect("write a file");
        assert_eq!(is_replaced(&read_once).await, None, "the content is the same");
        fs::write(&paths[1], "new").expect("write a file");
        assert_eq!(is_replaced(&read_once).await, Some(paths[1].clone()));
    }

    #[tokio::test(start_paused = true)]
    async fn a_missing_or_empty_file_is_ignored() {
        let (_folder, paths) = written(&["ca.crt"]);
        let read_once = ReadOnce::read(paths.clone());
        fs::write(&paths[0], "").expect("write a file");
        assert_eq!(is_replaced(&read_once).await, None);
        fs::remove_file(&paths[0]).expect("remove the file");
        assert_eq!(is_replaced(&read_once).await, None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_file_still_being_written_is_awaited() {
        let (_folder, paths) = written(&["ca.crt"]);
        let read_once = ReadOnce::read(paths.clone());
        let waiting = tokio::spawn(async move { read_once.replaced().await });
        for part in ["n", "ne", "new"] {
            fs::write(&paths[0], part).expect("write a file");
            tokio::time::sleep(LOOKS_EVERY).await;
            assert!(!waiting.is_finished(), "{part} was read only once");
        }
        tokio::time::sleep(2 * LOOKS_EVERY).await;
        assert!(waiting.is_finished());
    }

    #[test]
    fn only_the_files_of_the_selected_context_count_not_inline_data() {
        let kubeconfig = Kubeconfig::from_yaml(
            "
            current-context: here
            contexts:
            - {name: here, context: {cluster: files, user: files}}
            - {name: there, context: {cluster: written, user: written}}
            clusters:
            - {name: files, cluster: {server: 'https://a', certificate-authority: /ca}}
            - name: written
              cluster: {server: 'https://b', certificate-authority: /b, certificate-authority-data: Yg==}
            users:
            - {name: files, user: {client-certificate: /cert, client-key: /key}}
            - {name: written, user: {token: t}}
            ",
        );
        let kubeconfig = kubeconfig.expect("a kubeconfig");
        let paths = ["/ca", "/cert", "/key"].map(PathBuf::from);
        assert_eq!(files_of(&kubeconfig, None), paths);
        assert_eq!(files_of(&kubeconfig, Some("there")), Vec::<PathBuf>::new());
        assert_eq!(files_of(&kubeconfig, Some("nowhere")), Vec::<PathBuf>::new());
    }
}

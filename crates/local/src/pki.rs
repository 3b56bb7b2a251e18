//! The certificates of one control plane. A CA that lives as long as the data signs a
//! serving certificate for loopback, and a certificate for each client of the API server. Another
//! CA signs for etcd, so etcd does not trust the clients of the API server.

use std::fs;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use serde_json::json;

/// The subject of a client certificate: file name, common name, organization.
const CLIENTS: [(&str, &str, Option<&str>); 4] = [
    (ADMIN, "almanac-admin", Some("system:masters")),
    (CONTROLLER_MANAGER, "system:kube-controller-manager", None),
    (SCHEDULER, "system:kube-scheduler", None),
    (FRONT_PROXY, "front-proxy-client", None),
];
pub(crate) const ADMIN: &str = "admin";
pub(crate) const CONTROLLER_MANAGER: &str = "controller-manager";
pub(crate) const SCHEDULER: &str = "scheduler";
pub(crate) const FRONT_PROXY: &str = "front-proxy-client";
pub(crate) const AUTHORITY: &str = "ca";
/// The certificate of etcd, for serving, for its peers, and for its clients.
pub(crate) const ETCD: &str = "etcd";
pub(crate) const ETCD_AUTHORITY: &str = "etcd-ca";
pub(crate) const SERVING: &str = "serving";
pub(crate) const SERVICE_ACCOUNTS: &str = "service-accounts";

/// The name of the context, the cluster and the user in kubeconfigs.
const CONTEXT: &str = "almanac";

/// The names and addresses in the serving certificates of components.
const SERVED_AS: [&str; 6] = [
    "127.0.0.1",
    "localhost",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "10.0.0.1",
];

/// A directory of certificates and keys.
#[derive(Debug)]
pub(crate) struct Pki {
    folder: PathBuf,
}

impl Pki {
    /// The keys and certificates of a directory. Creates all of them if the directory is missing.
    pub(crate) fn provide(folder: &Path) -> Result<Self> {
        if !folder.is_dir() {
            let unfinished = Self { folder: folder.with_extension("unfinished") };
            // A run that was killed may have left the directory.
            fs::create_dir_all(&unfinished.folder)
                .with_context(|| format!("failed to create {}", unfinished.folder.display()))?;
            unfinished
                .write_all()
                .context("failed to create the certificates of the control plane")?;
            // After a power failure, all files exist, or none.
            fs::File::open(&unfinished.folder)
                .and_then(|written| written.sync_all())
                .and_then(|()| fs::rename(&unfinished.folder, folder))
                .with_context(|| {
                    format!("failed to move the certificates to {}", folder.display())
                })?;
        }
        Ok(Self { folder: folder.to_owned() })
    }

    pub(crate) fn certificate(&self, name: &str) -> String {
        self.file(name, "crt").display().to_string()
    }

    pub(crate) fn key(&self, name: &str) -> String {
        self.file(name, "key").display().to_string()
    }

    pub(crate) fn public_key(&self, name: &str) -> String {
        self.file(name, "pub").display().to_string()
    }

    /// Writes a kubeconfig for one of the clients, as JSON, which is valid YAML.
    pub(crate) fn write_kubeconfig(&self, file: &Path, server: &str, client: &str) -> Result<()> {
        let authority = if client == ETCD { ETCD_AUTHORITY } else { AUTHORITY };
        let config = json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": CONTEXT, "cluster": {
                "server": server,
                "certificate-authority": self.certificate(authority),
            }}],
            "users": [{"name": CONTEXT, "user": {
                "client-certificate": self.certificate(client),
                "client-key": self.key(client),
            }}],
            "contexts": [{"name": CONTEXT, "context": {"cluster": CONTEXT, "user": CONTEXT}}],
            "current-context": CONTEXT,
        });
        write_private(file, &serde_json::to_string_pretty(&config)?)
    }

    fn write_all(&self) -> Result<()> {
        let etcd_authority =
            self.issue_authority(ETCD_AUTHORITY, "almanac-local-etcd-authority")?;
        let mut etcd = CertificateParams::new(vec!["127.0.0.1".into(), "localhost".into()])?;
        etcd.distinguished_name.push(DnType::CommonName, "etcd");
        etcd.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        self.issue(ETCD, etcd, &etcd_authority)?;

        let authority = self.issue_authority(AUTHORITY, "almanac-local-authority")?;
        let served_as: Vec<String> = SERVED_AS.map(String::from).to_vec();
        let mut serving = CertificateParams::new(served_as)?;
        serving.distinguished_name.push(DnType::CommonName, "kube-apiserver");
        serving.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        self.issue(SERVING, serving, &authority)?;

        for (file, name, organisation) in CLIENTS {
            let mut client = CertificateParams::default();
            client.distinguished_name.push(DnType::CommonName, name);
            if let Some(organisation) = organisation {
                client.distinguished_name.push(DnType::OrganizationName, organisation);
            }
            client.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
            self.issue(file, client, &authority)?;
        }

        let tokens = KeyPair::generate()?;
        write_private(&self.file(SERVICE_ACCOUNTS, "key"), &tokens.serialize_pem())?;
        write_private(&self.file(SERVICE_ACCOUNTS, "pub"), &tokens.public_key_pem())
    }

    fn issue_authority(&self, file: &str, name: &str) -> Result<Issuer<'static, KeyPair>> {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        let key = KeyPair::generate()?;
        let certificate = params.self_signed(&key)?;
        self.write(file, &certificate.pem(), &key)?;
        Ok(Issuer::new(params, key))
    }

    fn issue(
        &self,
        name: &str,
        mut params: CertificateParams,
        authority: &Issuer<'_, KeyPair>,
    ) -> Result<()> {
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, authority)?;
        self.write(name, &certificate.pem(), &key)
    }

    fn write(&self, name: &str, certificate: &str, key: &KeyPair) -> Result<()> {
        write_private(&self.file(name, "crt"), certificate)?;
        write_private(&self.file(name, "key"), &key.serialize_pem())
    }

    fn file(&self, name: &str, extension: &str) -> PathBuf {
        self.folder.join(format!("{name}.{extension}"))
    }
}

/// Writes a file that only the user may read.
pub fn write_private(file: &Path, text: &str) -> Result<()> {
    use std::io::Write as _;
    fs::File::options()
        .create(true)
        .write(true)
        .truncate(true)
        .mode(0o600)
        .open(file)
        .and_then(|mut open| {
            open.write_all(text.as_bytes())?;
            open.sync_all()
        })
        .with_context(|| format!("failed to write {}", file.display()))
}

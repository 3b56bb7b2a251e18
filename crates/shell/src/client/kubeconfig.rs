//! A client's configuration, from a kubeconfig: the cluster, the CAs it trusts, and its credentials. `proxy` chooses
//! the proxy. The caller finds the kubeconfig, and sets the rest of the client's configuration.

use kube::config::{Cluster, Config, ExecAuthCluster, Kubeconfig, KubeconfigError};
use x509_parser::pem::parse_x509_pem;

use super::proxy::{Environment, ProxyError};

const BEGIN: &str = "-----BEGIN CERTIFICATE-----";
const END: &str = "-----END CERTIFICATE-----";

/// The reason that a kubeconfig cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum UnusableKubeconfig {
    /// The file cannot be read, or lacks something.
    #[error(transparent)]
    Kubeconfig(#[from] KubeconfigError),
    /// The CA is not in PEM.
    #[error("failed to read the certificate authority of its cluster: {0}")]
    Authority(String),
    /// The proxy cannot be used.
    #[error(transparent)]
    Proxy(#[from] ProxyError),
}

/// The configuration for a context, or else for the current context.
pub fn configuration_of(
    read: &Kubeconfig,
    context: Option<&str>,
) -> Result<Config, UnusableKubeconfig> {
    configuration_in(read, context, &Environment::read())
}

fn configuration_in(
    read: &Kubeconfig,
    context: Option<&str>,
    environment: &Environment,
) -> Result<Config, UnusableKubeconfig> {
    let name = context.or(read.current_context.as_deref());
    let name = name.ok_or(KubeconfigError::CurrentContextNotSet)?;
    let context = read.contexts.iter().find(|it| it.name == name);
    let context = context.and_then(|it| it.context.as_ref());
    let context = context.ok_or_else(|| KubeconfigError::LoadContext(name.to_owned()))?;
    let cluster = read.clusters.iter().find(|it| it.name == context.cluster);
    let cluster = cluster.and_then(|it| it.cluster.as_ref());
    let cluster =
        cluster.ok_or_else(|| KubeconfigError::LoadClusterOfContext(context.cluster.clone()))?;
    let server = cluster.server.as_deref().ok_or(KubeconfigError::MissingClusterUrl)?;
    let server = server.parse().map_err(KubeconfigError::ParseClusterUrl)?;

    let mut config = Config::new(server);
    config.proxy_url = environment.proxy_for(&config.cluster_url, cluster.proxy_url.as_deref())?;
    config.root_cert = authority(cluster)?;
    config.accept_invalid_certs = cluster.insecure_skip_tls_verify.unwrap_or_default();
    config.disable_compression = cluster.disable_compression.unwrap_or_default();
    config.tls_server_name.clone_from(&cluster.tls_server_name);
    if let Some(namespace) = &context.namespace {
        config.default_namespace.clone_from(namespace);
    }
    // A missing user means no credentials, as for kubectl.
    let user = read.auth_infos.iter().find(|it| Some(&it.name) == context.user.as_ref());
    config.auth_info = user.and_then(|it| it.auth_info.clone()).unwrap_or_default();
    if let Some(plugin) = config.auth_info.exec.as_mut().filter(|it| it.provide_cluster_info) {
        plugin.cluster = Some(cluster.try_into()?);
    }
    Ok(config)
}

/// The certificates of the CA, in DER.
fn authority(cluster: &Cluster) -> Result<Option<Vec<Vec<u8>>>, UnusableKubeconfig> {
    // As for kubectl, an empty value is not set.
    let read = ExecAuthCluster::try_from(cluster)?.certificate_authority_data;
    let Some(pem) = read.filter(|pem| !pem.trim_ascii().is_empty()) else {
        return Ok(None);
    };
    let wrong = |error: String| UnusableKubeconfig::Authority(error);
    let text = String::from_utf8_lossy(&pem);
    let certificates = certificates_of(&text).map(|block| match parse_x509_pem(block.as_bytes()) {
        Ok((_, pem)) => Ok(pem.contents),
        Err(error) => Err(wrong(error.to_string())),
    });
    let certificates: Vec<_> = certificates.collect::<Result<_, _>>()?;
    if certificates.is_empty() {
        return Err(wrong("there is no certificate in it".to_owned()));
    }
    Ok(Some(certificates))
}

/// The certificates in a file, one for each block. Other blocks are skipped, such as an encrypted key.
fn certificates_of(text: &str) -> impl Iterator<Item = String> {
    let after_begin = text.split(BEGIN).skip(1);
    let contents = after_begin.filter_map(|rest| Some(rest.split_once(END)?.0));
    contents.map(|content| {
        let lines: Vec<_> = content.split_whitespace().collect();
        format!("{BEGIN}\n{}\n{END}\n", lines.join("\n"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: &str = "clusters:
- name: near
  cluster: {server: 'https://near:6443'}
- name: far
  cluster: {server: 'https://far', proxy-url: 'http://proxy:3128', tls-server-name: api, insecure-skip-tls-verify: true}
users:
- name: me
  user: {token: secret}
contexts:
- {name: at-home, context: {cluster: near, namespace: shop}}
- {name: abroad, context: {cluster: far, user: me}}
- {name: lost, context: {cluster: nowhere}}
current-context: abroad
";

    fn config_from(text: &str, context: Option<&str>) -> Result<Config, UnusableKubeconfig> {
        let environment = Environment::default();
        configuration_in(&Kubeconfig::from_yaml(text).unwrap(), context, &environment)
    }

    #[test]
    fn a_configuration_is_that_of_the_context() {
        let abroad = config_from(TWO, None).unwrap();
        assert_eq!(abroad.cluster_url, "https://far/");
        assert_eq!(abroad.proxy_url.unwrap(), "http://proxy:3128/");
        assert_eq!(abroad.tls_server_name.as_deref(), Some("api"));
        assert!(abroad.accept_invalid_certs && abroad.auth_info.token.is_some());
        assert_eq!(abroad.default_namespace, "default");
        let home = config_from(TWO, Some("at-home")).unwrap();
        assert_eq!(home.cluster_url, "https://near:6443/");
        assert_eq!(home.default_namespace, "shop");
        assert!(home.proxy_url.is_none() && home.auth_info.token.is_none());
        assert!(!home.accept_invalid_certs);
        let empty = TWO.replace(
            "{server: 'https://near",
            "{certificate-authority-data: '', server: 'https://near",
        );
        assert!(config_from(&empty, Some("at-home")).unwrap().root_cert.is_none());
    }

    #[test]
    fn a_missing_part_is_named() {
        for (context, expected) in [(Some("elsewhere"), "elsewhere"), (Some("lost"), "nowhere")] {
            let error = config_from(TWO, context).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
        let error = config_from("clusters: []\n", None).unwrap_err();
        assert!(matches!(
            error,
            UnusableKubeconfig::Kubeconfig(KubeconfigError::CurrentContextNotSet)
        ));
    }

    #[tokio::test]
    async fn everything_but_the_proxy_is_as_the_client_has_it() {
        let folder = tempfile::tempdir().unwrap();
        let authority = rcgen::generate_simple_self_signed(["api".to_owned()]).unwrap().cert;
        let indented = authority.pem().replace('\n', "\n  ");
        let extra = "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nAAAA\n-----END RSA";
        std::fs::write(folder.path().join("ca.crt"), format!("{indented}{extra}")).unwrap();
        let text = TWO.replace(
            "server: 'https://near:6443'",
            "server: 'https://near:6443', certificate-authority: ca.crt",
        );
        let file = folder.path().join("config");
        std::fs::write(&file, text).unwrap();
        let read = Kubeconfig::read_from(&file).unwrap();
        let environment = Environment::default();
        for context in ["at-home", "abroad"] {
            let mut ours = configuration_in(&read, Some(context), &environment).unwrap();
            let options = kube::config::KubeConfigOptions {
                context: Some(context.to_owned()),
                ..Default::default()
            };
            let theirs = Config::from_custom_kubeconfig(read.clone(), &options);
            let mut theirs = theirs.await.expect("NO_PROXY is as the client reads it, too");
            (ours.proxy_url, theirs.proxy_url) = (None, None);
            assert_eq!(format!("{ours:?}"), format!("{theirs:?}"));
        }
        let near = configuration_in(&read, Some("at-home"), &environment).unwrap();
        assert_eq!(near.root_cert.unwrap(), [authority.der().to_vec()]);
    }
}

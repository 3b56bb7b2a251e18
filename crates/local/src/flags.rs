//! The flags of the four programs. The caller starts them.

use std::path::Path;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use crate::audit;
use crate::component::Component;
use crate::options::ControlPlaneOptions;
use crate::pki::{self, Pki};
use crate::ports::{Ports, ReservedPort};

/// The paths and ports of one control plane.
#[derive(Debug)]
pub(crate) struct Layout<'a> {
    pub(crate) folder: &'a Path,
    pub(crate) pki: &'a Pki,
    pub(crate) ports: &'a Ports,
    pub(crate) options: &'a ControlPlaneOptions,
    /// Whether the data must survive the run and a power failure.
    pub(crate) is_kept: bool,
}

/// The requests per second that the clients of the API server may send. Upstream's 20 to 50
/// protects a production API server from its controllers; here it would only make tests wait.
const REQUESTS: [&str; 2] = ["--kube-api-qps=2000", "--kube-api-burst=4000"];

impl Layout<'_> {
    pub(crate) fn etcd_flags(&self) -> Vec<String> {
        let clients = self.ports.url(Component::Etcd);
        let peers = format!("https://127.0.0.1:{}", self.ports.etcd_peers.number());
        let mut flags = vec![
            "--name=almanac".into(),
            format!("--data-dir={}", self.folder.join("etcd").display()),
            format!("--listen-client-urls={clients}"),
            format!("--advertise-client-urls={clients}"),
            format!("--listen-peer-urls={peers}"),
            format!("--initial-advertise-peer-urls={peers}"),
            format!("--initial-cluster=almanac={peers}"),
            "--client-cert-auth=true".into(),
            format!("--trusted-ca-file={}", self.pki.certificate(pki::ETCD_AUTHORITY)),
            format!("--cert-file={}", self.pki.certificate(pki::ETCD)),
            format!("--key-file={}", self.pki.key(pki::ETCD)),
            "--peer-client-cert-auth=true".into(),
            format!("--peer-trusted-ca-file={}", self.pki.certificate(pki::ETCD_AUTHORITY)),
            format!("--peer-cert-file={}", self.pki.certificate(pki::ETCD)),
            format!("--peer-key-file={}", self.pki.key(pki::ETCD)),
            "--socket-reuse-port=true".into(),
            // At `info` and `warn`, etcd logs every slow read of a busy machine.
            "--log-level=error".into(),
        ];
        if !self.is_kept {
            // A power failure may lose the data, which is not needed later. A killed process loses no data.
            flags.push("--unsafe-no-fsync=true".into());
        }
        flags
    }

    pub(crate) fn api_server_flags(&self) -> Vec<String> {
        let pki = self.pki;
        let mut flags = vec![
            format!("--etcd-servers={}", self.ports.url(Component::Etcd)),
            format!("--etcd-cafile={}", pki.certificate(pki::ETCD_AUTHORITY)),
            format!("--etcd-certfile={}", pki.certificate(pki::ETCD)),
            format!("--etcd-keyfile={}", pki.key(pki::ETCD)),
            "--bind-address=127.0.0.1".into(),
            "--advertise-address=127.0.0.1".into(),
            format!("--secure-port={}", self.ports.api_server.number()),
            "--permit-port-sharing=true".into(),
            // A loopback address is not a valid endpoint of the `kubernetes` service.
            "--endpoint-reconciler-type=none".into(),
            "--service-cluster-ip-range=10.0.0.0/16".into(),
            "--service-account-issuer=https://kubernetes.default.svc".into(),
            format!("--service-account-key-file={}", pki.public_key(pki::SERVICE_ACCOUNTS)),
            format!("--service-account-signing-key-file={}", pki.key(pki::SERVICE_ACCOUNTS)),
            format!("--client-ca-file={}", pki.certificate(pki::AUTHORITY)),
            format!("--tls-cert-file={}", pki.certificate(pki::SERVING)),
            format!("--tls-private-key-file={}", pki.key(pki::SERVING)),
            // For aggregated APIs. An APIService that names an ExternalName service `localhost`
            // reaches a server of the test: there is no kube-proxy, and none is needed.
            format!("--requestheader-client-ca-file={}", pki.certificate(pki::AUTHORITY)),
            format!("--requestheader-allowed-names={}", pki::FRONT_PROXY),
            "--requestheader-username-headers=X-Remote-User".into(),
            "--requestheader-group-headers=X-Remote-Group".into(),
            "--requestheader-extra-headers-prefix=X-Remote-Extra-".into(),
            format!("--proxy-client-cert-file={}", pki.certificate(pki::FRONT_PROXY)),
            format!("--proxy-client-key-file={}", pki.key(pki::FRONT_PROXY)),
            "--authorization-mode=Node,RBAC".into(),
            "--allow-privileged=true".into(),
            "--profiling=false".into(),
            // These two keep a namespace's pods on its own nodes, by annotations of the namespace,
            // without an entry in the templates of the pods.
            "--enable-admission-plugins=PodNodeSelector,PodTolerationRestriction".into(),
        ];
        if !self.options.has(Component::ControllerManager) {
            // No controller creates the service accounts of pods.
            flags.push("--disable-admission-plugins=ServiceAccount".into());
        }
        if self.options.is_audited {
            flags.extend(audit::flags(self.folder));
        }
        flags
    }

    pub(crate) fn controller_manager_flags(&self) -> Vec<String> {
        let pki = self.pki;
        let mut flags = self.client_flags(pki::CONTROLLER_MANAGER, &self.ports.controller_manager);
        flags.extend([
            "--use-service-account-credentials=true".into(),
            format!("--service-account-private-key-file={}", pki.key(pki::SERVICE_ACCOUNTS)),
            format!("--root-ca-file={}", pki.certificate(pki::AUTHORITY)),
            format!("--cluster-signing-cert-file={}", pki.certificate(pki::AUTHORITY)),
            format!("--cluster-signing-key-file={}", pki.key(pki::AUTHORITY)),
            // By default, an autoscaler reconciles every 15 seconds, and tests wait for it.
            "--horizontal-pod-autoscaler-sync-period=1s".into(),
        ]);
        flags
    }

    pub(crate) fn scheduler_flags(&self) -> Result<Vec<String>> {
        let mut flags = self.client_flags(pki::SCHEDULER, &self.ports.scheduler);
        if let Some(port) = self.options.extender_port {
            // Only a configuration file can name an extender, and such a file replaces the flags.
            let file = self.folder.join("scheduler.json");
            let kubeconfig = Self::kubeconfig_of(self.folder, pki::SCHEDULER);
            let configuration = scheduler_configuration(&kubeconfig, port);
            std::fs::write(&file, configuration.to_string())
                .with_context(|| format!("failed to write {}", file.display()))?;
            flags.push(format!("--config={}", file.display()));
        }
        Ok(flags)
    }

    /// The kubeconfig of one of the components, by the name of its client certificate.
    pub(crate) fn kubeconfig_of(folder: &Path, client: &str) -> std::path::PathBuf {
        folder.join(format!("{client}.kubeconfig"))
    }

    fn client_flags(&self, client: &str, port: &ReservedPort) -> Vec<String> {
        let kubeconfig = Self::kubeconfig_of(self.folder, client).display().to_string();
        let mut flags = vec![
            format!("--kubeconfig={kubeconfig}"),
            format!("--authentication-kubeconfig={kubeconfig}"),
            format!("--authorization-kubeconfig={kubeconfig}"),
            "--bind-address=127.0.0.1".into(),
            format!("--secure-port={}", port.number()),
            "--permit-port-sharing=true".into(),
            format!("--tls-cert-file={}", self.pki.certificate(pki::SERVING)),
            format!("--tls-private-key-file={}", self.pki.key(pki::SERVING)),
            // Each program has one replica; leader election would only delay a restart.
            "--leader-elect=false".into(),
        ];
        flags.extend(REQUESTS.map(String::from));
        flags
    }
}

/// As in `deploy/extender/kube-scheduler.yaml`, on this machine.
fn scheduler_configuration(kubeconfig: &Path, extender: u16) -> Value {
    json!({
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": {"kubeconfig": kubeconfig, "qps": 2000, "burst": 4000},
        "leaderElection": {"leaderElect": false},
        "percentageOfNodesToScore": 100,
        "extenders": [{
            "urlPrefix": format!("http://127.0.0.1:{extender}"),
            "filterVerb": "filter",
            "prioritizeVerb": "prioritize",
            "preemptVerb": "preempt",
            "bindVerb": "bind",
            "weight": 1,
            "nodeCacheCapable": true,
            "ignorable": false,
            "httpTimeout": "20s",
        }],
    })
}

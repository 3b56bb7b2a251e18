//! Leader changes in every process: the leader is frozen, loses its Lease, or is shut down. The tests of each process
//! cover the work in progress.

use std::time::{Duration, Instant};

use almanac_harness::TestResult;
use anyhow::{Context as _, Result, ensure};
use futures::future::try_join_all;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::controller::{
    ALMANAC, Cluster, Controller, Kind, LEASE, memory_in_the_manifests, on_cluster,
};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
const SECRET: Kind = Kind { root: "/api/v1", plural: "secrets" };

/// A process with an elected leader.
struct Elected {
    command: &'static str,
    lease: &'static str,
    /// The metric that marks the leader.
    metric: &'static str,
    arguments: &'static [&'static str],
}

static ELECTED: [Elected; 3] = [
    Elected { command: "controller", lease: "almanac", metric: "almanac_leader", arguments: &[] },
    Elected {
        command: "agent",
        lease: "almanac-agent",
        metric: "almanac_agent_leader",
        arguments: &["--node-name=*"],
    },
    Elected {
        command: "extender",
        lease: "almanac-extender",
        metric: "almanac_extender_leader",
        arguments: &["--scheduler-listen=127.0.0.1:0"],
    },
];

/// The arguments of a process without a leader.
const WEBHOOK: &[&str] =
    &["--webhook-listen=127.0.0.1:0", "--certificate-names=127.0.0.1", "--publish-authority=false"];

/// The log line of a process that has lost the Lease.
const LOST: &str = "no longer the leader";

fn start(command: &str, cluster: &Cluster, arguments: &[&str]) -> Result<Controller> {
    let (memory, now) = (memory_in_the_manifests()?, Timestamp::now().to_string());
    let kubeconfig = cluster.kubeconfig();
    Controller::start_command(ALMANAC.as_ref(), command, memory, kubeconfig, &now, arguments)
}

impl Elected {
    fn start(&self, cluster: &Cluster, identity: &str) -> Result<Controller> {
        let identity = format!("--identity={identity}");
        start(self.command, cluster, &[self.arguments, &[&*identity]].concat())
    }

    /// Waits until one of these replicas holds the Lease, and returns its identity.
    async fn await_holder(&self, cluster: &Cluster, identities: &[&str]) -> Result<Value> {
        let holder = |lease: &Value| lease["spec"]["holderIdentity"].clone();
        let holds = |lease: &Value| identities.iter().any(|identity| holder(lease) == **identity);
        let (what, name) =
            (format!("one of {identities:?} to hold it"), (cluster.home(), self.lease));
        Ok(holder(&cluster.await_object(LEASE, name, &what, holds).await?))
    }

    /// Waits until a replica reports that it is the leader, or that it is not.
    async fn await_leading(&self, replica: &Controller, leads: bool) -> TestResult {
        replica.await_metric(&format!("{} {}", self.metric, u8::from(leads))).await
    }

    async fn await_standby(&self, replica: &Controller) -> TestResult {
        replica.program.await_log(LOST).await?;
        self.await_leading(replica, false).await?;
        replica.program.await_ready().await
    }

    async fn check(&self, cluster: &Cluster) -> TestResult {
        let first = self.start(cluster, "first")?;
        self.await_holder(cluster, &["first"]).await?;
        self.await_leading(&first, true).await?;
        let second = self.start(cluster, "second")?;
        second.program.await_ready().await?;
        self.await_leading(&second, false).await?;

        first.program.pause()?;
        self.await_holder(cluster, &["second"]).await?;
        self.await_leading(&second, true).await?;
        first.program.resume()?;
        self.await_standby(&first).await?;

        let renewed = format!("{:.6}", Timestamp::now());
        let taken = json!({"spec": {"holderIdentity": "a stranger", "renewTime": renewed}});
        cluster.patch(LEASE, cluster.home(), self.lease, &taken).await?;
        self.await_standby(&second).await?;

        // The other holder does not renew it.
        let holder = self.await_holder(cluster, &["first", "second"]).await?;
        let (leader, other, next) = if holder == "first" {
            (&first, &second, "second")
        } else {
            (&second, &first, "first")
        };
        self.await_leading(leader, true).await?;
        leader.stop().await?;
        let ended = Instant::now();
        ensure!(leader.program.log()?.contains("released the lease"), "not released");
        self.await_holder(cluster, &[next]).await?;
        let took = ended.elapsed();
        // The Lease of a killed leader, renewed at most 2 s earlier, lasts longer.
        ensure!(
            took < Duration::from_secs(12),
            "the wait was as long as for a killed leader: {took:?}"
        );
        self.await_leading(other, true).await?;
        other.stop().await
    }
}

/// A webhook that is shut down ends well, too.
async fn check_webhook(cluster: &Cluster) -> TestResult {
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "almanac-webhook"},
    });
    cluster.create(SECRET, cluster.home(), &secret).await?;
    let webhook = start("webhook", cluster, WEBHOOK)?;
    webhook.program.await_ready().await?;
    webhook.stop().await
}

#[test]
fn every_process_hands_over_when_frozen_stopped_or_without_its_lease() -> TestResult {
    on_cluster(async |own, cluster| {
        let units = format!("{ROOT}/deploy/units-crds");
        own.kubectl().await?.run(&["apply", "--server-side", "-f", &units]).await?;
        cluster.await_definitions().await?;
        let check = |elected: &'static Elected| async move {
            elected.check(cluster).await.with_context(|| format!("the {}", elected.command))
        };
        try_join_all(ELECTED.iter().map(check)).await?;
        check_webhook(cluster).await.context("the webhook")
    })
}

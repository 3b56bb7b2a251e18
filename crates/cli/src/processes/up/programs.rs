//! Almanac's own processes, as in a cluster. Each process is this program with another command. If Prometheus is on the
//! `PATH`, Almanac starts Prometheus too.

use std::path::Path;
use std::time::Duration;

use almanac_api::policy_clock::PolicyClock;
use almanac_local::{Observation, Process, ProgramPort, await_condition, environment, write_whole};
use anyhow::Context as _;
use clap::ValueEnum as _;
use kube::Client;
use serde_json::json;

use super::running_cluster::RunningCluster;
use crate::cluster::ClockArguments;
use crate::processes::controllers::Controller;

/// The time limit for the start of a process, which usually takes two seconds.
const READY_WITHIN: Duration = Duration::from_mins(1);
/// The time limit for the last statuses of the processes.
const ENDS_WITHIN: Duration = Duration::from_secs(5);

/// The processes, killed on drop.
pub(super) struct Programs {
    running: Vec<Program>,
    /// The port of the webhook, reserved while the webhook runs.
    webhook: Option<ProgramPort>,
    prometheus: Option<(Process, ProgramPort)>,
}

struct Program {
    name: String,
    process: Process,
    metrics_port: ProgramPort,
}

impl Programs {
    /// Starts all processes. The webhook starts only with a port, which the configuration of the API server contains.
    pub(super) fn start(
        running_cluster: &RunningCluster,
        clock: PolicyClock,
        webhook: Option<ProgramPort>,
    ) -> anyhow::Result<Self> {
        let common =
            CommonArguments { running_cluster, clock: ClockArguments::for_clock(clock).words() };
        let mut programs = Self { running: Vec::new(), webhook: None, prometheus: None };
        let mut controllers: Vec<&str> = Controller::by_default().collect();
        // An existing cluster may already run Almanac. Then these processes are standbys.
        let election = format!("--leader-elect={}", running_cluster.extender_port().is_none());
        let mut controller = flags(&[&election]);
        if let Some(port) = running_cluster.extender_port() {
            // All nodes and clusters here are our own.
            controller.push("--simulated-nodes".to_owned());
            let all = Controller::value_variants().iter();
            controllers = all.map(|it| it.0.flag()).collect();
            let listen = format!("--scheduler-listen=127.0.0.1:{port}");
            let extender = flags(&[&election, "--no-predecessor", &listen]);
            programs.running.push(common.start("extender", extender)?);
        }
        if let Some(webhook) = webhook {
            let listen = format!("--webhook-listen=127.0.0.1:{}", webhook.number());
            let flags = flags(&[&listen, "--certificate-names=127.0.0.1"]);
            programs.running.push(common.start("webhook", flags)?);
            programs.webhook = Some(webhook);
        }
        controller.push(format!("--controllers={}", controllers.join(",")));
        let agent = flags(&[&election, "--node-name=*", "--spread=0s"]);
        programs.running.push(common.start("agent", agent)?);
        let prometheus = environment::program_on_path("prometheus");
        let prometheus =
            prometheus.map(|program| Ok::<_, anyhow::Error>((program, ProgramPort::take()?)));
        let prometheus = prometheus.transpose()?;
        if let Some((_, port)) = &prometheus {
            controller.push(format!("--prometheus-uri=http://127.0.0.1:{}", port.number()));
        }
        if clock.rate() > 1 {
            // The minimum period. With a fast policy clock, minutes still pass between two queries.
            controller.push("--query-period=1s".to_owned());
        }
        programs.running.push(common.start("controller", controller)?);
        if let Some((program, port)) = prometheus {
            let process = programs.start_prometheus(running_cluster.folder(), &program, &port)?;
            programs.prometheus = Some((process, port));
        }
        Ok(programs)
    }

    /// Waits until all processes are ready.
    pub(super) async fn await_ready(&self) -> anyhow::Result<()> {
        for program in &self.running {
            let address = format!("http://127.0.0.1:{}", program.metrics_port.number());
            // This Kubernetes client serves as a plain HTTP client.
            let client = Client::try_from(kube::Config::new(address.parse()?))?;
            let what = format!("{} to be ready", program.name);
            let ready = await_condition(&what, READY_WITHIN, async || {
                if let Err(death) = program.process.check_alive() {
                    return Ok(Observation::Holds(Err(death)));
                }
                let request = http::Request::get("/readyz").body(Vec::new())?;
                client.request_text(request).await?;
                Ok(Observation::Holds(Ok(())))
            });
            ready.await??;
        }
        Ok(())
    }

    /// The port of Prometheus; `None` if Prometheus does not run.
    pub(super) fn prometheus_port(&self) -> Option<u16> {
        self.prometheus.as_ref().map(|(_, port)| port.number())
    }

    /// Fails once a process has ended. The end of Prometheus is not an error: autoscalers then keep their replicas, and
    /// report the reason.
    pub(super) fn check_alive(&self) -> anyhow::Result<()> {
        self.running.iter().map(|it| &it.process).try_for_each(Process::check_alive)
    }

    /// Ends all processes gracefully, and kills those that do not end in time.
    pub(super) async fn end(self) {
        for program in &self.running {
            // The call fails for a process that has already ended.
            let _ = program.process.ask_to_end();
        }
        let ended = await_condition("Almanac's processes to end", ENDS_WITHIN, async || {
            let has_ended = |it: &Program| !matches!(it.process.check_end(), Ok(None));
            Ok(Observation::from_bool(self.running.iter().all(has_ended), "some still run"))
        });
        // The remaining processes are killed next.
        let _ = ended.await;
    }

    fn start_prometheus(
        &self,
        dir: &Path,
        program: &Path,
        port: &ProgramPort,
    ) -> anyhow::Result<Process> {
        let targets =
            self.running.iter().map(|it| format!("127.0.0.1:{}", it.metrics_port.number()));
        let config = json!({
            "global": {"scrape_interval": "5s"},
            "scrape_configs": [{
                "job_name": "almanac",
                "honor_labels": true,
                "static_configs": [{"targets": targets.collect::<Vec<_>>()}],
            }],
        });
        let file = dir.join("prometheus.yml");
        // JSON is YAML, too.
        write_whole(&file, &config.to_string())?;
        let flags = vec![
            format!("--config.file={}", file.display()),
            format!("--storage.tsdb.path={}", dir.join("prometheus").display()),
            format!("--web.listen-address=127.0.0.1:{}", port.number()),
            "--storage.tsdb.retention.time=15d".into(),
        ];
        Process::start("prometheus", program, flags, dir)
    }
}

/// The arguments that all processes share.
struct CommonArguments<'a> {
    running_cluster: &'a RunningCluster,
    clock: Vec<String>,
}

impl CommonArguments<'_> {
    fn start(&self, name: &str, own_arguments: Vec<String>) -> anyhow::Result<Program> {
        let own = std::env::current_exe().context("failed to find this program")?;
        let metrics_port = ProgramPort::take()?;
        let mut arguments = vec![
            name.to_owned(),
            format!("--kubeconfig={}", self.running_cluster.own_kubeconfig().display()),
            format!("--listen=127.0.0.1:{}", metrics_port.number()),
            "--log-format=text".to_owned(),
        ];
        arguments.extend(self.clock.iter().cloned());
        arguments.extend(own_arguments);
        // A plugin of the kubeconfig may read files in the home directory.
        let home =
            environment::path("HOME").map(|home| ("HOME".to_owned(), home.display().to_string()));
        let environment = home.into_iter().collect();
        let dir = self.running_cluster.folder();
        let process = Process::start_in_environment(name, &own, arguments, environment, dir)?;
        Ok(Program { name: format!("almanac {name}"), process, metrics_port })
    }
}

fn flags(flags: &[&str]) -> Vec<String> {
    flags.iter().map(|&flag| flag.to_owned()).collect()
}

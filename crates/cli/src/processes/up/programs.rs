//! Almanac's own processes, as they run in a cluster: each is this program with another command. If there is a
//! Prometheus, it runs too.

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

/// How long each may take to begin; it takes a second or two.
const READY_WITHIN: Duration = Duration::from_mins(1);
/// How long they have to write their last statuses.
const ENDS_WITHIN: Duration = Duration::from_secs(5);

/// The processes. They are killed when this is dropped.
pub(super) struct Programs {
    running: Vec<Program>,
    /// The port of the webhook, reserved while it runs.
    webhook: Option<ProgramPort>,
    prometheus: Option<(Process, ProgramPort)>,
}

struct Program {
    name: String,
    process: Process,
    observed_at: ProgramPort,
}

impl Programs {
    /// Starts them all; the webhook at the port in the configuration of the API server, if it has one.
    pub(super) fn start(
        running_cluster: &RunningCluster,
        clock: PolicyClock,
        webhook: Option<ProgramPort>,
    ) -> anyhow::Result<Self> {
        let beginning =
            Beginning { running_cluster, clock: ClockArguments::for_clock(clock).words() };
        let mut programs = Self { running: Vec::new(), webhook: None, prometheus: None };
        let mut controllers: Vec<&str> = Controller::by_default().collect();
        // In an existing cluster, Almanac may run already: then these are standbys.
        let election = format!("--leader-elect={}", running_cluster.extender_port().is_none());
        let mut controller = flags(&[&election]);
        if let Some(port) = running_cluster.extender_port() {
            // All nodes and clusters here are our own.
            controller.push("--simulated-nodes".to_owned());
            let all = Controller::value_variants().iter();
            controllers = all.map(|it| it.0.flag()).collect();
            let listen = format!("--scheduler-listen=127.0.0.1:{port}");
            let extender = flags(&[&election, "--no-predecessor", &listen]);
            programs.running.push(beginning.start("extender", extender)?);
        }
        if let Some(webhook) = webhook {
            let listen = format!("--webhook-listen=127.0.0.1:{}", webhook.number());
            let flags = flags(&[&listen, "--certificate-names=127.0.0.1"]);
            programs.running.push(beginning.start("webhook", flags)?);
            programs.webhook = Some(webhook);
        }
        controller.push(format!("--controllers={}", controllers.join(",")));
        let agent = flags(&[&election, "--node-name=*", "--spread=0s"]);
        programs.running.push(beginning.start("agent", agent)?);
        let prometheus = environment::program_on_path("prometheus");
        let prometheus =
            prometheus.map(|program| Ok::<_, anyhow::Error>((program, ProgramPort::take()?)));
        let prometheus = prometheus.transpose()?;
        if let Some((_, port)) = &prometheus {
            controller.push(format!("--prometheus-uri=http://127.0.0.1:{}", port.number()));
        }
        if clock.rate() > 1 {
            // The shortest period. Even so, many minutes of the policy clock pass between two queries.
            controller.push("--query-period=1s".to_owned());
        }
        programs.running.push(beginning.start("controller", controller)?);
        if let Some((program, port)) = prometheus {
            let process = programs.start_prometheus(running_cluster.folder(), &program, &port)?;
            programs.prometheus = Some((process, port));
        }
        Ok(programs)
    }

    /// Waits until all of them are ready.
    pub(super) async fn await_ready(&self) -> anyhow::Result<()> {
        for program in &self.running {
            let address = format!("http://127.0.0.1:{}", program.observed_at.number());
            // A client for plain HTTP: it is used for its connections, not for Kubernetes.
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

    /// Where Prometheus answers, if it runs here.
    pub(super) fn prometheus_port(&self) -> Option<u16> {
        self.prometheus.as_ref().map(|(_, port)| port.number())
    }

    /// Fails once one of them has ended. Without Prometheus, autoscalers hold what they have, and say why.
    pub(super) fn check_alive(&self) -> anyhow::Result<()> {
        self.running.iter().map(|it| &it.process).try_for_each(Process::check_alive)
    }

    /// Lets them end in good order, and kills those that do not end in time.
    pub(super) async fn end(self) {
        for program in &self.running {
            // This fails for a process that has ended already.
            let _ = program.process.ask_to_end();
        }
        let ended = await_condition("Almanac's processes to end", ENDS_WITHIN, async || {
            let has_ended = |it: &Program| !matches!(it.process.check_end(), Ok(None));
            Ok(Observation::of(self.running.iter().all(has_ended), "they run"))
        });
        // They are killed next.
        let _ = ended.await;
    }

    fn start_prometheus(
        &self,
        folder: &Path,
        program: &Path,
        port: &ProgramPort,
    ) -> anyhow::Result<Process> {
        let targets =
            self.running.iter().map(|it| format!("127.0.0.1:{}", it.observed_at.number()));
        let config = json!({
            "global": {"scrape_interval": "5s"},
            "scrape_configs": [{
                "job_name": "almanac",
                "honor_labels": true,
                "static_configs": [{"targets": targets.collect::<Vec<_>>()}],
            }],
        });
        let file = folder.join("prometheus.yml");
        // JSON is YAML, too.
        write_whole(&file, &config.to_string())?;
        let flags = vec![
            format!("--config.file={}", file.display()),
            format!("--storage.tsdb.path={}", folder.join("prometheus").display()),
            format!("--web.listen-address=127.0.0.1:{}", port.number()),
            "--storage.tsdb.retention.time=15d".into(),
        ];
        Process::start("prometheus", program, flags, folder)
    }
}

/// The arguments that all processes share.
struct Beginning<'a> {
    running_cluster: &'a RunningCluster,
    clock: Vec<String>,
}

impl Beginning<'_> {
    fn start(&self, name: &str, further: Vec<String>) -> anyhow::Result<Program> {
        let own = std::env::current_exe().context("failed to find this program")?;
        let observed_at = ProgramPort::take()?;
        let mut arguments = vec![
            name.to_owned(),
            format!("--kubeconfig={}", self.running_cluster.own_kubeconfig().display()),
            format!("--listen=127.0.0.1:{}", observed_at.number()),
            "--log-format=text".to_owned(),
        ];
        arguments.extend(self.clock.iter().cloned());
        arguments.extend(further);
        // A plugin of the kubeconfig may look for its own files at home.
        let home =
            environment::path("HOME").map(|home| ("HOME".to_owned(), home.display().to_string()));
        let environment = home.into_iter().collect();
        let folder = self.running_cluster.folder();
        let process = Process::start_in_environment(name, &own, arguments, environment, folder)?;
        Ok(Program { name: format!("almanac {name}"), process, observed_at })
    }
}

fn flags(flags: &[&str]) -> Vec<String> {
    flags.iter().map(|&flag| flag.to_owned()).collect()
}

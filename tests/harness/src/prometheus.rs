//! A Prometheus for one test: on loopback, with a generated configuration, ended with the test.
//! Where the program comes from is in `prometheus_program`.

use std::net::{Ipv4Addr, TcpListener};
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use kube::Client;
use serde_json::{Value, json};

use crate::await_condition::{Observation, PATIENCE, await_condition};
use crate::log_tail;
use crate::process::Process;
use crate::prometheus_program::provide_prometheus;
use crate::run_folder::{self, RunFolder};

/// The port is free when it is chosen and may be taken before Prometheus has it.
const ATTEMPTS: usize = 3;

/// A running Prometheus. When it is dropped, it ends, and its folder goes.
pub struct Prometheus {
    process: Process,
    folder: RunFolder,
    client: Client,
    port: u16,
}

impl Prometheus {
    /// Starts one that scrapes each target (`127.0.0.1:PORT`, path `/metrics`) every second, and
    /// itself under the job `prometheus`. The targets are under the job `test`.
    pub async fn start(targets: &[String]) -> Result<Self> {
        let program = tokio::task::spawn_blocking(provide_prometheus).await??;
        let mut last = None;
        for _ in 0..ATTEMPTS {
            match Self::attempt(&program, targets).await {
                Ok(prometheus) => return Ok(prometheus),
                Err(error) => last = Some(error),
            }
        }
        Err(last.context("no attempt was made")?).context("failed to start Prometheus")
    }

    async fn attempt(program: &std::path::Path, targets: &[String]) -> Result<Self> {
        let folder = RunFolder::create()?;
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port();
        let own = format!("127.0.0.1:{port}");
        let config = json!({
            "global": {"scrape_interval": "1s", "scrape_timeout": "1s"},
            "scrape_configs": [
                {"job_name": "prometheus", "static_configs": [{"targets": [own]}]},
                {"job_name": "test", "static_configs": [{"targets": targets}]},
            ],
        });
        // JSON is YAML too.
        let file = folder.path().join("prometheus.yml");
        std::fs::write(&file, config.to_string())?;
        let flags = vec![
            format!("--config.file={}", file.display()),
            format!("--storage.tsdb.path={}", folder.path().join("data").display()),
            format!("--web.listen-address={own}"),
            // Nothing may reach back further than the test, or be kept longer.
            "--storage.tsdb.retention.time=1d".into(),
        ];
        let process = Process::start("prometheus", program, flags, folder.path())?;
        // A client for plain HTTP: it is used for its connections, not for Kubernetes.
        let client = Client::try_from(kube::Config::new(format!("http://{own}").parse()?))?;
        let prometheus = Self { process, folder, client, port };
        prometheus.await_ready().await?;
        Ok(prometheus)
    }

    /// Its address, for those who are to query it.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The value of an instant query that yields one sample; nothing when it yields none.
    pub async fn query(&self, promql: &str) -> Result<Option<f64>> {
        let path: String = std::iter::once("/api/v1/query?query=".to_owned())
            .chain(promql.bytes().map(|byte| format!("%{byte:02X}")))
            .collect();
        let request = http::Request::get(path).body(Vec::new())?;
        let answer: Value = self.client.request(request).await?;
        let samples = answer["data"]["result"]
            .as_array()
            .with_context(|| format!("Prometheus answered {promql:?} with {answer}"))?;
        ensure!(samples.len() < 2, "{promql:?} yields {} samples, not one", samples.len());
        let Some(sample) = samples.first() else {
            return Ok(None);
        };
        let value = sample["value"][1].as_str().context("a sample without a value")?;
        Ok(Some(value.parse()?))
    }

    /// Waits until a query yields a sample. The first one takes seconds after a scrape begins.
    pub async fn await_sample(&self, promql: &str, deadline: Duration) -> Result<f64> {
        await_condition(&format!("a sample of {promql}"), deadline, async || {
            Ok(match self.query(promql).await? {
                Some(value) => Observation::Holds(value),
                None => Observation::NotYet("none".into()),
            })
        })
        .await
    }

    async fn await_ready(&self) -> Result<()> {
        let ready = await_condition("Prometheus to be ready", PATIENCE, async || {
            if let Err(death) = self.process.check_alive() {
                return Ok(Observation::Holds(Err(death)));
            }
            let request = http::Request::get("/-/ready").body(Vec::new())?;
            self.client.request_text(request).await?;
            Ok(Observation::Holds(Ok(())))
        })
        .await;
        match ready {
            Ok(outcome) => outcome,
            Err(error) => bail!("{error:#}\n{}", log_tail::tail_of(&self.process.log(), 20)),
        }
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        if std::thread::panicking() {
            run_folder::keep(self.folder.path());
            eprintln!("{}", log_tail::tails_of(self.folder.path(), 15));
        }
    }
}

//! A Prometheus for one test: the server listens on loopback, has a generated configuration, and ends with the test.
//! `prometheus_program` finds the binary.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use kube::Client;
use serde_json::{Value, json};

use crate::prometheus_program::provide_prometheus;
use almanac_local::log_tail;
use almanac_local::run_folder::{self, RunFolder};
use almanac_local::{Observation, PATIENCE, await_condition};
use almanac_local::{Process, ProgramPort};

/// The name of the directory with the samples of Prometheus.
const DATA: &str = "data";

/// A running Prometheus. Dropping the value ends the process and deletes its directory.
pub struct Prometheus {
    process: Process,
    folder: RunFolder,
    client: Client,
    place: PrometheusPlace,
}

/// The address of a Prometheus that is not started yet, so that its clients can be started first.
#[derive(Debug)]
pub struct PrometheusPlace {
    port: ProgramPort,
}

impl PrometheusPlace {
    /// Reserves an address, also while no Prometheus runs there.
    pub fn reserve() -> Result<Self> {
        Ok(Self { port: ProgramPort::take()? })
    }

    /// The address for queries.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address())
    }

    /// Starts [`Prometheus::start_honoring_labels`] at this address.
    pub async fn start_honoring_labels(self, targets: &[String]) -> Result<Prometheus> {
        Prometheus::start_with(self, targets, true).await
    }

    fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port.number())
    }
}

impl Prometheus {
    /// Starts a Prometheus that scrapes each target (`127.0.0.1:PORT`, path `/metrics`) every second, and itself under
    /// the job `prometheus`. The targets have the job `test`.
    pub async fn start(targets: &[String]) -> Result<Self> {
        Self::start_with(PrometheusPlace::reserve()?, targets, false).await
    }

    /// Starts a Prometheus with `honor_labels`: the labels `job` and `instance` of a target replace those of the
    /// scrape, instead of becoming `exported_job` and `exported_instance`.
    pub async fn start_honoring_labels(targets: &[String]) -> Result<Self> {
        PrometheusPlace::reserve()?.start_honoring_labels(targets).await
    }

    async fn start_with(
        place: PrometheusPlace,
        targets: &[String],
        honor_labels: bool,
    ) -> Result<Self> {
        let program = tokio::task::spawn_blocking(provide_prometheus).await??;
        let folder = RunFolder::create()?;
        let own = place.address();
        let config = json!({
            "global": {"scrape_interval": "1s", "scrape_timeout": "1s"},
            "scrape_configs": [
                {"job_name": "prometheus", "static_configs": [{"targets": [own]}]},
                {
                    "job_name": "test",
                    "metrics_path": "/metrics",
                    "honor_labels": honor_labels,
                    "static_configs": [{"targets": targets}],
                },
            ],
        });
        // JSON is YAML too.
        let file = folder.path().join("prometheus.yml");
        std::fs::write(&file, config.to_string())?;
        let flags = vec![
            format!("--config.file={}", file.display()),
            format!("--storage.tsdb.path={}", folder.path().join(DATA).display()),
            format!("--web.listen-address={own}"),
            // The query range and the retention are no longer than a test.
            "--storage.tsdb.retention.time=1d".into(),
        ];
        let process = Process::start("prometheus", &program, flags, folder.path())?;
        // A client for plain HTTP. Only the HTTP connections are used, not the Kubernetes API.
        let client = Client::try_from(kube::Config::new(place.url().parse()?))?;
        let prometheus = Self { process, folder, client, place };
        prometheus.await_ready().await?;
        Ok(prometheus)
    }

    /// The address of Prometheus, for queries.
    #[must_use]
    pub fn url(&self) -> String {
        self.place.url()
    }

    /// Kills Prometheus (SIGKILL) and waits for the end of the process. The samples stay.
    pub fn kill(&self) -> Result<()> {
        self.process.kill()
    }

    /// Starts Prometheus again after [`Self::kill`], at the same address, and waits until Prometheus is ready.
    pub async fn start_again(&self) -> Result<()> {
        self.process.start_again()?;
        self.await_ready().await
    }

    /// Pauses Prometheus (SIGSTOP): the system accepts connections, and Prometheus sends no response.
    pub fn pause(&self) -> Result<()> {
        self.process.pause()
    }

    /// Resumes Prometheus (SIGCONT).
    pub fn resume(&self) -> Result<()> {
        self.process.resume()
    }

    /// Deletes all samples after [`Self::kill`], like a lost disk.
    pub fn lose_data(&self) -> Result<()> {
        let data = self.data();
        std::fs::remove_dir_all(&data)
            .with_context(|| format!("failed to delete {}", data.display()))
    }

    /// The value of an instant query that returns one sample; `None` without samples.
    pub async fn query(&self, promql: &str) -> Result<Option<f64>> {
        let result = self.evaluate(promql).await?;
        let samples = result.as_array().map(Vec::as_slice).unwrap_or_default();
        ensure!(samples.len() < 2, "{promql:?} yields {} samples, not one", samples.len());
        let Some(sample) = samples.first() else {
            return Ok(None);
        };
        Ok(Some(number(&sample["value"])?.1))
    }

    /// Whether a string is a query, of any type.
    pub async fn is_query(&self, text: &str) -> Result<bool> {
        let query = text.bytes().fold(String::new(), |query, byte| query + &format!("%{byte:02X}"));
        let request = http::Request::get(format!("/api/v1/format_query?query={query}"));
        match self.client.request_text(request.body(Vec::new())?).await {
            Ok(_) => Ok(true),
            Err(kube::Error::Api(status)) if status.code == 400 => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// The number of series that an instant query yields.
    pub async fn count_series(&self, promql: &str) -> Result<usize> {
        Ok(self.evaluate(promql).await?.as_array().map_or(0, Vec::len))
    }

    /// The samples of one series in the last minutes: seconds since the epoch, and value. The
    /// selector has no range.
    pub async fn scraped(&self, selector: &str, minutes: u32) -> Result<Vec<(f64, f64)>> {
        let result = self.evaluate(&format!("{selector}[{minutes}m]")).await?;
        let series = result.as_array().map(Vec::as_slice).unwrap_or_default();
        ensure!(series.len() < 2, "{selector:?} selects {} series, not one", series.len());
        let samples = series.first().and_then(|series| series["values"].as_array());
        samples.into_iter().flatten().map(number).collect()
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join(DATA)
    }

    async fn evaluate(&self, promql: &str) -> Result<Value> {
        let path: String = std::iter::once("/api/v1/query?query=".to_owned())
            .chain(promql.bytes().map(|byte| format!("%{byte:02X}")))
            .collect();
        let request = http::Request::get(path).body(Vec::new())?;
        let mut response: Value = self.client.request(request).await?;
        let result = response["data"]["result"].take();
        ensure!(result.is_array(), "Prometheus responded to {promql:?} with {response}");
        Ok(result)
    }

    /// Waits until a query returns a sample. The first sample takes seconds after the first scrape.
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

/// A pair of an instant and a value. Prometheus writes the value as a string.
fn number(sample: &Value) -> Result<(f64, f64)> {
    let at = sample[0].as_f64().context("a sample without an instant")?;
    let value = sample[1].as_str().context("a sample without a value")?;
    Ok((at, value.parse()?))
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        if std::thread::panicking() {
            run_folder::keep(self.folder.path());
            eprintln!("{}", log_tail::tails_of(self.folder.path(), 15));
        }
    }
}

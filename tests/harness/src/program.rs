//! A run of the program under test: starts, queries, pauses, resumes, ends and measures it. The test decides what the
//! program should do.

use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, bail};
use kube::Client;
use kube::client::Body;

use crate::belongings;
use almanac_local::log_tail;
use almanac_local::run_folder::{self, RunFolder};
use almanac_local::{Observation, PATIENCE, await_condition};
use almanac_local::{Process, ProgramPort};

/// The name of its log file.
const NAME: &str = "program";
/// The number of lines of its log in an error.
const LINES: usize = 20;
/// A paused program accepts a request and never answers it.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// A program that runs during a test, in its own directory, which is also its home. It is killed when this is dropped
/// and when the test process ends for any reason.
///
/// `on_shared_cluster` and `on_own_control_plane` print the end of its log and keep the directory however a test
/// fails; a test without them does so when it panics.
#[derive(Debug)]
pub struct Program {
    // First, so that it has ended before its directory is deleted.
    process: Process,
    port: Option<ProgramPort>,
    folder: PathBuf,
}

impl Program {
    /// Starts it with these arguments, and with these variables in addition to those of the test.
    pub fn start(program: &Path, arguments: &[&str], environment: &[(&str, &str)]) -> Result<Self> {
        Self::launch(program, arguments, environment, None)
    }

    /// The same with `--listen 127.0.0.1:PORT` at the end of its arguments. The port is its own,
    /// also while it is down.
    pub fn start_listening(
        program: &Path,
        arguments: &[&str],
        environment: &[(&str, &str)],
    ) -> Result<Self> {
        Self::launch(program, arguments, environment, Some(ProgramPort::take()?))
    }

    fn launch(
        program: &Path,
        arguments: &[&str],
        environment: &[(&str, &str)],
        port: Option<ProgramPort>,
    ) -> Result<Self> {
        let folder = RunFolder::create()?;
        let mut arguments: Vec<String> = arguments.iter().copied().map(String::from).collect();
        if let Some(port) = &port {
            arguments.extend(["--listen".into(), address_of(port)]);
        }
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let environment = environment.iter().map(owned).collect();
        let path = folder.path().to_owned();
        let process = Process::start_in_environment(NAME, program, arguments, environment, &path)?;
        belongings::leave(folder);
        Ok(Self { process, port, folder: path })
    }

    /// Restarts it, on the same port and with the same arguments; the log continues. It must not be
    /// running.
    pub fn start_again(&self) -> Result<()> {
        self.process.start_again()
    }

    /// Its process id while it runs.
    #[must_use]
    pub fn id(&self) -> Option<u32> {
        self.process.id()
    }

    /// Whether it runs. A paused one counts as running.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.process.check_alive().is_ok()
    }

    /// An error, with the end of its log, if it does not run.
    pub fn check_running(&self) -> Result<()> {
        self.process.check_alive()
    }

    /// Kills it (SIGKILL) and waits until it is gone.
    pub fn kill(&self) -> Result<()> {
        self.process.kill()
    }

    /// Pauses it (SIGSTOP): it keeps its connections and does nothing.
    pub fn pause(&self) -> Result<()> {
        self.process.pause()
    }

    /// Resumes it (SIGCONT).
    pub fn resume(&self) -> Result<()> {
        self.process.resume()
    }

    /// Shuts it down (SIGTERM) and waits until it has ended. If it does not end, that is an error,
    /// and it keeps running.
    pub async fn stop(&self) -> Result<ExitStatus> {
        self.process.ask_to_end()?;
        self.await_end().await
    }

    /// Types Ctrl-C (SIGINT to its process group) and waits until it has ended.
    pub async fn interrupt(&self) -> Result<ExitStatus> {
        self.process.interrupt()?;
        self.await_end().await
    }

    /// Waits until it has ended by itself; can be called repeatedly.
    pub async fn await_end(&self) -> Result<ExitStatus> {
        let ended = await_condition("the program to end", PATIENCE, async || {
            Ok(match self.process.check_end() {
                Ok(Some(status)) => Observation::Holds(Ok(status)),
                Ok(None) => Observation::NotYet("it runs".into()),
                Err(error) => Observation::Holds(Err(error)),
            })
        });
        ended.await.map_err(|error| self.with_log(&error))?
    }

    /// Its output so far, of both streams.
    pub fn log(&self) -> Result<String> {
        let file = self.process.log();
        let log = std::fs::read(&file);
        let log = log.with_context(|| format!("failed to read {}", file.display()))?;
        Ok(String::from_utf8_lossy(&log).into_owned())
    }

    /// Waits until its output contains this. Fails at once if the program has ended without it.
    pub async fn await_log(&self, needle: &str) -> Result<()> {
        let what = format!("the program to print {needle:?}");
        let output = await_condition(&what, PATIENCE, async || {
            // Checked before the log is read, so that the last output is included.
            let alive = self.process.check_alive();
            if self.log()?.contains(needle) {
                return Ok(Observation::Holds(Ok(())));
            }
            Ok(match alive {
                Ok(()) => Observation::NotYet("other words".into()),
                Err(death) => Observation::Holds(Err(death)),
            })
        });
        output.await.map_err(|error| self.with_log(&error))?
    }

    /// The directory it runs in, with its log.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The address it listens on.
    pub fn address(&self) -> Result<String> {
        let port = self.port.as_ref();
        port.map(address_of).context("the program has no port: use start_listening")
    }

    /// Sends it a request over plain HTTP; returns the status and the body.
    pub async fn get(&self, path: &str) -> Result<(u16, String)> {
        let url = format!("http://{}", self.address()?);
        // A new connection each time, to reach the current listener. The first response counts.
        let mut config = kube::Config::new(url.parse()?);
        config.default_retry = false;
        let client = Client::try_from(config)?;
        let request = http::Request::get(path).body(Body::empty())?;
        let requested = async {
            let response = client.send(request).await?;
            let status = response.status().as_u16();
            let body = response.into_body().collect_bytes().await?;
            Ok((status, String::from_utf8_lossy(&body).into_owned()))
        };
        match tokio::time::timeout(REQUEST_TIMEOUT, requested).await {
            Ok(answer) => answer.map_err(|error: kube::Error| anyhow!(error)),
            Err(_) => bail!("no response to GET {path} within {REQUEST_TIMEOUT:?}"),
        }
    }

    /// Waits until `GET /readyz` returns 200. Fails immediately if the program ends.
    pub async fn await_ready(&self) -> Result<()> {
        let ready = await_condition("the program to be ready", PATIENCE, async || {
            if let Err(death) = self.process.check_alive() {
                return Ok(Observation::Holds(Err(death)));
            }
            let (status, body) = self.get("/readyz").await?;
            Ok(if status == 200 {
                Observation::Holds(Ok(()))
            } else {
                Observation::NotYet(format!("{status}: {body}"))
            })
        });
        ready.await.map_err(|error| self.with_log(&error))?
    }

    /// The memory it has in RAM now, in bytes.
    pub fn resident_memory(&self) -> Result<u64> {
        self.memory("VmRSS")
    }

    /// Its peak memory in bytes since it was last started.
    pub fn peak_resident_memory(&self) -> Result<u64> {
        self.memory("VmHWM")
    }

    /// The CPU time it has used, user and system.
    pub fn processor_time(&self) -> Result<Duration> {
        let stat = self.proc_file("stat")?;
        // The name in parentheses may hold anything; what follows it is numbers. CPU time is in the
        // 14th and 15th field, the 12th and 13th after the name.
        let (_, numbers) = stat.rsplit_once(')').context("no name in /proc/PID/stat")?;
        let mut ticks = 0;
        for number in numbers.split_ascii_whitespace().skip(11).take(2) {
            ticks += number.parse::<u64>()?;
        }
        let millis = ticks.saturating_mul(1000) / rustix::param::clock_ticks_per_second();
        Ok(Duration::from_millis(millis))
    }

    fn memory(&self, field: &str) -> Result<u64> {
        let status = self.proc_file("status")?;
        let line = status.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
        let size = line.and_then(|line| line.trim().strip_suffix("kB"));
        let size = size.with_context(|| format!("no {field} in /proc/PID/status"))?;
        Ok(size.trim().parse::<u64>()? * 1024)
    }

    fn proc_file(&self, name: &str) -> Result<String> {
        self.process.check_alive()?;
        let id = self.id().context("the program is not running")?;
        let file = format!("/proc/{id}/{name}");
        std::fs::read_to_string(&file).with_context(|| format!("failed to read {file}"))
    }

    fn with_log(&self, error: &anyhow::Error) -> anyhow::Error {
        anyhow!("{error:#}\n{}", log_tail::tail_of(&self.process.log(), LINES))
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        if std::thread::panicking() {
            run_folder::keep(&self.folder);
            eprintln!("{}", log_tail::tails_of(&self.folder, LINES));
        }
    }
}

fn address_of(port: &ProgramPort) -> String {
    format!("127.0.0.1:{}", port.number())
}

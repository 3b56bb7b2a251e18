//! A run of the program under test: starts, queries, pauses, resumes, ends and measures it. The test chooses the
//! arguments.

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

/// The name of the log file of a program.
const NAME: &str = "program";
/// The number of lines of the log in an error.
const LINES: usize = 20;
/// The timeout of a request, because a paused program accepts a request and never responds.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// A program that runs during a test, in its own directory, which is also its home. The program is killed when this
/// value is dropped, and when the test process ends for any reason.
///
/// `on_shared_cluster` and `on_own_control_plane` print the end of the log and keep the directory after any failure of
/// a test. In other tests, that happens only after a panic.
#[derive(Debug)]
pub struct Program {
    // The first field, so that the process ends before its directory is deleted.
    process: Process,
    port: Option<ProgramPort>,
    folder: PathBuf,
}

impl Program {
    /// Starts a program with these arguments, and with these variables in addition to those of the test.
    pub fn start(program: &Path, arguments: &[&str], environment: &[(&str, &str)]) -> Result<Self> {
        Self::launch(program, arguments, environment, None)
    }

    /// Starts a program with `--listen 127.0.0.1:PORT` at the end of its arguments. The port stays reserved while the
    /// program does not run.
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

    /// Restarts the program, on the same port and with the same arguments; the log continues. The program must not be
    /// running.
    pub fn start_again(&self) -> Result<()> {
        self.process.start_again()
    }

    /// The process id of the running program.
    #[must_use]
    pub fn id(&self) -> Option<u32> {
        self.process.id()
    }

    /// Whether the program runs. A paused program counts as running.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.process.check_alive().is_ok()
    }

    /// Fails, with the end of the log, if the program does not run.
    pub fn check_running(&self) -> Result<()> {
        self.process.check_alive()
    }

    /// Kills the program (SIGKILL) and waits for its end.
    pub fn kill(&self) -> Result<()> {
        self.process.kill()
    }

    /// Pauses the program (SIGSTOP): the program keeps its connections and does nothing.
    pub fn pause(&self) -> Result<()> {
        self.process.pause()
    }

    /// Resumes the program (SIGCONT).
    pub fn resume(&self) -> Result<()> {
        self.process.resume()
    }

    /// Shuts the program down (SIGTERM) and waits for its end. Fails if the program does not end; it keeps running
    /// then.
    pub async fn stop(&self) -> Result<ExitStatus> {
        self.process.ask_to_end()?;
        self.await_end().await
    }

    /// Simulates Ctrl-C (SIGINT to the process group) and waits for the end of the program.
    pub async fn interrupt(&self) -> Result<ExitStatus> {
        self.process.interrupt()?;
        self.await_end().await
    }

    /// Waits until the program has ended by itself; can be called repeatedly.
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

    /// The output so far, of both streams.
    pub fn log(&self) -> Result<String> {
        let file = self.process.log();
        let log = std::fs::read(&file);
        let log = log.with_context(|| format!("failed to read {}", file.display()))?;
        Ok(String::from_utf8_lossy(&log).into_owned())
    }

    /// Waits until the output contains this string. Fails immediately if the program has ended without printing the
    /// string.
    pub async fn await_log(&self, needle: &str) -> Result<()> {
        let what = format!("the program to print {needle:?}");
        let output = await_condition(&what, PATIENCE, async || {
            // Check for the end before reading the log, so that the last output is included.
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

    /// The working directory of the program, with the log.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The listen address of the program.
    pub fn address(&self) -> Result<String> {
        let port = self.port.as_ref();
        port.map(address_of).context("the program has no port: use start_listening")
    }

    /// Sends the program a request over plain HTTP; returns the status and the body.
    pub async fn get(&self, path: &str) -> Result<(u16, String)> {
        let url = format!("http://{}", self.address()?);
        // Each attempt opens a new connection, to reach the current listener. The first response is the result.
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

    /// The resident memory now, in bytes.
    pub fn resident_memory(&self) -> Result<u64> {
        self.memory("VmRSS")
    }

    /// The peak memory in bytes since the last start.
    pub fn peak_resident_memory(&self) -> Result<u64> {
        self.memory("VmHWM")
    }

    /// The used CPU time, user and system.
    pub fn processor_time(&self) -> Result<Duration> {
        let stat = self.proc_file("stat")?;
        // The name in parentheses may contain any characters; only numbers follow. CPU time is in the 14th and 15th
        // field, the 12th and 13th after the name.
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

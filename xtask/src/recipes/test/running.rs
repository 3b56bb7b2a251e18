//! Runs the test programs in parallel, and reports the result of each. `queue` chooses the next program.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context as _;

use super::durations::Durations;
use super::harness::ControlPlane;
use super::outcome::{self, Outcome};
use super::programs::Program;
use super::queue::{Lane, Queue};
use crate::run::{Run, Step};
use crate::watched::{self, Watcher};

/// The interval between two checks for silent programs.
const BETWEEN_LOOKS: Duration = Duration::from_secs(5);
/// The interval at which a run prints the running programs while no program ends.
const BETWEEN_SIGNS_OF_LIFE: Duration = Duration::from_mins(1);

/// API servers that live for seconds spend a fifth of their CPU time on garbage collection. This setting lets each use
/// more memory instead, limited by the memory of the machine for all that run at the same time.
pub(super) const RARE_COLLECTIONS: [(&str, &str); 2] = [("GOGC", "400"), ("GOMEMLIMIT", "1GiB")];

/// A test program, or the documentation examples, to be run once.
pub(super) struct Job {
    pub(super) name: String,
    pub(super) lane: Lane,
    pub(super) step: Step,
    /// The names of the tests to run.
    pub(super) tests: Vec<String>,
    /// The test program. `None` for the documentation examples: cargo runs those.
    pub(super) program: Option<Program>,
}

/// An event while programs run.
pub(super) enum Event {
    /// A program has ended.
    Ended(usize, std::io::Result<ExitStatus>),
    /// The control plane is ready, or failed to start. `None` if the tests do not share a control plane.
    Cluster(anyhow::Result<Option<ControlPlane>>),
}

/// The programs of a run.
pub(super) struct Running<'a> {
    run: &'a mut Run,
    jobs: Vec<Job>,
    queue: Queue,
    durations: Durations,
    active: BTreeMap<usize, Active>,
    plane: Option<ControlPlane>,
    /// A program without output for this time counts as hanging.
    patience: Duration,
    folder: PathBuf,
    events: Receiver<Event>,
    sender: Sender<Event>,
}

/// A program that runs.
struct Active {
    watcher: Option<Watcher>,
    output: PathBuf,
    started: Instant,
    printed: u64,
    last_printed: Instant,
}

impl<'a> Running<'a> {
    /// No program runs yet; an event reports that the cluster is ready.
    pub(super) fn new(
        run: &'a mut Run,
        jobs: Vec<Job>,
        (sender, events): (Sender<Event>, Receiver<Event>),
        patience: Duration,
    ) -> anyhow::Result<Self> {
        let folder = run.workspace.build_folder.join("test-output");
        if folder.exists() {
            fs::remove_dir_all(&folder).context("failed to remove the output of the last run")?;
        }
        fs::create_dir_all(&folder).context("failed to create a directory for the output")?;
        let durations = Durations::load(&run.workspace);
        let expected = jobs.iter().map(|job| (durations.expected(job), job.lane));
        let queue = Queue::new(expected, run.arguments.jobs());
        let active = BTreeMap::new();
        Ok(Self {
            run,
            jobs,
            queue,
            durations,
            active,
            plane: None,
            patience,
            folder,
            events,
            sender,
        })
    }

    /// Runs all programs to their end; returns the programs that could not run, with the reason.
    pub(super) fn finish(mut self) -> anyhow::Result<Option<(Vec<String>, String)>> {
        println!(
            "\n== tests: {} programs; their output is kept in {}",
            self.jobs.len(),
            self.folder.display()
        );
        let mut not_run = None;
        let mut last_sign = Instant::now();
        loop {
            while let Some(index) = self.queue.start() {
                self.start(index)?;
            }
            if self.queue.is_done() {
                break;
            }
            match self.events.recv_timeout(BETWEEN_LOOKS) {
                Ok(Event::Ended(index, status)) => {
                    last_sign = Instant::now();
                    self.end(index, status?)?;
                }
                Ok(Event::Cluster(Ok(plane))) => {
                    self.plane = plane;
                    self.queue.cluster_is_ready();
                }
                Ok(Event::Cluster(Err(error))) => {
                    let given_up = self.queue.give_up_cluster();
                    let targets =
                        given_up.into_iter().filter_map(|index| self.jobs[index].program.as_ref());
                    let targets = targets.map(|program| program.target.clone()).collect();
                    not_run = Some((targets, format!("{error:#}")));
                }
                Err(RecvTimeoutError::Timeout) => {
                    self.end_what_hangs();
                    if last_sign.elapsed() >= BETWEEN_SIGNS_OF_LIFE {
                        last_sign = Instant::now();
                        self.print_what_runs();
                    }
                }
                Err(RecvTimeoutError::Disconnected) => anyhow::bail!("nothing runs any more"),
            }
        }
        if self.run.arguments.filter.is_none() {
            self.durations.save(&self.run.workspace)?;
        }
        Ok(not_run)
    }

    fn start(&mut self, index: usize) -> anyhow::Result<()> {
        let job = &self.jobs[index];
        let output =
            self.folder.join(format!("{}.txt", job.name.replace(['(', ')'], "").replace(' ', "-")));
        let failed = || format!("failed to start {}", job.name);
        let mut command = job.step.command();
        if job.lane == Lane::Cluster {
            command.envs(RARE_COLLECTIONS);
            command.envs(self.plane.iter().flat_map(|plane| &plane.environment));
        }
        let file = File::create(&output).with_context(failed)?;
        let (mut child, watcher) = watched::start(&command, file).with_context(failed)?;
        println!("   {}: started, {} to go", job.name, self.queue.len());
        let sender = self.sender.clone();
        thread::spawn(move || sender.send(Event::Ended(index, child.wait())));
        let now = Instant::now();
        let active =
            Active { watcher: Some(watcher), output, started: now, printed: 0, last_printed: now };
        self.active.insert(index, active);
        Ok(())
    }

    fn end(&mut self, index: usize, status: ExitStatus) -> anyhow::Result<()> {
        self.queue.end(index);
        let job = &self.jobs[index];
        let active = self.active.remove(&index).context("a program has ended that did not run")?;
        let took = active.started.elapsed();
        let output =
            fs::read(&active.output).context("failed to read the output of a test program")?;
        let output = String::from_utf8_lossy(&output);
        let mut outcome = Outcome::read(&output, status);
        match active.watcher {
            Some(watcher) => watcher.dismiss(),
            None => outcome.broken = Some(job.what_hung(&output, self.patience)),
        }
        if outcome.is_ok() {
            self.durations.note(&job.name, took);
        } else {
            println!("\n== {}: its output\n{}", job.name, output.trim_end());
        }
        let Outcome { passed, ignored, failed, broken } = outcome;
        let verdict = if failed.is_empty() && broken.is_none() { "ok" } else { "FAILED" };
        print!("== {}: {verdict}, {passed} passed", job.name);
        if !failed.is_empty() {
            print!(", {} failed", failed.len());
        }
        println!(" in {:.1} s", took.as_secs_f64());
        self.run.count_tests(passed, ignored);
        for test in &failed {
            self.run.fail(&format!("{}: {test}", job.name), &job.rerun(test).to_string());
        }
        if let Some(why) = broken {
            self.run.fail(&format!("{}: {why}", job.name), &job.cargo().to_string());
        }
        Ok(())
    }

    /// Kills the programs without output for too long.
    fn end_what_hangs(&mut self) {
        for active in self.active.values_mut() {
            let printed = fs::metadata(&active.output).map_or(0, |file| file.len());
            if printed != active.printed {
                active.printed = printed;
                active.last_printed = Instant::now();
            } else if active.last_printed.elapsed() >= self.patience {
                drop(active.watcher.take());
            }
        }
    }

    fn print_what_runs(&self) {
        for (index, active) in &self.active {
            let output = fs::read(&active.output).unwrap_or_default();
            let ended = outcome::ended(&String::from_utf8_lossy(&output)).len();
            let seconds = active.started.elapsed().as_secs();
            let all = self.jobs[*index].tests.len();
            println!(
                "   {}: running for {seconds} s, {ended} of {all} tests have ended",
                self.jobs[*index].name
            );
        }
    }
}

impl Job {
    fn rerun(&self, test: &str) -> Step {
        match &self.program {
            Some(program) => program.rerun(test),
            None => Step::cargo(&["test", "--workspace", "--doc", "--", test]),
        }
    }

    fn cargo(&self) -> Step {
        match &self.program {
            Some(program) => program.cargo(),
            None => Step::cargo(&["test", "--workspace", "--doc"]),
        }
    }

    /// The reason for killing a program, with the tests that had not ended.
    fn what_hung(&self, output: &str, patience: Duration) -> String {
        let ended = outcome::ended(output);
        let all = self.tests.iter().map(String::as_str);
        let unfinished: Vec<_> = all.filter(|test| !ended.contains(test)).collect();
        format!(
            "killed after {} minutes without output; not ended: {}",
            patience.as_secs() / 60,
            unfinished.join(", ")
        )
    }
}

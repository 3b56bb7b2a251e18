//! The four programs together: started, awaited, and killed or paused one at a time when a test requires it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use kube::Client;

use crate::await_condition::{Observation, PATIENCE, await_condition};
use crate::binaries::Binaries;
use crate::client::{client_for, client_from};
use crate::component::Component;
use crate::data_folder::DataFolder;
use crate::flags::Layout;
use crate::options::ControlPlaneOptions;
use crate::pki::{self, Pki};
use crate::ports::Ports;
use crate::process::{Process, await_former};
use crate::run_folder::RunFolder;
use crate::{audit, log_tail, run_folder};

/// The directory of the data, certificates and logs of a control plane.
#[derive(Debug)]
pub enum ControlPlaneDir {
    /// Removed at the end of the run, unless a test failed in it.
    Run(RunFolder),
    /// Kept for the next run.
    Data(DataFolder),
}

impl ControlPlaneDir {
    /// The directory.
    #[must_use]
    pub fn path(&self) -> &Path {
        match self {
            Self::Run(folder) => folder.path(),
            Self::Data(folder) => folder.path(),
        }
    }
}

/// A running control plane. Dropping it kills its processes, and removes its directory
/// unless the directory is kept.
#[derive(Debug)]
pub struct ControlPlane {
    processes: BTreeMap<Component, Process>,
    ports: Ports,
    dir: ControlPlaneDir,
    ready_after: Duration,
    is_audited: bool,
}

impl ControlPlane {
    /// Builds the missing programs, starts the components of the options, and waits until all of them are ready.
    pub async fn start(options: &ControlPlaneOptions) -> Result<Self> {
        let binaries = Binaries::provide_async().await?;
        Self::start_in(ControlPlaneDir::Run(RunFolder::create()?), &binaries, options).await
    }

    /// Starts the components of the options in this directory, where an earlier run may have kept its data, and waits
    /// until all of them are ready.
    pub async fn start_in(
        dir: ControlPlaneDir,
        binaries: &Binaries,
        options: &ControlPlaneOptions,
    ) -> Result<Self> {
        let started = Instant::now();
        let folder = dir.path().to_owned();
        let mut former_port = None;
        if let ControlPlaneDir::Data(data) = &dir {
            await_former(&folder).await?;
            remove_logs(&folder)?;
            former_port = data.api_server_port();
        }
        let ports = Ports::reserve(former_port)?;
        let pki = Pki::provide(&folder.join("pki"))?;
        for (client, file, called) in [
            (pki::ADMIN, folder.join("kubeconfig"), Component::ApiServer),
            (
                pki::CONTROLLER_MANAGER,
                Layout::kubeconfig_of(&folder, pki::CONTROLLER_MANAGER),
                Component::ApiServer,
            ),
            (pki::SCHEDULER, Layout::kubeconfig_of(&folder, pki::SCHEDULER), Component::ApiServer),
            (pki::ETCD, Layout::kubeconfig_of(&folder, pki::ETCD), Component::Etcd),
        ] {
            pki.write_kubeconfig(&file, &ports.url(called), client)?;
        }
        if let ControlPlaneDir::Data(data) = &dir {
            data.keep_api_server_port(ports.api_server.number())?;
        }
        if options.is_audited {
            audit::write_policy(&folder, &options.reads_of)?;
        }
        let mut plane = Self {
            processes: BTreeMap::new(),
            ports,
            dir,
            ready_after: Duration::ZERO,
            is_audited: options.is_audited,
        };
        // The API server waits for etcd without a limit; the other two programs give up on the API
        // server after a while. So etcd and the API server start together, and then the others.
        for together in [
            [Component::Etcd, Component::ApiServer],
            [Component::ControllerManager, Component::Scheduler],
        ] {
            for component in together.into_iter().filter(|component| options.has(*component)) {
                plane.launch(component, binaries, &pki, options)?;
            }
            for component in together.into_iter().filter(|component| options.has(*component)) {
                plane.await_ready(component).await?;
            }
        }
        plane.ready_after = started.elapsed();
        Ok(plane)
    }

    /// The time from the start of the first process until the last process was ready.
    #[must_use]
    pub fn ready_after(&self) -> Duration {
        self.ready_after
    }

    /// The administrator's kubeconfig.
    #[must_use]
    pub fn kubeconfig(&self) -> PathBuf {
        self.dir.path().join("kubeconfig")
    }

    /// The directory of the data, certificates and logs.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.dir.path()
    }

    /// The port of a component.
    #[must_use]
    pub fn url(&self, component: Component) -> String {
        self.ports.url(component)
    }

    /// A new client with administrator permissions.
    pub fn client(&self) -> Result<Client> {
        client_for(&self.kubeconfig())
    }

    /// A client for requests to etcd over HTTP. etcd accepts only this client and the API server.
    pub fn etcd_client(&self) -> Result<Client> {
        client_for(&Layout::kubeconfig_of(self.folder(), pki::ETCD))
    }

    /// The audit log of an API server that was started with [`ControlPlaneOptions::audited`].
    #[must_use]
    pub fn audit_log(&self) -> Option<PathBuf> {
        self.is_audited.then(|| audit::log_in(self.folder()))
    }

    /// The process id of a running component.
    #[must_use]
    pub fn process_id(&self, component: Component) -> Option<u32> {
        self.processes.get(&component)?.id()
    }

    /// Kills a component (SIGKILL). The component stays down until it is started again.
    pub fn kill(&self, component: Component) -> Result<()> {
        self.process(component)?.kill()
    }

    /// Stops a component immediately (SIGSTOP): the component keeps its connections and sends no response.
    pub fn pause(&self, component: Component) -> Result<()> {
        self.process(component)?.pause()
    }

    /// Continues a stopped component (SIGCONT).
    pub fn resume(&self, component: Component) -> Result<()> {
        self.process(component)?.resume()
    }

    /// Restarts a component with the same flags on the same data, after killing it if it still runs,
    /// and waits until the component is ready.
    pub async fn restart(&self, component: Component) -> Result<()> {
        let process = self.process(component)?;
        process.kill()?;
        process.start_again()?;
        self.await_ready(component).await
    }

    /// The components that have ended by themselves, each with the end of its log.
    #[must_use]
    pub fn ended(&self) -> Vec<(Component, anyhow::Error)> {
        let processes = self.processes.iter();
        let ended = processes
            .filter_map(|(component, process)| Some((*component, process.check_alive().err()?)));
        ended.collect()
    }

    /// Waits until a component reports that it is ready; fails immediately if its process has ended.
    pub async fn await_ready(&self, component: Component) -> Result<()> {
        let process = self.process(component)?;
        let client = match component {
            Component::Etcd => self.etcd_client()?,
            _ => client_from(&self.kubeconfig(), Some(&self.url(component)), None)?,
        };
        let ready = await_condition(&format!("{component} to be ready"), PATIENCE, async || {
            // The end of the process is a final observation.
            if let Err(death) = process.check_alive() {
                return Ok(Observation::Holds(Err(death)));
            }
            let request = http::Request::get(component.readiness_path()).body(Vec::new())?;
            Ok(Observation::Holds(Ok(client.request_text(request).await?)))
        })
        .await;
        match ready {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(death)) => Err(death),
            Err(error) => Err(error.context(log_tail::tail_of(&process.log(), 20))),
        }
    }

    /// The last lines of every component's log.
    #[must_use]
    pub fn log_tails(&self, lines: usize) -> String {
        log_tail::tails_of(self.dir.path(), lines)
    }

    /// Keeps the directory, with the logs, after the end of this control plane.
    pub fn keep_logs(&self) {
        run_folder::keep(self.dir.path());
    }

    fn process(&self, component: Component) -> Result<&Process> {
        self.processes
            .get(&component)
            .with_context(|| format!("this control plane was started without {component}"))
    }

    fn launch(
        &mut self,
        component: Component,
        binaries: &Binaries,
        pki: &Pki,
        options: &ControlPlaneOptions,
    ) -> Result<()> {
        let layout = Layout {
            folder: self.dir.path(),
            pki,
            ports: &self.ports,
            options,
            is_kept: matches!(self.dir, ControlPlaneDir::Data(_)),
        };
        let mut flags = match component {
            Component::Etcd => layout.etcd_flags(),
            Component::ApiServer => layout.api_server_flags(),
            Component::ControllerManager => layout.controller_manager_flags(),
            Component::Scheduler => layout.scheduler_flags()?,
        };
        let extra = options.extra_flags.iter().filter(|(of, _)| *of == component);
        flags.extend(extra.map(|(_, flag)| flag.clone()));
        let program = binaries.program(component.program())?;
        let process = Process::start(component.program(), &program, flags, self.dir.path())?;
        self.processes.insert(component, process);
        Ok(())
    }
}

/// Removes the logs of the previous run. Otherwise they would grow from run to run.
fn remove_logs(folder: &Path) -> Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let file = entry?.path();
        if file.extension().is_some_and(|extension| extension == "log") {
            std::fs::remove_file(&file)
                .with_context(|| format!("failed to remove {}", file.display()))?;
        }
    }
    Ok(())
}

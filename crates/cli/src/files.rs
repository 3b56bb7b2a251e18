//! The files that the user names: a file, a directory, a pattern, `-`, or a kustomization.
//!
//! A named file must be readable and valid. A directory may contain any files; only the policies, autoscalers and
//! targets in these files are read. No program is started for found files, and only plain files are opened. Other
//! modules interpret the objects, and decide which directories are places.

mod excluding;
mod folder;
mod glance;
mod kustomize;
mod layout;
mod notes;
mod open;
mod rendered;
pub(crate) mod settings;

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use almanac_api::checking::{Layout, Place};
use almanac_api::kinds::Kind;
use almanac_api::kubernetes::KubernetesMinor;
use almanac_api::reading::{
    Folder, Names, NearNames, Node, PlacedFinding, Reading, Source, claims_kind_of_ours,
    may_bound_pods, may_hold_pods, may_hold_policies, read_objects, read_targets,
};
use anyhow::Context as _;
use clap::{Args, ValueHint};

use self::folder::{DirectoryScan, ExcludedPaths};
pub(crate) use self::folder::{OUR_IGNORE_FILE, may_hold_objects};
pub(crate) use self::glance::glance;
pub(crate) use self::kustomize::why_it_failed;
pub(crate) use self::notes::{Note, note_lines, write_notes};
use self::open::NotRead;
pub(crate) use self::rendered::Rendered;
use crate::selector::Selector;

/// The files to read, and their grouping.
#[derive(Args, Clone, Default)]
pub(crate) struct FileArguments {
    /// A file, a directory (searched recursively), a glob such as 'teams/*.yaml', or - for standard input
    #[arg(short, long = "filename", value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub(crate) file: Vec<String>,

    /// A kustomization directory, built with `kubectl kustomize`
    #[arg(short, long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) kustomize: Vec<String>,

    /// Skip files and directories that match, with the syntax of a .gitignore line; for all commands and users, write
    /// `exclude = ["PATTERN"]` into almanac.toml
    #[arg(long, value_name = "PATTERN")]
    exclude: Vec<String>,

    /// Only the cluster with this directory, or the place with this name in almanac.toml
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    place: Vec<String>,

    /// The version of Kubernetes that the files are for, such as 1.37 [default: the oldest]
    #[arg(long, value_name = "VERSION")]
    pub(crate) kubernetes_version: Option<KubernetesMinor>,

    /// Whether to add up the demand of all pods, so that quotas are read, and pods that no policy scales
    #[arg(skip)]
    pub(crate) adds_up_pods: bool,
}

/// The point of view from which files are read.
#[derive(Clone, Default)]
pub(crate) struct Viewpoint {
    /// The base directory of patterns.
    pub(crate) here: PathBuf,
    /// The base directory of the names of places. The settings for places are in this directory or around it.
    pub(crate) root: PathBuf,
    /// The prefix to remove from the names of files.
    pub(crate) unnamed: PathBuf,
    /// The places that the caller has determined; empty to use the settings.
    pub(crate) fixed: Vec<Place>,
    /// Whether files that `.gitignore` matches are read anyway, as they are tracked.
    pub(crate) reads_ignored: bool,
    /// The objects to read by kind and name, in addition to the targets of policies.
    pub(crate) targets: Targets,
    /// Rendered directories that are read in addition to the files.
    pub(crate) rendered: Vec<Rendered>,
    /// The directories below the root that are read only in their rendered form.
    pub(crate) left_out: Vec<PathBuf>,
}

/// Targets by kind and name.
pub(crate) type Targets = BTreeSet<(String, String)>;

/// The contents of the files.
pub(crate) struct Files {
    pub(crate) reading: Reading,
    /// The part of the grouping of directories that the user specifies.
    pub(crate) layout: Layout,
    /// The objects that were read in addition to the targets of policies.
    pub(crate) targets: Targets,
    /// The version of Kubernetes that the files are for.
    pub(crate) kubernetes: Option<KubernetesMinor>,
    found: DirectoryScan,
    here: PathBuf,
    unnamed: PathBuf,
}

impl FileArguments {
    /// Whether any files are named.
    pub(crate) fn are_given(&self) -> bool {
        !self.file.is_empty() || !self.kustomize.is_empty()
    }

    /// The first argument that applies to files only; `None` without such an argument.
    pub(crate) fn about_files(&self) -> Option<&'static str> {
        let exclude = (!self.exclude.is_empty()).then_some("--exclude");
        exclude
            .or((!self.place.is_empty()).then_some("--place"))
            .or(self.kubernetes_version.map(|_| "--kubernetes-version"))
    }

    /// Whether the user selected some places.
    pub(crate) fn names_places(&self) -> bool {
        !self.place.is_empty()
    }

    /// Arguments for these paths, except for files and directories that match a pattern.
    pub(crate) fn for_paths(file: Vec<String>, exclude: &[String]) -> FileArguments {
        FileArguments { file, exclude: exclude.to_vec(), ..FileArguments::default() }
    }

    /// Reads the named files.
    pub(crate) fn read(&self) -> anyhow::Result<Files> {
        let here = std::env::current_dir().context("failed to find the current directory")?;
        let (root, unnamed) = (here.clone(), PathBuf::from("."));
        self.read_from(Viewpoint { here, root, unnamed, ..Viewpoint::default() })
    }

    /// Reads the named files from a point of view.
    pub(crate) fn read_from(&self, viewpoint: Viewpoint) -> anyhow::Result<Files> {
        let Viewpoint { here, root, unnamed, fixed, reads_ignored, targets, rendered, left_out } =
            viewpoint;
        let mut layout = layout::read(&root, &self.place)?;
        if !fixed.is_empty() {
            layout.fixed = fixed;
        }
        let found = DirectoryScan::without(unnamed.clone(), reads_ignored);
        let reading = Reading::new(self.adds_up_pods);
        let kubernetes = self.kubernetes_version;
        let mut files = Files { reading, layout, targets, kubernetes, found, here, unnamed };
        let mut standard_input = Some(io::stdin());
        let mut named = Vec::new();
        let mut folders = Vec::new();
        for name in &self.file {
            if name == "-" {
                if let Some(input) = standard_input.take() {
                    files.take("<stdin>".to_owned(), None, open::slurp(input));
                }
                continue;
            }
            for path in open::paths(name)? {
                if path.is_dir() { folders.push(path) } else { named.push(path) }
            }
        }
        for path in named {
            if files.found.is_new(&path) {
                // A named file keeps the name that the user gave it.
                let unnamed = Some(&files.unnamed).filter(|it| it.is_absolute());
                let shown = unnamed.and_then(|it| path.strip_prefix(it).ok()).unwrap_or(&path);
                let name = shown.display().to_string();
                let folder = files.folder_of(&path);
                files.found.note_charts_around(&folder);
                files.take(name, Some(folder), open::named(&path));
            }
        }
        for folder in &self.kustomize {
            // Separate from the files of the directory, which may be other kustomizations.
            let inside = Folder::from_path(&files.here.join(folder).join("kustomization.yaml"));
            if files.layout.named.iter().any(|(_, known)| *known == inside) {
                continue;
            }
            let built = kustomize::build(folder)?;
            files.take(format!("kubectl kustomize {folder}"), Some(inside.clone()), Ok(built));
            files.layout.named.push((folder.trim_end_matches('/').to_owned(), inside));
        }
        for it in rendered {
            files.take_rendered(it, &root);
        }
        let excluded = ExcludedPaths::new(&files.here, &self.exclude)?;
        for folder in folders {
            files.found.walk(&folder, &files.here, &excluded)?;
        }
        let left_out: Vec<Folder> =
            left_out.iter().map(|it| Folder::from_path(&root.join(it))).collect();
        files.found.leave_out(&left_out, &files.here);
        files.read_found();
        files.check_places(&self.place)?;
        Ok(files)
    }
}

/// The targets of policies, by kind and name.
pub(crate) fn targets_of(reading: &Reading) -> Targets {
    owned(&reading.targets())
}

fn owned(targets: &BTreeSet<(&str, &str)>) -> Targets {
    targets.iter().map(|(kind, name)| ((*kind).to_owned(), (*name).to_owned())).collect()
}

fn borrowed(targets: &Targets) -> BTreeSet<(&str, &str)> {
    targets.iter().map(|(kind, name)| (kind.as_str(), name.as_str())).collect()
}

/// The files that are read if these files and directories are named, determined by file names alone.
pub(crate) fn that_are_read(
    paths: &[PathBuf],
    viewpoint: &Viewpoint,
    exclude: &[String],
) -> anyhow::Result<Vec<PathBuf>> {
    let excluded = ExcludedPaths::new(&viewpoint.here, exclude)?;
    let mut found = DirectoryScan::without(viewpoint.unnamed.clone(), viewpoint.reads_ignored);
    let (folders, mut named): (Vec<_>, Vec<_>) = paths.iter().cloned().partition(|it| it.is_dir());
    for folder in folders {
        found.walk(&folder, &viewpoint.here, &excluded)?;
    }
    named.extend(found.files);
    Ok(named)
}

impl Files {
    /// The files and directories that `almanac.toml` excludes.
    pub(crate) fn excluded_paths(&self) -> impl Iterator<Item = Folder> {
        self.found.excluded.iter().map(|path| Folder::from_path(path))
    }

    /// Reads the content of a named file, or reports the reason that it is unreadable.
    fn take(&mut self, name: String, folder: Option<Folder>, bytes: Result<Vec<u8>, NotRead>) {
        let in_folder = |source: Source| match folder {
            Some(folder) => source.in_folder(folder),
            None => source,
        };
        match bytes {
            Ok(bytes) => {
                read_objects(&mut self.reading, in_folder(Source::from_bytes(name, bytes)));
            }
            Err(why) => self.report_unread(in_folder(Source::new(name, "")), why),
        }
    }

    fn report_unread(&mut self, source: Source, why: NotRead) {
        let finding = PlacedFinding::new(self.reading.sources.len(), None, why.finding());
        self.reading.sources.push(source);
        self.reading.findings.push(finding);
    }

    /// Reads the found files: first those with policies or autoscalers, then those with their
    /// targets. Most files of a repository are scanned and never read as YAML.
    fn read_found(&mut self) {
        let mut others = Vec::new();
        let candidates = self.found.candidates();
        self.reading.skipped.files += self.found.expectations;
        for path in candidates {
            let Some(bytes) = self.found.open(&path) else { continue };
            if let Some(chart) = self.found.chart_of_template(&path, &self.here) {
                // A file that Helm renders is not an object yet, with or without a placeholder.
                self.found.unrendered.extend(claims_kind_of_ours(&bytes).then_some(chart));
                self.reading.skipped.files += 1;
            } else if may_hold_policies(&bytes)
                || self.reading.adds_up_pods() && may_bound_pods(&bytes)
            {
                let source = self.found_source(&path, bytes);
                read_objects(&mut self.reading, source);
            } else {
                others.push(path);
            }
        }
        let mut targets = targets_of(&self.reading);
        targets.extend(self.targets.iter().cloned());
        let targets = borrowed(&targets);
        let needs_pods = self.reading.needs_pods();
        let names = Names::new(targets.iter().map(|(_, name)| *name));
        let of_policies = owned(&self.reading.targets_of_policies());
        let of_policies = borrowed(&of_policies);
        let mut near_names = NearNames::new(&of_policies);
        for path in others {
            let may_matter = !targets.is_empty() || needs_pods;
            let bytes = if may_matter { self.found.open(&path) } else { None };
            let similar = bytes.as_ref().map(|bytes| near_names.in_text(bytes)).unwrap_or_default();
            let matters = |bytes: &[u8]| {
                !targets.is_empty() && names.may_be_in(bytes)
                    || needs_pods && may_hold_pods(bytes)
                    || !similar.is_empty()
            };
            match bytes.filter(|bytes| matters(bytes)) {
                Some(bytes) => {
                    let source = self.found_source(&path, bytes);
                    read_targets(&mut self.reading, source, &targets, &borrowed(&similar));
                }
                None => self.reading.skipped.files += 1,
            }
        }
        for (path, why) in std::mem::take(&mut self.found.unreadable) {
            let source = self.found_source(&path, Vec::new());
            self.report_unread(source, why);
        }
    }

    fn found_source(&self, path: &Path, bytes: Vec<u8>) -> Source {
        let name = path.strip_prefix(&self.unnamed).unwrap_or(path).display().to_string();
        Source::from_bytes(name, bytes).in_folder(self.folder_of(path)).discovered()
    }

    fn folder_of(&self, file: &Path) -> Folder {
        Folder::from_path(&self.here.join(file.parent().unwrap_or(Path::new(""))))
    }

    /// Keeps only the objects in the named namespace; objects without a namespace are assumed to be in it. Of the
    /// policies of other projects, keeps only those that match the label selector.
    pub(crate) fn narrowed(self, namespace: Option<&str>, selector: Option<&Selector>) -> Files {
        self.narrowed_but(Kind::counts_everywhere, namespace, selector)
    }

    /// Narrows the files to check the objects in a namespace, and drops the objects that only affect other objects.
    pub(crate) fn narrowed_to_check(
        self,
        namespace: Option<&str>,
        selector: Option<&Selector>,
    ) -> Files {
        self.narrowed_but(|kind| kind == Kind::ConfigMap, namespace, selector)
    }

    fn narrowed_but(
        mut self,
        is_kept: impl Fn(Kind) -> bool,
        namespace: Option<&str>,
        selector: Option<&Selector>,
    ) -> Files {
        let reading = &mut self.reading;
        let count = |reading: &Reading| {
            reading.objects.len() + reading.foreign_policies.len() + reading.cron_jobs.len()
        };
        let before = count(reading);
        if let Some(requested) = namespace {
            let metadata =
                |node: &Node| node.get("metadata").and_then(|it| it.get("namespace")).cloned();
            // An empty name counts as no name.
            let is_requested =
                |name: Option<&str>| name.is_none_or(|it| it.is_empty() || it == requested);
            reading.objects.retain(|object| {
                let written = metadata(&object.node);
                !object.kind.is_namespaced()
                    || is_kept(object.kind)
                    || is_requested(written.as_ref().and_then(Node::as_text))
            });
            let is_in = |namespace: &Option<Box<str>>| is_requested(namespace.as_deref());
            reading.others.retain(|it| is_in(&it.namespace));
            reading.pods.retain(|it| is_in(&it.namespace));
            reading.foreign.retain(|it| is_in(&it.namespace));
            reading.foreign_policies.retain(|it| is_in(&it.namespace));
            reading.cron_jobs.retain(|it| is_in(&it.namespace));
            reading.quotas.retain(|it| is_in(&it.namespace));
            reading.limit_ranges.retain(|it| is_in(&it.namespace));
        }
        if let Some(selector) = selector {
            reading.foreign_policies.retain(|it| selector.fits(Some(&it.labels)));
            reading.cron_jobs.retain(|it| selector.fits(Some(&it.labels)));
        }
        let after = count(reading);
        reading.skipped.objects += before - after;
        self
    }

    /// Sets the namespace of the `ConfigMap` of Volcano's agent.
    pub(crate) fn with_config_namespace(mut self, namespace: &str) -> Files {
        self.layout.config_namespace = Some(namespace.to_owned());
        self
    }

    /// Returns an error if a selected place does not exist.
    fn check_places(&self, requested: &[String]) -> anyhow::Result<()> {
        for (text, (_, folder)) in requested.iter().zip(&self.layout.only) {
            let is_named = self.layout.fixed.iter().any(|place| place.name == *text);
            let folders = self.reading.sources.iter().filter_map(Source::folder);
            let is_there = || folders.into_iter().any(|it| it.is_within(folder));
            if !is_named && !is_there() {
                let message = "none of the files read is in this directory";
                return Err(
                    crate::argument_error::ArgumentError::whole("--place", text, message).into()
                );
            }
        }
        Ok(())
    }
}

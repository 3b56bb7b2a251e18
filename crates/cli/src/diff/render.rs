//! Overlays and charts of both sides, rendered on request: by flags, or by the `almanac.toml` of the old side, so that
//! a change cannot choose what runs.
//!
//! `stage` copies the readable files of each directory into a temporary directory. `kustomization` rejects references
//! that lead out of the directory. `program` renders the copy within limits. A directory that cannot be rendered is not
//! compared, and a finding has the error (`program_error`).

mod kustomization;
mod program;
mod program_error;
mod stage;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use clap::{Args, ValueHint};

use self::program::{Outcome, Program};
pub(super) use self::stage::Origin;
use self::stage::Stage;
use super::git::tree::Tree;
use super::side::{SideFiles, Sides};
use crate::argument_error::ArgumentError;
use crate::cleanup::TemporaryDir;
use crate::files::{Rendered, settings};
use crate::invisible::printable;

const KUSTOMIZE: &str = "--kustomize";
const HELM: &str = "--helm";

/// The flags that render directories.
#[derive(Args)]
pub(super) struct RenderArguments {
    /// Build this kustomization directory on both sides, and compare the results; without paths, only these
    #[arg(short, long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    kustomize: Vec<String>,

    /// Render this Helm chart directory on both sides, with values files named from it, and compare the results
    #[arg(long, value_name = "DIR[=VALUES,...]", value_hint = ValueHint::DirPath)]
    helm: Vec<String>,

    /// Maximum time to render a directory, in seconds
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = 30,
        value_parser = clap::value_parser!(u64).range(1..=3600)
    )]
    render_seconds: u64,
}

/// A directory to render.
pub(super) struct Target {
    pub(super) dir: PathBuf,
    renderer: Renderer,
    /// The target as written in the flag or the settings.
    text: String,
    is_flag: bool,
}

enum Renderer {
    Kustomize,
    /// Helm with these values files, by their paths in the tree.
    Helm(Vec<PathBuf>),
}

/// The reason that a directory is not rendered.
enum Failure {
    /// A problem in the content of the directory, with a fix.
    Content(String, &'static str),
    /// A problem on this machine.
    Machine(anyhow::Error),
}

impl From<anyhow::Error> for Failure {
    fn from(why: anyhow::Error) -> Failure {
        Failure::Machine(why)
    }
}

/// Converts the path of an argument to a path below the root.
type Inside<'a> = dyn Fn(&'static str, &str) -> anyhow::Result<PathBuf> + 'a;

const OUTSIDE: &str = "is not inside the compared directory; name a path without a leading ..";

impl RenderArguments {
    pub(super) fn limit(&self) -> Duration {
        Duration::from_secs(self.render_seconds)
    }

    /// The targets in the flags; `inside` converts a path to a path below the root.
    pub(super) fn targets(&self, inside: &Inside<'_>) -> anyhow::Result<Vec<Target>> {
        targets(&self.kustomize, &self.helm, true, inside)
    }

    /// Renders the targets of two directories, and adds the results. The flags list the targets, else the settings of
    /// the old directory. With flags, only the targets are compared.
    pub(super) fn add_to(&self, sides: &mut Sides) -> anyhow::Result<()> {
        let inside = |argument: &'static str, path: &str| -> anyhow::Result<PathBuf> {
            let outside = || ArgumentError::whole(argument, path, OUTSIDE);
            Ok(below(Path::new(""), path).ok_or_else(outside)?)
        };
        let flagged = self.targets(&inside)?;
        let has_flags = !flagged.is_empty();
        let [old, _] = &sides.both;
        let targets = match &*old.paths {
            _ if has_flags => flagged,
            [path] if path.is_dir() => targets_of_settings(&old.viewpoint.root, &[])?,
            _ => return Ok(()),
        };
        if targets.is_empty() {
            return Ok(());
        }
        let mut trees = Vec::new();
        for side in &sides.both {
            trees.push(match &*side.paths {
                [] => Tree::empty(&side.name),
                [path] if path.is_dir() => Tree::from_directory(&side.name, &side.viewpoint.root)?,
                _ if !has_flags => return Ok(()),
                _ => {
                    let message = "is a file; to render on both sides, name two directories";
                    return Err(ArgumentError::whole("PATH", &side.name, message).into());
                }
            });
        }
        if has_flags {
            sides.both.iter_mut().for_each(|side| side.paths.clear());
        }
        let origins: Vec<Origin<'_>> =
            trees.iter().map(|tree| Origin { tree, repository: None }).collect();
        add(sides, targets, &origins, self.limit())
    }
}

/// The targets in the settings of the old side, limited to directories that are inside of these paths or contain them.
pub(super) fn targets_of_settings(root: &Path, paths: &[PathBuf]) -> anyhow::Result<Vec<Target>> {
    let Some((path, settings)) = settings::around(root, |it| it.diff.is_some())? else {
        return Ok(Vec::new());
    };
    let Some(diff) = settings.diff.filter(|_| path.parent() == Some(root)) else {
        return Ok(Vec::new());
    };
    let inside = |_: &'static str, path: &str| {
        let message = || format!("almanac.toml of the old side: [diff]: {path:?} {OUTSIDE}");
        below(Path::new(""), path).with_context(message)
    };
    let mut all = targets(&diff.kustomize, &diff.helm, false, &inside)?;
    let is_requested = |target: &Target| {
        let dir = &target.dir;
        paths.is_empty() || paths.iter().any(|it| dir.starts_with(it) || it.starts_with(dir))
    };
    all.retain(is_requested);
    Ok(all)
}

fn targets(
    kustomize: &[String],
    helm: &[String],
    is_flag: bool,
    inside: &Inside<'_>,
) -> anyhow::Result<Vec<Target>> {
    let mut all = Vec::new();
    for text in kustomize {
        let (dir, renderer) = (inside(KUSTOMIZE, text)?, Renderer::Kustomize);
        all.push(Target { dir, renderer, text: text.clone(), is_flag });
    }
    for text in helm {
        let (chart, values) = text.split_once('=').unwrap_or((text.as_str(), ""));
        let dir = inside(HELM, chart)?;
        let values = values.split(',').filter(|it| !it.is_empty());
        let values = values.map(|it| {
            let outside = || ArgumentError::whole(HELM, text, format!("{it} {OUTSIDE}"));
            below(&dir, it).ok_or_else(outside)
        });
        let values: Vec<PathBuf> = values.collect::<Result<_, _>>()?;
        // helm splits an argument of several values files at these characters.
        if values.iter().any(|it| it.to_string_lossy().contains([',', '"', '\n', '\r'])) {
            let message = "has a comma, a quotation mark or an end of line in a path; rename it";
            return Err(ArgumentError::whole(HELM, text, message).into());
        }
        all.push(Target { dir, renderer: Renderer::Helm(values), text: text.clone(), is_flag });
    }
    Ok(all)
}

/// A path resolved from a base, without following links; `None` if the path leads out of the root.
fn below(base: &Path, path: &str) -> Option<PathBuf> {
    let mut full = base.to_owned();
    for component in Path::new(path).components() {
        match component {
            Component::Normal(name) => full.push(name),
            Component::CurDir => {}
            Component::ParentDir => {
                if !full.pop() {
                    return None;
                }
            }
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(full)
}

/// Renders the targets of both sides, and adds the results to the sides.
pub(super) fn add(
    sides: &mut Sides,
    targets: Vec<Target>,
    origins: &[Origin<'_>],
    limit: Duration,
) -> anyhow::Result<()> {
    let [old, new] = origins else { return Ok(()) };
    for (index, target) in targets.into_iter().enumerate() {
        let trees = [old.tree, new.tree];
        target.check_flag(trees)?;
        if !trees.iter().any(|tree| target.is_in(tree)) {
            let note = format!("almanac.toml names {}, but neither side has it", target.text);
            sides.coverage.notes.push(printable(&note));
            continue;
        }
        let submodules: BTreeSet<&PathBuf> = trees.iter().flat_map(|it| &it.submodules).collect();
        for it in submodules.into_iter().filter(|it| it.starts_with(&target.dir)) {
            let (place, it) = (target.place(), it.display());
            let note = format!("{place} is rendered without the submodule {it}");
            sides.coverage.notes.push(printable(&note));
        }
        let (before, after) = (target.rendered(old, limit)?, target.rendered(new, limit)?);
        sides.both.iter_mut().for_each(|it| it.viewpoint.left_out.push(target.dir.clone()));
        let add_content = |side: &mut SideFiles, content| {
            let inside = target.dir.join(format!("rendered {index}"));
            let (place, source) = (target.place(), target.command());
            side.viewpoint.rendered.push(Rendered { place, source, inside, content });
        };
        let [old_side, new_side] = &mut sides.both;
        match (before, after) {
            (Ok(before), Ok(after)) => {
                sides.coverage.rendered.push(target.command());
                add_content(old_side, Ok(before));
                add_content(new_side, Ok(after));
            }
            // On the new side, the problem is a finding.
            (_, Err(why)) => {
                sides.coverage.unrendered.push(target.place());
                add_content(new_side, Err(why));
            }
            (Err((why, fix)), Ok(_)) => {
                let (place, name) = (target.place(), &old.tree.name);
                sides.coverage.notes.push(printable(&format!("{place} of {name}: {why}; {fix}")));
                sides.coverage.unrendered.push(place);
            }
        }
    }
    Ok(())
}

/// The output, or the reason for the failure and a fix.
type RenderResult = Result<Arc<[u8]>, (String, &'static str)>;

impl Target {
    fn is_in(&self, tree: &Tree) -> bool {
        tree.has(&self.dir)
    }

    /// Fails if the directory of a flag exists on neither side.
    fn check_flag(&self, trees: [&Tree; 2]) -> Result<(), ArgumentError> {
        if !self.is_flag {
            return Ok(());
        }
        let (argument, values) = match &self.renderer {
            Renderer::Kustomize => (KUSTOMIZE, <&[PathBuf]>::default()),
            Renderer::Helm(values) => (HELM, values.as_slice()),
        };
        let is_file = |tree: &Tree| tree.files.contains_key(&self.dir);
        let is_missing = |path: &&PathBuf| !trees.iter().any(|tree| tree.has_at(path));
        let message = if !trees.iter().any(|tree| self.is_in(tree)) {
            "neither side has such a directory".to_owned()
        } else if !trees.iter().any(|tree| self.is_in(tree) && !is_file(tree)) {
            "is a file; name the directory that it is in".to_owned()
        } else if let Some(path) = values.iter().find(is_missing) {
            let path = path.display();
            format!("neither side has {path}; values files are named from the chart")
        } else {
            return Ok(());
        };
        Err(ArgumentError::whole(argument, &self.text, message))
    }

    /// The name of the place of the target.
    fn place(&self) -> String {
        let dir = self.dir_name();
        match &self.renderer {
            Renderer::Helm(values) if !values.is_empty() => {
                let values: Vec<String> =
                    values.iter().map(|it| it.display().to_string()).collect();
                format!("{dir} with {}", values.join(", "))
            }
            Renderer::Helm(_) | Renderer::Kustomize => dir,
        }
    }

    fn dir_name(&self) -> String {
        let dir = self.dir.display().to_string();
        if dir.is_empty() { ".".to_owned() } else { dir }
    }

    /// The command that renders the target, as named in findings.
    fn command(&self) -> String {
        match &self.renderer {
            Renderer::Kustomize => format!("kustomize build {}", self.dir_name()),
            Renderer::Helm(values) => {
                let values = values.iter().map(|it| format!(" --values {}", it.display()));
                format!(
                    "helm template {}{}",
                    self.dir_name(),
                    values.collect::<Vec<String>>().concat()
                )
            }
        }
    }

    /// The output for a side; empty if the directory does not exist.
    fn rendered(&self, origin: &Origin<'_>, limit: Duration) -> anyhow::Result<RenderResult> {
        if !self.is_in(origin.tree) {
            return Ok(Ok(Arc::from(&b""[..])));
        }
        match self.output(origin, limit) {
            Ok(bytes) => Ok(Ok(bytes.into())),
            Err(Failure::Content(why, fix)) => Ok(Err((why, fix))),
            Err(Failure::Machine(why)) => Err(why.context(format!(
                "failed to render {} of {}",
                self.place(),
                origin.tree.name
            ))),
        }
    }

    fn output(&self, origin: &Origin<'_>, limit: Duration) -> Result<Vec<u8>, Failure> {
        let mut stage = Stage::new(origin);
        let program = match &self.renderer {
            Renderer::Kustomize => {
                kustomization::add_files(&mut stage, &self.dir)?;
                Program::kustomize()?
            }
            Renderer::Helm(values) => {
                stage.add_dir(&self.dir)?;
                values.iter().try_for_each(|it| stage.add_file(it))?;
                Program::helm()?
            }
        };
        let temporary = TemporaryDir::new("almanac-render-")?;
        let root =
            temporary.path().canonicalize().context("failed to create a temporary directory")?;
        let (tree, home) = (root.join("tree"), root.join("home"));
        for dir in [&tree, &home] {
            fs::create_dir(dir).context("failed to write a temporary directory")?;
        }
        stage.lay_out(&tree)?;
        let mut arguments = vec![path_argument(&self.dir)];
        if let Renderer::Helm(values) = &self.renderer {
            arguments.extend(
                values.iter().flat_map(|it| [OsString::from("--values"), path_argument(it)]),
            );
        }
        match program.run(&arguments, &tree, &home, limit)? {
            Outcome::Printed(bytes) => Ok(bytes),
            Outcome::Failed(error) => {
                let (message, fix) = program_error::message_and_fix(&error, &tree);
                Err(Failure::Content(message, fix))
            }
            Outcome::TooSlow => {
                let message = format!("the rendering took more than {} s", limit.as_secs());
                Err(Failure::Content(message, "allow more with --render-seconds"))
            }
            Outcome::TooMuch => {
                let message =
                    format!("the output is larger than {} MiB", program::MAX_OUTPUT_BYTES >> 20);
                Err(Failure::Content(message, "render parts of it"))
            }
        }
    }
}

/// A path of the tree as an argument that a program cannot mistake for a flag or an address.
fn path_argument(path: &Path) -> OsString {
    let mut argument = OsString::from("./");
    argument.push(path);
    argument
}

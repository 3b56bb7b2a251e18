//! Notes about files that were found but not read as objects: the program that renders them, the command to run, and
//! the unreadable files.
//!
//! Each chart and each kustomization with policies or autoscalers is named once.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use almanac_api::checking::CheckedReading;
use almanac_api::finding::Code;
use almanac_api::reading::{
    Engine, Folder, Kustomization, Source, may_hold_policies, substituting_program,
};
use serde::Serialize;

use super::Files;
use crate::shell_word;

/// The command that compares two sides, each read from files.
const DIFF: &str = "diff";

/// The maximum number of notes of one kind for a user; the rest are counted.
const MAX_NOTES: usize = 5;

/// A file or a directory that was not read as written.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
pub(crate) struct Note {
    /// The kind of the note.
    about: NoteKind,
    /// The file or the directory.
    path: String,
    /// The command that shows the rendered objects, or the failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<String>,
    /// The known files and directories that the rendered objects depend on.
    #[serde(skip)]
    depends_on: BTreeSet<Folder>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
enum NoteKind {
    HelmChart,
    HelmTemplate,
    Substitution,
    Kustomization,
    TooLarge,
}

impl Note {
    /// The printed path of the file or the directory.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// The files and directories that the rendered objects depend on.
    pub(crate) fn depends_on(&self) -> &BTreeSet<Folder> {
        &self.depends_on
    }

    /// Whether the objects in the file are unknown, not only their changes.
    pub(crate) fn hides_objects(&self) -> bool {
        self.is_of_template() || self.about == NoteKind::TooLarge
    }

    /// Whether the note is about a template that another program renders.
    pub(crate) fn is_of_template(&self) -> bool {
        matches!(self.about, NoteKind::HelmChart | NoteKind::HelmTemplate | NoteKind::Substitution)
    }
}

impl NoteKind {
    /// The words about one file, and about several.
    fn texts(self) -> (&'static str, &'static str) {
        match self {
            NoteKind::HelmChart => ("is a Helm chart", "more Helm charts"),
            NoteKind::HelmTemplate => ("is a Helm template", "more Helm templates"),
            NoteKind::Substitution => {
                ("has variables to substitute", "more files have variables to substitute")
            }
            NoteKind::Kustomization => {
                ("is a kustomization that changes its resources", "more kustomizations")
            }
            NoteKind::TooLarge => {
                ("is larger than 64 MiB and was skipped", "more files are too large")
            }
        }
    }
}

impl Files {
    /// The notes next to the findings; `command` is the calling command.
    pub(crate) fn notes(&self, everything: &CheckedReading, command: &str) -> Vec<Note> {
        let mut notes: BTreeSet<Note> = BTreeSet::new();
        for template in &everything.templates {
            let source = &self.reading.sources[template.source];
            // A template that the user names is a finding, not a note.
            if source.is_discovered() {
                notes.insert(self.template_note(source, template.engine, command));
            }
        }
        notes.extend(self.found.unrendered.iter().map(|chart| self.chart_note(chart, command)));
        for (folder, depends_on) in self.kustomizations_of_policies() {
            let path = self.relative_path(folder);
            let quoted = shell_word::quoted(&path);
            let command = match command {
                DIFF => compared("-k", &self.below_root(folder)),
                other => format!("almanac {other} -k {quoted}"),
            };
            let command = Some(command);
            notes.insert(Note { about: NoteKind::Kustomization, path, command, depends_on });
        }
        let large_file_note =
            |path: &String| self.file_note(NoteKind::TooLarge, path.clone(), None);
        notes.extend(self.found.too_large.iter().map(large_file_note));
        notes.into_iter().collect()
    }

    /// Puts the name of the chart or the file into the recommended command for each named template.
    pub(crate) fn complete_advice(&self, everything: &mut CheckedReading, command: &str) {
        // A file with placeholders of several programs is rendered by Helm first.
        for template in everything.templates.iter().rev() {
            let source = &self.reading.sources[template.source];
            let advised = self.template_note(source, template.engine, command).command;
            let Some(command) = advised.filter(|_| source.folder().is_some()) else { continue };
            let findings = everything.findings.iter_mut().filter(|it| it.source == template.source);
            for placed in findings.filter(|it| it.finding.code == Code::Template) {
                placed.finding.fix = Some(format!("check the result: {command}").into());
            }
        }
    }

    fn template_note(&self, source: &Source, engine: Engine, command: &str) -> Note {
        let file = source.name().to_owned();
        if engine == Engine::Substitution {
            let program = substituting_program(source.text());
            let is_built = |(_, folder): &&(String, Folder)| source.folder() == Some(folder);
            let substituted = match self.layout.named.iter().find(is_built) {
                Some((built, _)) => {
                    format!("kubectl kustomize {} | {program}", shell_word::quoted(built))
                }
                None => format!("{program} < {}", shell_word::quoted(&file)),
            };
            let command = Some(rendered(&substituted, command));
            return self.file_note(NoteKind::Substitution, file, command);
        }
        match source.folder().and_then(|folder| self.found.chart_of(folder)) {
            Some(chart) => self.chart_note(&chart, command),
            None => self.file_note(NoteKind::HelmTemplate, file, None),
        }
    }

    fn file_note(&self, about: NoteKind, path: String, command: Option<String>) -> Note {
        let depends_on = BTreeSet::from([Folder::from_path(&self.here.join(&path))]);
        Note { about, path, command, depends_on }
    }

    fn chart_note(&self, chart: &Folder, command: &str) -> Note {
        let path = self.relative_path(chart);
        let quoted = shell_word::quoted(&path);
        let command = Some(match command {
            DIFF => compared("--helm", &self.below_root(chart)),
            other => rendered(&format!("helm template {quoted}"), other),
        });
        let depends_on = BTreeSet::from([chart.clone()]);
        Note { about: NoteKind::HelmChart, path, command, depends_on }
    }

    fn relative_path(&self, folder: &Folder) -> String {
        folder.seen_from(&Folder::from_path(&self.here))
    }

    /// The path for options that render a directory on both sides.
    fn below_root(&self, folder: &Folder) -> String {
        shell_word::quoted(&folder.seen_from(&self.layout.here)).into_owned()
    }

    /// The kustomizations that change objects and use a policy, directly or not, each with all directories that it
    /// uses. A component has no effect on its own, so its changes count for the kustomizations that use it.
    fn kustomizations_of_policies(&self) -> Vec<(&Folder, BTreeSet<Folder>)> {
        let with_policies = self.files_with_policies();
        let known = &self.found.kustomizations;
        let built = known.iter().filter(|(_, kustomization)| !kustomization.is_component);
        let changes = |folder: &Folder| {
            let components = |it: &Kustomization| it.components.clone();
            let all = reached(folder, |path| known.get(path).map(components).unwrap_or_default());
            all.iter().any(|path| known.get(path).is_some_and(|it| it.changes))
        };
        let used_by = |folder: &Folder| {
            let used_paths =
                |it: &Kustomization| [&*it.resources, &it.components, &it.patches].concat();
            reached(folder, |path| known.get(path).map(used_paths).unwrap_or_default())
        };
        let changing = built.map(|(folder, _)| folder).filter(|folder| changes(folder));
        let all = changing.map(|folder| (folder, used_by(folder)));
        all.filter(|(_, used_paths)| used_paths.iter().any(|path| with_policies.contains(path)))
            .collect()
    }

    /// The paths of the files that define or patch a policy.
    fn files_with_policies(&self) -> BTreeSet<Folder> {
        let policies = self.reading.objects.iter().filter(|it| it.kind.is_policy());
        let path = |source: &Source| {
            let name = Path::new(source.name()).file_name()?.to_owned();
            let folder = source.folder()?;
            Some(Folder::from_path(&PathBuf::from(folder.to_string()).join(name)))
        };
        let objects = policies.filter_map(|object| path(&self.reading.sources[object.source]));
        let of_policies = self
            .found
            .patches
            .iter()
            .filter(|path| std::fs::read(path).is_ok_and(|bytes| may_hold_policies(&bytes)));
        let patches = of_policies.map(|path| Folder::from_path(&self.here.join(path)));
        objects.chain(patches).collect()
    }
}

/// A command that reads the objects rendered by another command.
fn rendered(renders: &str, command: &str) -> String {
    match command {
        DIFF => format!(
            "{renders} > new.yaml, the old one into old.yaml, and almanac {DIFF} old.yaml new.yaml"
        ),
        other => format!("{renders} | almanac {other} -f -"),
    }
}

/// The fix to compare a rendered directory, in the same way on both sides.
fn compared(option: &str, folder: &str) -> String {
    format!("add {option} {folder} to almanac {DIFF}, or list it in almanac.toml")
}

/// A directory, and all directories reachable from it through `named`, which returns paths relative to a directory.
pub(super) fn reached(from: &Folder, named: impl Fn(&Folder) -> Vec<Box<str>>) -> BTreeSet<Folder> {
    let mut open = vec![from.clone()];
    let mut seen = BTreeSet::from([from.clone()]);
    while let Some(folder) = open.pop() {
        let base = PathBuf::from(folder.to_string());
        for path in named(&folder).iter().map(|it| Folder::from_path(&base.join(&**it))) {
            if seen.insert(path.clone()) {
                open.push(path);
            }
        }
    }
    seen
}

/// Writes the notes for a user, a line each.
pub(crate) fn write_notes(notes: &[Note], output: &mut impl Write) -> io::Result<()> {
    note_lines(notes).iter().try_for_each(|line| writeln!(output, "note: {line}"))
}

/// The lines of notes: the first notes of each kind, and the number of omitted notes.
pub(crate) fn note_lines(notes: &[Note]) -> Vec<String> {
    let mut by_sort: BTreeMap<NoteKind, Vec<&Note>> = BTreeMap::new();
    for note in notes {
        by_sort.entry(note.about).or_default().push(note);
    }
    let mut lines = Vec::new();
    for (about, notes) in by_sort {
        let (one, several) = about.texts();
        for Note { path, command, .. } in notes.iter().take(MAX_NOTES) {
            let path = crate::invisible::printable(path);
            let command = command.as_ref().map_or(String::new(), |it| {
                format!("; to check the result: {}", crate::invisible::printable(it))
            });
            lines.push(format!("{path} {one}{command}"));
        }
        if let Some(more) = notes.len().checked_sub(MAX_NOTES).filter(|more| *more > 0) {
            lines.push(format!("{more} {several}"));
        }
    }
    lines
}

//! The two sides of a comparison: the location of their files, and the pairs of their places.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use almanac_api::checking::Place;
use almanac_api::finding::{Code, Severity};
use almanac_api::reading::{Folder, PlacedFinding, Source};
use almanac_calendar::Zone;
use almanac_engine::{Field, Identity};
use anyhow::Context as _;
use jiff::Timestamp;

use super::DiffArguments;
use super::differing::DifferingFiles;
use crate::argument_error::ArgumentError;
use crate::cleanup::TemporaryDir;
use crate::files::{FileArguments, Files, Note, Targets, Viewpoint, note_lines, targets_of};
use crate::input::{Input, InputPlace, together};
use crate::outcome::FailOn;

/// The name in git for the side of a file that does not exist.
const NOTHING: &str = "/dev/null";

/// The sides of a comparison before they are read, and the coverage so far.
pub(super) struct Sides {
    pub(super) both: [SideFiles; 2],
    pub(super) differing: DifferingFiles,
    pub(super) coverage: Coverage,
}

/// The compared and the skipped parts of both sides, as names and sentences.
#[derive(Default)]
pub(super) struct Coverage {
    /// The files and objects that cannot be used on the new side.
    pub(super) incomplete: Vec<String>,
    /// The files that differ, but are compared on neither side, because they are not forecast as written.
    pub(super) uncompared: Vec<String>,
    /// The directories that could not be rendered, and so are not compared.
    pub(super) unrendered: Vec<String>,
    /// The commands that rendered directories of both sides, as named in findings.
    pub(super) rendered: Vec<String>,
    /// Notes on the files that are not read as written, and on rendering; without duplicates.
    pub(super) notes: Vec<String>,
}

/// The location of the files of one side.
pub(super) struct SideFiles {
    /// The name of the side.
    pub(super) name: String,
    /// The files and directories to read; empty for an empty side.
    pub(super) paths: Vec<PathBuf>,
    pub(super) viewpoint: Viewpoint,
    /// The skipped submodules.
    pub(super) submodules: Vec<PathBuf>,
    /// The temporary directory of the files, removed after reading.
    pub(super) temporary: Option<TemporaryDir>,
}

/// The input of one side, after reading.
pub(super) struct Side {
    /// The name of the side.
    pub(super) name: String,
    pub(super) input: Input,
    root: Folder,
    here: PathBuf,
    /// The files and directories that `almanac.toml` excludes.
    excluded: Vec<Folder>,
    /// Whether objects may be in a file that differs and is not read as written.
    hides_objects: bool,
}

impl Sides {
    /// Two sides without rendered directories.
    pub(super) fn new(both: [SideFiles; 2], differing: DifferingFiles) -> Sides {
        Sides { both, differing, coverage: Coverage::default() }
    }

    /// Two files or directories; `/dev/null`, as in git, is an empty side.
    pub(super) fn named(paths: &[String]) -> anyhow::Result<Sides> {
        let [old, new] = paths else {
            let text = paths.join(" ");
            let message = "name two files or directories, the old and the new version, or revisions with --git";
            return Err(ArgumentError::whole("PATH", &text, message).into());
        };
        let here = std::env::current_dir().context("failed to find the current directory")?;
        let side = |path: &String| {
            if path == "-" {
                let message =
                    "standard input cannot be compared; write it to a file, and name the file";
                return Err(ArgumentError::whole("PATH", "-", message));
            }
            let full = here.join(path);
            let (root, paths) = if path == NOTHING {
                (here.clone(), Vec::new())
            } else if full.is_dir() {
                (full, vec![PathBuf::from(path)])
            } else if full.exists() {
                let parent = full.parent().unwrap_or(&here).to_owned();
                (parent, vec![PathBuf::from(path)])
            } else {
                let message = format!(
                    "there is no such file or directory; to compare with nothing, name {NOTHING}"
                );
                return Err(ArgumentError::whole("PATH", path, message));
            };
            let viewpoint = Viewpoint {
                here: here.clone(),
                root,
                unnamed: PathBuf::from("."),
                // Named paths are read even if git ignores them, as it usually does with generated directories.
                reads_ignored: true,
                ..Viewpoint::default()
            };
            let submodules = Vec::new();
            Ok(SideFiles { name: path.clone(), paths, viewpoint, submodules, temporary: None })
        };
        let both = [side(old)?, side(new)?];
        let differing =
            DifferingFiles::OnDisk([&both[0], &both[1]].map(|it| it.viewpoint.root.clone()));
        Ok(Sides::new(both, differing))
    }

    /// Reads both sides. Directories that are places on one side are also places on the other. Targets of policies on
    /// one side are read on the other too.
    pub(super) fn read(
        self,
        arguments: &DiffArguments,
        zone_of_jobs: Zone,
        checked_at: Timestamp,
        now: Timestamp,
    ) -> anyhow::Result<([Side; 2], Coverage)> {
        let DiffArguments { conditions, exclude, kubernetes_version, .. } = arguments;
        let Sides { both: [old, new], differing, mut coverage } = self;
        let read = |side: &SideFiles, fixed: Vec<Place>, targets: Targets| {
            let root = Folder::from_path(&side.viewpoint.root);
            let mut files = side.files(fixed, targets, exclude, zone_of_jobs)?;
            files.kubernetes = *kubernetes_version;
            let excluded = files.excluded_paths().collect();
            let input = conditions.input_of(files, "diff", checked_at)?;
            let (name, here) = (side.name.clone(), side.viewpoint.here.clone());
            anyhow::Ok(Side { name, input, root, here, excluded, hides_objects: false })
        };
        let first = |side: &SideFiles| read(side, Vec::new(), Targets::new());
        let (before, after) = (first(&old)?, first(&new)?);
        let again = |side: &Side, other: &Side, place: &SideFiles| {
            let fixed = side.places_as_of(other);
            let own = targets_of(&side.input.reading);
            let mut targets: Targets =
                targets_of(&other.input.reading).difference(&own).cloned().collect();
            targets.extend(pods_without_levels(side, other));
            if fixed.is_none() && targets.is_empty() {
                return Ok(None);
            }
            read(place, fixed.unwrap_or_default(), targets).map(Some)
        };
        let of_old = again(&before, &after, &old)?;
        let of_new = again(&after, &before, &new)?;
        let (mut before, mut after) = (of_old.unwrap_or(before), of_new.unwrap_or(after));
        conditions.state(&mut [&mut before.input, &mut after.input], now)?;
        // Compared with an empty side, everything is new.
        let is_alone = old.paths.is_empty() != new.paths.is_empty();
        let differs = |path: &str| is_alone || differing.is_at(path);
        let hides = |(_, note): (_, &Note)| note.hides_objects();
        let hides_objects = after.noted(&differs).any(hides);
        let (excluded_after, excluded_before) =
            (after.excluded_alone(&before), before.excluded_alone(&after));
        after.hides_objects = hides_objects || !excluded_after.is_empty();
        // A path on both sides has the name of the new side.
        let noted = before.noted(&differs).chain(after.noted(&differs));
        let mut uncompared: BTreeMap<String, String> =
            noted.map(|(seen, note)| (seen, note.path().to_owned())).collect();
        for path in excluded_after.into_iter().chain(excluded_before) {
            coverage.notes.push(format!(
                "{path} is excluded by almanac.toml on one side only; to compare it, exclude it on both or on neither"
            ));
            uncompared.insert(path.clone(), path);
        }
        let submodules = old.submodules.iter().chain(&new.submodules);
        let submodules = submodules.map(|it| it.display().to_string()).filter(|it| differs(it));
        uncompared.extend(submodules.map(|it| (it.clone(), format!("the submodule {it}"))));
        coverage.uncompared = uncompared.into_values().collect();
        drop((old.temporary, new.temporary));
        // A note on both sides has the name of the new side.
        let any = |_: &str| true;
        let all = before.noted(&any).chain(after.noted(&any));
        let once: BTreeMap<(String, bool), Note> =
            all.map(|(seen, note)| ((seen, note.is_of_template()), note.clone())).collect();
        let once: Vec<Note> = once.into_values().collect();
        coverage.notes.extend(note_lines(&once));
        Ok(([before, after], coverage))
    }
}

/// The pods whose QoS levels are set by policies of the other side only. On this side, they have the original level.
fn pods_without_levels(here: &Side, there: &Side) -> Targets {
    let mut own = here.input.places.iter().map(|it| &it.world);
    if own.any(|it| !it.qos_levels.policies.is_empty()) {
        return Targets::new();
    }
    let worlds = there.input.places.iter().map(|it| &it.world);
    let writes = worlds
        .flat_map(|world| world.policies().flat_map(move |policy| world.footprint(&policy).writes));
    let pods = writes.filter(|(_, field)| *field == Field::QosLevel);
    pods.map(|(pod, _)| (pod.kind().to_owned(), pod.name().to_owned())).collect()
}

impl SideFiles {
    fn files(
        &self,
        fixed: Vec<Place>,
        targets: Targets,
        exclude: &[String],
        zone_of_jobs: Zone,
    ) -> anyhow::Result<Files> {
        let paths = self.paths.iter().map(|path| path.display().to_string()).collect();
        let viewpoint = Viewpoint { fixed, targets, ..self.viewpoint.clone() };
        let mut files = FileArguments::for_paths(paths, exclude).read_from(viewpoint)?;
        files.reading.cron_jobs.iter_mut().for_each(|job| job.assume_zone(zone_of_jobs));
        Ok(files)
    }
}

impl Side {
    /// The notes on differing files, with the path of the file relative to the side.
    fn noted(&self, differs: &impl Fn(&str) -> bool) -> impl Iterator<Item = (String, &Note)> {
        let depends =
            |note: &&Note| note.depends_on().iter().any(|it| differs(&it.seen_from(&self.root)));
        let side_path =
            |note: &Note| Folder::from_path(&self.here.join(note.path())).seen_from(&self.root);
        self.input.notes().iter().filter(depends).map(move |note| (side_path(note), note))
    }

    /// A finding on one line: `shop.yaml:12: warning: …`.
    pub(super) fn line_of(&self, placed: &PlacedFinding) -> String {
        let source = &self.input.reading.sources[placed.source];
        let line = placed.span.map_or(1, |span| source.position(span.start).line);
        let finding = &placed.finding;
        format!("{}:{line}: {}: {finding}", source.name(), finding.severity())
    }

    /// The paths that are excluded here and read on the other side, relative to the side.
    fn excluded_alone(&self, other: &Side) -> Vec<String> {
        let path = |source: &Source| {
            let name = Path::new(source.name()).file_name()?;
            Some(Folder::from_path(&Path::new(&source.folder()?.to_string()).join(name)))
        };
        let read_files: Vec<Folder> = other.input.reading.sources.iter().filter_map(path).collect();
        let root = other.root.to_string();
        let excluded = self.excluded.iter().map(|it| it.seen_from(&self.root));
        let is_read = |path: &String| {
            let excluded_dir = Folder::from_path(&Path::new(&root).join(path));
            read_files.iter().any(|it| it.is_within(&excluded_dir))
        };
        excluded.filter(is_read).collect()
    }

    /// The objects that cannot be used as written, and the files with unknown content.
    pub(super) fn unusable(&self) -> Vec<String> {
        let reading = &self.input.reading;
        let mut all = BTreeSet::new();
        for (source, object) in self.errors() {
            let named = object.map(|position| {
                let named = self.input.places.iter().find_map(|it| it.object_at(position));
                named.map_or_else(|| "an object".to_owned(), ToString::to_string)
            });
            all.insert(named.unwrap_or_else(|| reading.sources[source].name().to_owned()));
        }
        all.into_iter().collect()
    }

    /// Whether the effect of a policy, or the state of an object, is unclear from the files of a place. There are two
    /// reasons: the object cannot be used as written, or it is missing, exists in `before`, and may be in a file that
    /// cannot be read.
    pub(super) fn unclear<'a>(
        &self,
        place: Option<&'a InputPlace>,
        before: Option<&'a InputPlace>,
    ) -> impl Fn(&Identity) -> bool + use<'a> {
        let has_unread = self.may_miss_objects();
        let unusable: BTreeSet<usize> = self.errors().filter_map(|(_, object)| object).collect();
        let position = |place: Option<&InputPlace>, identity: &Identity| place?.position(identity);
        move |identity| match position(place, identity) {
            Some(position) => unusable.contains(&position),
            None => has_unread && position(before, identity).is_some(),
        }
    }

    /// Whether an unread file may contain objects.
    pub(super) fn may_miss_objects(&self) -> bool {
        self.hides_objects || self.errors().any(|(_, object)| object.is_none())
    }

    /// The errors among the findings: the source, and the object; `None` for a finding about a whole file.
    fn errors(&self) -> impl Iterator<Item = (usize, Option<usize>)> {
        let findings = self.input.findings.iter();
        let errors = findings.filter(|it| it.finding.severity() == Severity::Error);
        errors.map(|it| (it.source, it.object))
    }

    /// The places with names.
    fn named_places(&self) -> impl Iterator<Item = &Place> {
        self.input.all_places().iter().filter(|place| !place.name.is_empty())
    }

    /// The places of this side and the places of the other side that contain files here; `None` if none is added.
    fn places_as_of(&self, other: &Side) -> Option<Vec<Place>> {
        let moved = |dir: &Folder| {
            let below = dir.seen_from(&other.root);
            Folder::from_path(&Path::new(&self.root.to_string()).join(below))
        };
        let mut places: Vec<Place> = self.named_places().cloned().collect();
        let before = places.len();
        for place in other.named_places() {
            let dirs: Vec<Folder> = place.folders.iter().map(moved).collect();
            let sources = self.input.reading.sources.iter();
            let mut sources = sources.filter_map(Source::folder);
            let is_there = sources.any(|source| dirs.iter().any(|it| source.is_within(it)));
            let is_known = places.iter().any(|it| it.name == place.name);
            if is_there && !is_known {
                places.push(Place { name: place.name.clone(), folders: dirs });
            }
        }
        (places.len() > before).then_some(places)
    }
}

/// The pairs of places to compare; several pairs have names. A single place is compared with each place of the other
/// side.
pub(super) fn pairs<'a>(
    old: &'a Side,
    new: &'a Side,
) -> Vec<(Option<String>, Option<&'a InputPlace>, Option<&'a InputPlace>)> {
    let names: BTreeSet<&str> =
        old.named_places().chain(new.named_places()).map(|place| &*place.name).collect();
    let find = |side: &'a Side, name: &str| {
        let is_one = side.named_places().next().is_none();
        let of_name = |(_, it): &(usize, &'a InputPlace)| {
            is_one || it.stands_for.iter().any(|known| known == name)
        };
        side.input.places.iter().enumerate().find(of_name)
    };
    if names.is_empty() {
        return vec![(None, old.input.places.first(), new.input.places.first())];
    }
    let mut pairs: Vec<(Vec<&str>, _, _)> = Vec::new();
    let index = |place: Option<(usize, &InputPlace)>| place.map(|(index, _)| index);
    for name in names {
        let (before, after) = (find(old, name), find(new, name));
        let is_same_pair = |it: &&mut (Vec<&str>, Option<(usize, _)>, Option<(usize, _)>)| {
            (index(it.1), index(it.2)) == (index(before), index(after))
        };
        match pairs.iter_mut().find(is_same_pair) {
            Some((names, ..)) => names.push(name),
            None => pairs.push((vec![name], before, after)),
        }
    }
    let are_several = pairs.len() > 1 || old.named_places().count() != new.named_places().count();
    let pair = |(names, before, after): (Vec<&str>, Option<(usize, _)>, Option<(usize, _)>)| {
        let name = are_several.then(|| together(&names));
        (name, before.map(|(_, place)| place), after.map(|(_, place)| place))
    };
    pairs.into_iter().map(pair).collect()
}

/// The time zone of the output: the common zone of all policies, else UTC.
pub(super) fn common_zone(old: &Side, new: &Side) -> Zone {
    let is_empty =
        |side: &Side| side.input.places.iter().all(|it| it.world.policies().next().is_none());
    let zone = match (old.input.only_zone(), new.input.only_zone()) {
        (Some(one), Some(other)) if one == other => Some(one),
        (Some(one), None) if is_empty(new) => Some(one),
        (None, Some(other)) if is_empty(old) => Some(other),
        _ => None,
    };
    zone.unwrap_or(Zone::utc())
}

/// The exit code for the findings in the new files, since the change may fix findings in the old files. If a file of
/// the old side cannot be read, the findings of the old side decide.
pub(super) fn exit_code(fail_on: FailOn, old: &Side, new: &Side) -> ExitCode {
    let is_unread = old.input.findings.iter().any(|it| it.finding.code == Code::UnreadableFile);
    if is_unread { fail_on.code(&old.input.findings) } else { fail_on.code(&new.input.findings) }
}

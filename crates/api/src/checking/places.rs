//! Places: the files that one cluster receives, derived from directories.
//!
//! A repository often has one policy several times: in `prod/` and `staging/`, for several clusters, in overlays. Each
//! copy is right, and a conflict only exists within one cluster. So files form one place unless an object occurs twice.
//! Then the highest directories that separate the copies are places, and files outside these directories belong to
//! every place. Configuration can override this.
//!
//! The places are derived from names and directories alone, without reading files.

use std::collections::{BTreeMap, BTreeSet};

use almanac_engine::Identity;

use crate::reading::Folder;

/// The files of one cluster.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    /// The display name of the place.
    pub name: String,
    /// The directories that belong to this place only.
    pub folders: Vec<Folder>,
}

/// The configuration of places, before anything is read.
#[derive(Clone, Debug, Default)]
pub struct Layout {
    /// The directory to which displayed paths are relative.
    pub here: Folder,
    /// The configured places. If empty, places are derived from the copies of objects.
    pub fixed: Vec<Place>,
    /// The kustomizations, by name: each is a place unless its directory is in a configured place.
    pub named: Vec<(String, Folder)>,
    /// The requested places, by name or as directories. If empty, all places.
    pub only: Vec<(String, Folder)>,
    /// The namespace in which the agent of Volcano looks for its `ConfigMap`, in every place, if not the default one.
    pub config_namespace: Option<String>,
}

/// The places of a reading.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Places {
    named: Vec<Place>,
    /// The numbers of all places.
    all: Vec<usize>,
    /// The directories whose content belongs to some places only, each with these places.
    separating: BTreeMap<Folder, Vec<usize>>,
}

impl Places {
    /// A single place for all files.
    #[must_use]
    pub fn one() -> Places {
        let place = Place { name: String::new(), folders: vec![Folder::default()] };
        Places::new(vec![place], BTreeSet::new())
    }

    fn new(places: Vec<Place>, separating: BTreeSet<Folder>) -> Places {
        let mut within: BTreeMap<Folder, Vec<usize>> =
            separating.into_iter().map(|folder| (folder, Vec::new())).collect();
        for (number, place) in places.iter().enumerate() {
            for folder in place.folders.iter().flat_map(Folder::around) {
                // An enclosing directory lists a place of several directories once.
                let places = within.get_mut(&folder).filter(|it| it.last() != Some(&number));
                if let Some(places) = places {
                    places.push(number);
                }
            }
        }
        Places { all: (0..places.len()).collect(), named: places, separating: within }
    }

    /// Derives the places from the objects, each with its directory.
    pub(super) fn derive<'a>(
        layout: &Layout,
        objects: impl Iterator<Item = (&'a Identity, &'a Folder)>,
    ) -> Places {
        let (mut places, mut separating) = if layout.fixed.is_empty() {
            let mut separating = separating(objects);
            separating.extend(layout.named.iter().map(|(_, folder)| folder.clone()));
            (innermost(layout, &separating), separating)
        } else {
            let configured: Vec<&Folder> = layout.fixed.iter().flat_map(|it| &it.folders).collect();
            let further = layout.named.iter().map(|(_, folder)| folder);
            let further =
                further.filter(|it| !configured.iter().any(|around| it.is_within(around)));
            let further = further.map(|folder| alone(layout, folder));
            let places: Vec<Place> = layout.fixed.iter().cloned().chain(further).collect();
            let separating = places.iter().flat_map(|place| place.folders.clone()).collect();
            (places, separating)
        };
        if !layout.only.is_empty() {
            places = narrowed(layout, &places, &mut separating);
        }
        if places.is_empty() { Places::one() } else { Places::new(places, separating) }
    }

    /// The number of places; at least one.
    #[must_use]
    pub fn count(&self) -> usize {
        self.named.len()
    }

    /// All places, in the order of their numbers.
    #[must_use]
    pub fn named(&self) -> &[Place] {
        &self.named
    }

    /// Whether several places exist, so that output must name them.
    #[must_use]
    pub fn are_several(&self) -> bool {
        self.named.len() > 1
    }

    /// The name of a place.
    #[must_use]
    pub fn name(&self, place: usize) -> &str {
        self.named.get(place).map_or("", |place| &place.name)
    }

    /// The places of a directory, by their indexes. A directory outside all separating directories belongs to every
    /// place.
    #[must_use]
    pub fn holding(&self, folder: Option<&Folder>) -> &[usize] {
        let around = folder.into_iter().flat_map(Folder::around);
        let closest = around.filter_map(|it| self.separating.get(&it)).last();
        closest.unwrap_or(&self.all)
    }

    /// Splits items by the places of their directories: the indexes of the items, by place.
    #[must_use]
    pub fn split<'a>(&self, folders: impl Iterator<Item = Option<&'a Folder>>) -> Vec<Vec<usize>> {
        let mut of_places = vec![Vec::new(); self.count()];
        for (number, folder) in folders.enumerate() {
            for place in self.holding(folder) {
                of_places[*place].push(number);
            }
        }
        of_places
    }
}

/// The separating directories that contain no other separating directory: each is a place.
fn innermost(layout: &Layout, separating: &BTreeSet<Folder>) -> Vec<Place> {
    // The set orders a directory directly before its subdirectories.
    let next = separating.iter().skip(1).map(Some).chain([None]);
    let pairs = separating.iter().zip(next);
    let innermost = pairs.filter(|(folder, next)| !next.is_some_and(|it| it.is_within(folder)));
    innermost.map(|(folder, _)| alone(layout, folder)).collect()
}

/// The place for a single directory.
fn alone(layout: &Layout, folder: &Folder) -> Place {
    let named = layout.named.iter().find(|(_, known)| known == folder);
    let name = named.map_or_else(|| folder.seen_from(&layout.here), |(name, _)| name.clone());
    Place { name, folders: vec![folder.clone()] }
}

/// Returns only the requested places. A requested directory that is not a place becomes a place.
fn narrowed(layout: &Layout, places: &[Place], separating: &mut BTreeSet<Folder>) -> Vec<Place> {
    let mut chosen: Vec<Place> = Vec::new();
    for (name, folder) in &layout.only {
        let known = places.iter().find(|it| it.name == *name || it.folders == [folder.clone()]);
        if known.is_none() {
            separating.retain(|it| !it.is_within(folder));
            separating.insert(folder.clone());
        }
        let place = known.cloned().unwrap_or_else(|| alone(layout, folder));
        if !chosen.contains(&place) {
            chosen.push(place);
        }
    }
    chosen
}

/// The highest directories that separate the copies of an object.
fn separating<'a>(objects: impl Iterator<Item = (&'a Identity, &'a Folder)>) -> BTreeSet<Folder> {
    let mut folders: BTreeMap<&Identity, BTreeSet<&Folder>> = BTreeMap::new();
    for (identity, folder) in objects {
        folders.entry(identity).or_default().insert(folder);
    }
    let mut highest = BTreeSet::new();
    for copies in folders.values().filter(|copies| copies.len() > 1) {
        let mut inside: BTreeMap<Folder, usize> = BTreeMap::new();
        for around in copies.iter().flat_map(|copy| copy.around()) {
            *inside.entry(around).or_default() += 1;
        }
        for copy in copies {
            // A copy is alone in a directory if all copies there are in its own directory.
            let own = inside.get(copy);
            highest.extend(copy.around().find(|around| inside.get(around) == own));
        }
    }
    highest
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn folder(path: &str) -> Folder {
        Folder::from_path(Path::new(path))
    }

    /// The places of objects, each written as `name directory`.
    fn places(layout: &Layout, objects: &[&str]) -> Places {
        let parsed: Vec<(Identity, Folder)> = objects
            .iter()
            .map(|text| {
                let (name, path) = text.split_once(' ').unwrap();
                (Identity::new("g", "Policy", "default", name), folder(path))
            })
            .collect();
        Places::derive(layout, parsed.iter().map(|(identity, folder)| (identity, folder)))
    }

    fn names(places: &Places) -> Vec<&str> {
        (0..places.count()).map(|place| places.name(place)).collect()
    }

    /// The names of the places to which a directory belongs.
    fn holding<'a>(places: &'a Places, path: &str) -> Vec<&'a str> {
        let folder = folder(path);
        places.holding(Some(&folder)).iter().map(|place| places.name(*place)).collect()
    }

    #[test]
    fn without_copies_there_is_one_place() {
        let found = places(&Layout::default(), &["a prod", "b staging"]);
        assert_eq!(found, Places::one());
        assert_eq!(found.holding(Some(&folder("anywhere"))), [0]);
    }

    #[test]
    fn the_topmost_directories_that_differ_separate_copies() {
        let objects = ["a clusters/prod/apps/shop", "a clusters/staging/apps/shop", "b lib"];
        let found = places(&Layout::default(), &objects);
        assert_eq!(names(&found), ["clusters/prod", "clusters/staging"]);
        assert_eq!(holding(&found, "clusters/prod/nodes"), ["clusters/prod"]);
        assert_eq!(holding(&found, "lib"), ["clusters/prod", "clusters/staging"]);
        assert_eq!(holding(&found, "clusters"), ["clusters/prod", "clusters/staging"]);
        assert_eq!(found.holding(None), [0, 1], "standard input is everywhere");
    }

    #[test]
    fn a_place_that_is_split_further_passes_its_objects_to_its_parts_only() {
        let objects = ["a prod/all", "a staging", "b prod/east", "b prod/west"];
        let found = places(&Layout::default(), &objects);
        assert_eq!(names(&found), ["prod/east", "prod/west", "staging"]);
        assert_eq!(holding(&found, "prod/all"), ["prod/east", "prod/west"]);
        assert_eq!(holding(&found, "staging/b"), ["staging"]);
    }

    #[test]
    fn copies_in_the_same_folder_are_in_one_place() {
        assert_eq!(places(&Layout::default(), &["a prod", "a prod"]), Places::one());
        let nested = places(&Layout::default(), &["a prod", "a prod/more", "a staging"]);
        assert_eq!(names(&nested), ["prod/more", "staging"]);
        assert_eq!(holding(&nested, "prod"), ["prod/more"]);
    }

    #[test]
    fn configured_places_take_precedence_over_copies() {
        let place = |name: &str, folders: &[&str]| Place {
            name: name.to_owned(),
            folders: folders.iter().map(|it| folder(it)).collect(),
        };
        let fixed = vec![
            place("prod", &["apps/shop/prod", "apps/cart/prod"]),
            place("test", &["apps/shop/test", "apps/cart/test"]),
        ];
        let layout = Layout { fixed, ..Layout::default() };
        let found = places(&layout, &["a apps/shop/prod", "a apps/shop/test"]);
        assert_eq!(names(&found), ["prod", "test"]);
        assert_eq!(holding(&found, "apps/cart/prod"), ["prod"]);
        let only = vec![("test".to_owned(), folder("test"))];
        let found = places(&Layout { only, ..layout }, &[]);
        assert_eq!(names(&found), ["test"]);
        assert_eq!(holding(&found, "apps/cart/prod"), Vec::<&str>::new());
        assert_eq!(holding(&found, "lib"), ["test"]);
    }

    #[test]
    fn a_named_folder_is_a_place_even_without_copies_and_inside_another() {
        let named = ["all", "all/east"].map(|it| (it.to_owned(), folder(&format!("{it}/built"))));
        let layout = Layout { named: named.to_vec(), ..Layout::default() };
        let objects = ["a all/built", "b all/east/built"];
        let found = places(&layout, &objects);
        assert_eq!(names(&found), ["all", "all/east"]);
        assert_eq!(holding(&found, "all/built"), ["all"]);
        assert_eq!(holding(&found, "lib"), ["all", "all/east"]);
        let fixed = vec![Place { name: "east".to_owned(), folders: vec![folder("all/east")] }];
        let found = places(&Layout { fixed, ..layout }, &objects);
        assert_eq!(names(&found), ["east", "all"]);
        assert_eq!(holding(&found, "all/east/built"), ["east"]);
    }

    #[test]
    fn a_requested_folder_is_a_place() {
        let objects = ["a c/prod/east", "a c/prod/west", "a c/staging"];
        let layout = |path: &str| Layout {
            only: vec![(path.to_owned(), folder(path))],
            ..Layout::default()
        };
        let whole = places(&layout("c/prod"), &objects);
        assert_eq!(
            (names(&whole), holding(&whole, "c/prod/west")),
            (vec!["c/prod"], vec!["c/prod"])
        );
        assert!(holding(&whole, "c/staging").is_empty());
        let known = places(&layout("c/staging"), &objects);
        assert_eq!(holding(&known, "lib"), ["c/staging"]);
        assert!(holding(&known, "c/prod/east").is_empty());
    }
}

//! Places: what one cluster gets, told by folders.
//!
//! A repository often holds one policy several times: in `prod/` and `staging/`, for several clusters,
//! in overlays. Each copy is right, and a conflict is only what one cluster would get twice. So files
//! form one place unless an object occurs twice; then the highest folders that separate the copies are
//! places, and what lies outside of them belongs to each. Somebody may say it otherwise.
//!
//! Decided from names and folders alone. Whoever has the files knows nothing of this.

use std::collections::{BTreeMap, BTreeSet};

use almanac_engine::Identity;

use crate::reading::Folder;

/// What one cluster gets.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    /// What it is called.
    pub name: String,
    /// The folders that belong to it and to no other place.
    pub folders: Vec<Folder>,
}

/// What somebody says about places, before anything was looked at.
#[derive(Clone, Debug, Default)]
pub struct Layout {
    /// The folder from which others are seen when they are named.
    pub here: Folder,
    /// The places there are; when there are none, the copies tell.
    pub fixed: Vec<Place>,
    /// Those that are asked about, by their names or as folders; when there are none, all are.
    pub only: Vec<(String, Folder)>,
}

/// The places of what was read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Places {
    places: Vec<Place>,
    /// Every folder that keeps something from the places outside of it.
    separating: BTreeSet<Folder>,
}

impl Places {
    /// Everything in one place.
    #[must_use]
    pub fn one() -> Places {
        let place = Place { name: String::new(), folders: vec![Folder::default()] };
        Places { places: vec![place], separating: BTreeSet::new() }
    }

    /// The places of objects, each with the folder it lies in.
    pub(super) fn of<'a>(
        layout: &Layout,
        objects: impl Iterator<Item = (&'a Identity, &'a Folder)>,
    ) -> Places {
        let mut places = if layout.fixed.is_empty() {
            Places::separating(layout, separating(objects))
        } else {
            Places::fixed(layout.fixed.clone())
        };
        if !layout.only.is_empty() {
            places = places.narrowed(layout);
        }
        if places.places.is_empty() { Places::one() } else { places }
    }

    fn fixed(places: Vec<Place>) -> Places {
        let separating = places.iter().flat_map(|place| place.folders.iter().cloned()).collect();
        Places { places, separating }
    }

    fn separating(layout: &Layout, separating: BTreeSet<Folder>) -> Places {
        let holds_another = |folder: &&Folder| {
            separating.iter().any(|other| other != *folder && other.is_within(folder))
        };
        let innermost = separating.iter().filter(|folder| !holds_another(folder));
        let places = innermost.map(|folder| Place {
            name: folder.seen_from(&layout.here),
            folders: vec![folder.clone()],
        });
        Places { places: places.collect(), separating }
    }

    /// Only the places that are asked about. A folder that is none of them becomes one.
    fn narrowed(mut self, layout: &Layout) -> Places {
        let mut chosen: Vec<Place> = Vec::new();
        for (name, folder) in &layout.only {
            let known =
                self.places.iter().find(|it| it.name == *name || it.folders == [folder.clone()]);
            let known = known.cloned();
            if known.is_none() {
                self.separating.retain(|it| !it.is_within(folder));
                self.separating.insert(folder.clone());
            }
            let place = known.unwrap_or_else(|| Place {
                name: folder.seen_from(&layout.here),
                folders: vec![folder.clone()],
            });
            if !chosen.contains(&place) {
                chosen.push(place);
            }
        }
        Places { places: chosen, ..self }
    }

    /// How many there are; never none.
    #[must_use]
    pub fn count(&self) -> usize {
        self.places.len()
    }

    /// Whether there is more than one, so that they have to be told apart.
    #[must_use]
    pub fn are_several(&self) -> bool {
        self.places.len() > 1
    }

    /// What a place is called.
    #[must_use]
    pub fn name(&self, place: usize) -> &str {
        self.places.get(place).map_or("", |place| &place.name)
    }

    /// Whether what lies in a folder belongs to a place. What lies in none belongs to each.
    #[must_use]
    pub fn holds(&self, place: usize, folder: Option<&Folder>) -> bool {
        let around = folder.into_iter().flat_map(Folder::around);
        let Some(closest) = around.filter(|it| self.separating.contains(it)).last() else {
            return true;
        };
        let folders = self.places.get(place).into_iter().flat_map(|place| &place.folders);
        folders.into_iter().any(|it| it.is_within(&closest))
    }
}

/// The highest folders that separate the copies of each object from one another.
fn separating<'a>(objects: impl Iterator<Item = (&'a Identity, &'a Folder)>) -> BTreeSet<Folder> {
    let mut folders: BTreeMap<&Identity, BTreeSet<&Folder>> = BTreeMap::new();
    for (identity, folder) in objects {
        folders.entry(identity).or_default().insert(folder);
    }
    let mut found = BTreeSet::new();
    for copies in folders.values().filter(|copies| copies.len() > 1) {
        for copy in copies {
            let is_alone_in = |around: &Folder| {
                let inside = copies.iter().filter(|other| other.is_within(around));
                inside.into_iter().all(|other| other.is_within(copy))
            };
            found.extend(copy.around().find(is_alone_in));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn folder(path: &str) -> Folder {
        Folder::of(Path::new(path))
    }

    /// The places of objects, each written as `name folder`.
    fn places(layout: &Layout, objects: &[&str]) -> Places {
        let parsed: Vec<(Identity, Folder)> = objects
            .iter()
            .map(|text| {
                let (name, path) = text.split_once(' ').unwrap();
                (Identity::new("g", "Policy", "default", name), folder(path))
            })
            .collect();
        Places::of(layout, parsed.iter().map(|(identity, folder)| (identity, folder)))
    }

    fn names(places: &Places) -> Vec<&str> {
        (0..places.count()).map(|place| places.name(place)).collect()
    }

    /// The names of the places that hold what lies in a folder.
    fn holding<'a>(places: &'a Places, path: &str) -> Vec<&'a str> {
        let folder = folder(path);
        let holding = (0..places.count()).filter(|place| places.holds(*place, Some(&folder)));
        holding.map(|place| places.name(place)).collect()
    }

    #[test]
    fn without_copies_there_is_one_place() {
        let found = places(&Layout::default(), &["a prod", "b staging"]);
        assert_eq!(found, Places::one());
        assert!(found.holds(0, Some(&folder("anywhere"))) && found.holds(0, None));
    }

    #[test]
    fn copies_are_separated_by_the_highest_folders_that_do() {
        let objects = ["a clusters/prod/apps/shop", "a clusters/staging/apps/shop", "b lib"];
        let found = places(&Layout::default(), &objects);
        assert_eq!(names(&found), ["clusters/prod", "clusters/staging"]);
        assert_eq!(holding(&found, "clusters/prod/nodes"), ["clusters/prod"]);
        assert_eq!(holding(&found, "lib"), ["clusters/prod", "clusters/staging"]);
        assert_eq!(holding(&found, "clusters"), ["clusters/prod", "clusters/staging"]);
        assert!(found.holds(0, None) && found.holds(1, None), "standard input is everywhere");
    }

    #[test]
    fn a_place_that_is_separated_further_gives_what_it_has_to_its_parts_only() {
        let objects = ["a prod/all", "a staging", "b prod/east", "b prod/west"];
        let found = places(&Layout::default(), &objects);
        assert_eq!(names(&found), ["prod/east", "prod/west", "staging"]);
        assert_eq!(holding(&found, "prod/all"), ["prod/east", "prod/west"]);
        assert_eq!(holding(&found, "staging/b"), ["staging"]);
    }

    #[test]
    fn copies_that_no_folder_separates_are_in_one_place() {
        assert_eq!(places(&Layout::default(), &["a prod", "a prod"]), Places::one());
        let nested = places(&Layout::default(), &["a prod", "a prod/more", "a staging"]);
        assert_eq!(names(&nested), ["prod/more", "staging"]);
        assert_eq!(holding(&nested, "prod"), ["prod/more"]);
    }

    #[test]
    fn what_is_said_about_places_counts_instead_of_the_copies() {
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
    fn a_folder_that_is_asked_about_is_a_place() {
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

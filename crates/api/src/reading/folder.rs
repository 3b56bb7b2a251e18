//! The directory of a file, as a list of names: the nesting of directories, without a file system.

use std::fmt;
use std::path::{Component, Path};

/// A directory, as its names from the outermost one down, ordered like a directory listing.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Folder(Vec<Box<str>>);

impl Folder {
    /// The directory that a path names. Steps up (`..`) are resolved lexically, and links are not followed.
    #[must_use]
    pub fn from_path(path: &Path) -> Folder {
        let mut names: Vec<Box<str>> = Vec::new();
        for component in path.components() {
            match component {
                Component::Normal(name) => names.push(name.to_string_lossy().into()),
                Component::ParentDir => {
                    names.pop();
                }
                Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
            }
        }
        Folder(names)
    }

    /// Whether this directory equals the other directory or is inside it.
    #[must_use]
    pub fn is_within(&self, outer: &Folder) -> bool {
        self.0.starts_with(&outer.0)
    }

    /// The enclosing directories and this directory, from the outermost one down.
    pub fn around(&self) -> impl Iterator<Item = Folder> {
        (0..=self.0.len()).map(|length| Folder(self.0[..length].to_vec()))
    }

    /// The path of the directory: relative to `here` if inside, otherwise absolute.
    #[must_use]
    pub fn seen_from(&self, here: &Folder) -> String {
        match self.0.strip_prefix(&*here.0) {
            Some([]) => ".".to_owned(),
            Some(below) => below.join("/"),
            None => self.to_string(),
        }
    }

    /// The names of the directories, from the outermost one down.
    #[must_use]
    pub fn names(&self) -> &[Box<str>] {
        &self.0
    }
}

impl fmt::Display for Folder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "/{}", self.0.join("/"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(path: &str) -> Folder {
        Folder::from_path(Path::new(path))
    }

    #[test]
    fn a_folder_is_displayed_relative_to_another() {
        let prod = folder("/repo/clusters/./staging/../prod");
        assert_eq!(prod.seen_from(&folder("/repo")), "clusters/prod");
        assert_eq!(prod.seen_from(&prod), ".");
        assert_eq!(prod.seen_from(&folder("/repo/clusters/pro")), "/repo/clusters/prod");
    }

    #[test]
    fn a_folder_is_within_its_parents_but_not_within_a_namesake() {
        let prod = folder("/repo/prod");
        assert!(prod.is_within(&prod) && prod.is_within(&folder("/repo")));
        assert!(!prod.is_within(&folder("/repo/pro")) && !folder("/repo").is_within(&prod));
        let around: Vec<String> = prod.around().map(|it| it.to_string()).collect();
        assert_eq!(around, ["/", "/repo", "/repo/prod"]);
    }
}

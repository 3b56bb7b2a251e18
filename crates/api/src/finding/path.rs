//! Field paths in Kubernetes' form: `spec.rules[1].schedule`.

use std::fmt;

/// A step of a path.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Segment {
    /// Into a map.
    Key(Box<str>),
    /// Into a list, counted from 0.
    Index(usize),
}

/// A path on the stack of the code that walks an object, so that a step down costs nothing.
#[derive(Clone, Copy, Debug)]
pub enum Path<'a> {
    /// The path of the object itself.
    Root,
    /// A field of a map.
    Key(&'a Path<'a>, &'a str),
    /// An item of a list.
    Index(&'a Path<'a>, usize),
}

impl<'a> Path<'a> {
    /// The path of a field of the value at this path.
    #[must_use]
    pub fn key(&'a self, key: &'a str) -> Path<'a> {
        Path::Key(self, key)
    }

    /// The name of the field at the end of the path; `None` for an item of a list.
    #[must_use]
    pub fn last_key(&self) -> Option<&'a str> {
        match self {
            Path::Key(_, key) => Some(key),
            Path::Root | Path::Index(..) => None,
        }
    }

    /// The path of an item of the list at this path.
    #[must_use]
    pub fn index(&'a self, index: usize) -> Path<'a> {
        Path::Index(self, index)
    }
}

/// A path that owns its steps.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct FieldPath(Vec<Segment>);

impl FieldPath {
    /// The steps of the path, starting at the object.
    #[must_use]
    pub fn segments(&self) -> &[Segment] {
        &self.0
    }

    /// The name of the field at the end of the path; `None` for an item of a list.
    #[must_use]
    pub fn last_key(&self) -> Option<&str> {
        match self.0.last()? {
            Segment::Key(key) => Some(key),
            Segment::Index(_) => None,
        }
    }

    /// The first item of a list on the path: the key of the list, and the index of the item.
    #[must_use]
    pub fn first_item(&self) -> Option<(&str, usize)> {
        self.0.windows(2).find_map(|pair| match pair {
            [Segment::Key(list), Segment::Index(position)] => Some((&**list, *position)),
            _ => None,
        })
    }

    /// Whether this and the other path are fields of the same map.
    #[must_use]
    pub fn is_sibling(&self, other: &FieldPath) -> bool {
        match (self.0.split_last(), other.0.split_last()) {
            (Some((_, around)), Some((_, around_other))) => around == around_other,
            _ => false,
        }
    }

    /// Whether this path equals the other path or continues it.
    #[must_use]
    pub fn is_within(&self, outer: &FieldPath) -> bool {
        self.0.starts_with(&outer.0)
    }
}

impl From<&Path<'_>> for FieldPath {
    fn from(path: &Path<'_>) -> Self {
        let mut segments = Vec::new();
        let mut rest = path;
        loop {
            match rest {
                Path::Root => break,
                Path::Key(outer, key) => {
                    segments.push(Segment::Key((*key).into()));
                    rest = outer;
                }
                Path::Index(outer, index) => {
                    segments.push(Segment::Index(*index));
                    rest = outer;
                }
            }
        }
        segments.reverse();
        Self(segments)
    }
}

impl From<Path<'_>> for FieldPath {
    fn from(path: Path<'_>) -> Self {
        Self::from(&path)
    }
}

/// A key that looks like several steps is in brackets, as Kubernetes prints such keys: `metadata.annotations[a.b/c]`.
impl fmt::Display for FieldPath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, segment) in self.0.iter().enumerate() {
            match segment {
                Segment::Index(index) => write!(formatter, "[{index}]")?,
                Segment::Key(key) if key.contains(['.', '/', '[', ' ']) => {
                    write!(formatter, "[{key}]")?;
                }
                Segment::Key(key) if position == 0 => formatter.write_str(key)?,
                Segment::Key(key) => write!(formatter, ".{key}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_written_as_kubernetes_writes_them() {
        let spec = Path::Root.key("spec");
        let rules = spec.key("rules");
        assert_eq!(FieldPath::from(rules.index(1).key("name")).to_string(), "spec.rules[1].name");
        let metadata = Path::Root.key("metadata");
        let annotations = metadata.key("annotations");
        assert_eq!(
            FieldPath::from(annotations.key("a.b/c")).to_string(),
            "metadata.annotations[a.b/c]"
        );
        assert_eq!(FieldPath::default().to_string(), "");
    }

    #[test]
    fn a_path_is_within_itself_and_its_parents() {
        let spec = Path::Root.key("spec");
        let rules = spec.key("rules");
        let rule = FieldPath::from(rules.index(1));
        assert!(rule.is_within(&rule) && rule.is_within(&FieldPath::from(spec)));
        assert!(!rule.is_within(&FieldPath::from(rules.index(2))));
    }
}

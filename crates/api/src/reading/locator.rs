//! The locations in a file of the findings about an object.

use std::cell::OnceCell;

use super::embedded::TextInFile;
use super::objects::ReadObject;
use super::source::Source;
use crate::finding::{Finding, Span};
use crate::objects::document_key;
use crate::tree::Node;

/// Returns the locations of findings about one object.
pub struct Locator<'a> {
    source: &'a Source,
    node: &'a Node,
    document: OnceCell<Option<TextInFile>>,
}

impl<'a> Locator<'a> {
    /// Creates a locator for an object and its file.
    #[must_use]
    pub fn new(source: &'a Source, object: &'a ReadObject) -> Locator<'a> {
        Locator { source, node: &object.node, document: OnceCell::new() }
    }

    /// The location of a finding.
    #[must_use]
    pub fn locate(&self, finding: &Finding) -> Span {
        if let Some(part) = finding.in_text
            && let Some(document) = self.document.get_or_init(|| self.document())
        {
            return document.locate(part);
        }
        self.node.locate(&finding.field, finding.code.is_about_the_key())
    }

    /// The embedded document of the object, if any.
    fn document(&self) -> Option<TextInFile> {
        let name = self.node.get("metadata")?.get("name")?.as_text()?;
        let node = self.node.get("data")?.get(document_key(name)?)?;
        Some(TextInFile::new(node.as_text()?, self.source, node.span))
    }
}

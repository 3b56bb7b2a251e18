//! Builds a tree from the events of a YAML parser.
//!
//! This parser and that of kubectl are ports of the same library, so both accept the same YAML. The tree is built with
//! an explicit stack: no input can exhaust the stack of the thread.

use std::collections::BTreeMap;

use libyaml_safer::{EventData, ScalarStyle};

use super::events::Events;
use super::map::{Key, MERGE_KEY, MapInProgress, merge};
use super::text_finding::{TextFinding, TextFindings};
use super::{limits, mistakes};
use crate::finding::{Code, Span};
use crate::tree::scalar::{Scalar, as_key, resolve, resolve_tagged};
use crate::tree::{Entry, Node, Value};

/// Reads one document. `offset` is the start of its text in the file. Mistakes that do not stop reading are added to
/// `findings`; the mistake that stops reading is the error.
pub(super) fn read(
    text: &str,
    offset: usize,
    findings: &mut TextFindings,
) -> Result<Option<Node>, TextFinding> {
    let mut events = Events::new(text, offset);
    let mut builder = Builder::new(text, offset, findings);
    loop {
        let event = events.next()?;
        let within = |index: u64| usize::try_from(index).map_or(text.len(), |i| i.min(text.len()));
        let (start, end) = (within(event.start_mark.index), within(event.end_mark.index));
        let span = Span::new(offset + start..offset + end);
        match event.data {
            EventData::Alias { anchor } => builder.alias(&anchor, span)?,
            EventData::Scalar { anchor, tag, value, plain_implicit, style, .. } => {
                if style == ScalarStyle::DoubleQuoted
                    && let Some(finding) = mistakes::escaped_slash(text, offset, span)
                {
                    return Err(finding);
                }
                let written =
                    RawScalar { tag, value, plain: style == ScalarStyle::Plain, plain_implicit };
                builder.scalar(anchor, written, span)?;
            }
            EventData::SequenceStart { anchor, .. } => {
                builder.open(Open::List(Vec::new()), anchor, span)?;
            }
            EventData::MappingStart { anchor, .. } => {
                builder.open(Open::Map(MapInProgress::default()), anchor, span)?;
            }
            EventData::SequenceEnd | EventData::MappingEnd => builder.close(end + offset)?,
            EventData::DocumentEnd { .. } => {
                let root = builder.root.take();
                after_the_document(&mut events, span, findings);
                return Ok(root);
            }
            EventData::StreamEnd => return Ok(builder.root),
            EventData::StreamStart { .. } | EventData::DocumentStart { .. } => {}
        }
    }
}

/// Reports text after the document. kubectl reads one document from each piece of text, and silently ignores the text
/// after it.
fn after_the_document(events: &mut Events<'_>, end: Span, findings: &mut TextFindings) {
    if !matches!(events.next().map(|event| event.data), Ok(EventData::StreamEnd)) {
        let here = Span { start: end.start, end: end.start };
        findings.push(
            TextFinding::new(Code::Syntax, here, "the document ends here; what follows is ignored")
                .with_fix("start a new document with a '---' line"),
        );
    }
}

/// A scalar of the parser, before its type is resolved.
struct RawScalar {
    tag: Option<String>,
    value: String,
    plain: bool,
    plain_implicit: bool,
}

enum Open {
    List(Vec<Node>),
    Map(MapInProgress),
}

struct Frame {
    open: Open,
    anchor: Option<String>,
    span: Span,
    /// The extent of the parts read so far.
    extent: Extent,
}

/// The size of a value once aliases are expanded.
#[derive(Clone, Copy)]
struct Extent {
    /// The number of values, including the value itself and keys.
    size: usize,
    /// The number of bytes in strings and keys.
    bytes: usize,
    /// The depth of nested lists and maps.
    depth: usize,
}

impl Extent {
    const EMPTY: Extent = Extent { size: 1, bytes: 0, depth: 0 };

    fn from_scalar(value: &Value) -> Extent {
        let bytes = if let Value::Text(text) = value { text.len() } else { 0 };
        Extent { bytes, ..Extent::EMPTY }
    }

    fn add(&mut self, part: Extent) {
        self.size = self.size.saturating_add(part.size);
        self.bytes = self.bytes.saturating_add(part.bytes);
        self.depth = self.depth.max(part.depth);
    }
}

struct AnchoredNode {
    node: Node,
    extent: Extent,
}

struct Builder<'a> {
    text: &'a str,
    offset: usize,
    findings: &'a mut TextFindings,
    stack: Vec<Frame>,
    anchors: BTreeMap<String, AnchoredNode>,
    nodes: usize,
    aliased: Extent,
    root: Option<Node>,
}

impl<'a> Builder<'a> {
    fn new(text: &'a str, offset: usize, findings: &'a mut TextFindings) -> Self {
        Self {
            text,
            offset,
            findings,
            stack: Vec::new(),
            anchors: BTreeMap::new(),
            nodes: 0,
            aliased: Extent { size: 0, ..Extent::EMPTY },
            root: None,
        }
    }

    fn count(&mut self, nodes: usize, span: Span) -> Result<(), TextFinding> {
        self.nodes = self.nodes.saturating_add(nodes);
        if self.nodes > limits::NODES {
            let message =
                format!("a document may have at most {} values; this one has more", limits::NODES);
            return Err(TextFinding::new(Code::TooLarge, span, message)
                .with_fix("split the file into several documents"));
        }
        Ok(())
    }

    fn open(&mut self, open: Open, anchor: Option<String>, span: Span) -> Result<(), TextFinding> {
        self.count(1, span)?;
        if self.stack.len() == limits::DEPTH {
            return Err(too_deep(span)
                .with_fix("nest it less deeply; check the indentation and the brackets"));
        }
        if let Some(Frame { open: Open::Map(map), .. }) = self.stack.last()
            && map.key.is_none()
        {
            return Err(TextFinding::new(
                Code::Syntax,
                span,
                "a key must be a scalar, not a list or a map",
            )
            .with_fix("put quotes around text that begins with '{' or '['"));
        }
        self.stack.push(Frame { open, anchor, span, extent: Extent::EMPTY });
        Ok(())
    }

    fn close(&mut self, end: usize) -> Result<(), TextFinding> {
        let Some(frame) = self.stack.pop() else { return Ok(()) };
        let value = match frame.open {
            Open::List(items) => Value::List(items.into()),
            Open::Map(map) => Value::Map(map.into_entries()),
        };
        let end = Span::new(end..end).end;
        let node = Node { span: Span { start: frame.span.start, end }, value };
        let extent = Extent { depth: frame.extent.depth + 1, ..frame.extent };
        self.anchor(frame.anchor, &node, extent);
        if matches!(
            self.stack.last(),
            Some(Frame { open: Open::Map(MapInProgress { key: Some(Key::Merge(_)), .. }), .. })
        ) {
            // A merge copies the entries of its map, as an alias does.
            self.expand(extent, node.span)?;
        }
        self.place(node, extent)
    }

    /// Stores a value under the name of its anchor. The stored copy shares its lists and maps: otherwise many nested
    /// anchors would each copy the innermost value.
    fn anchor(&mut self, anchor: Option<String>, node: &Node, extent: Extent) {
        if let Some(name) = anchor {
            self.anchors.insert(name, AnchoredNode { node: node.clone(), extent });
        }
    }

    fn alias(&mut self, name: &str, span: Span) -> Result<(), TextFinding> {
        let Some(anchored) = self.anchors.get(name) else {
            let open = self.stack.iter().any(|frame| frame.anchor.as_deref() == Some(name));
            let message = if open {
                format!("the anchor &{name} contains itself")
            } else {
                format!("there is no anchor &{name} before this alias")
            };
            return Err(TextFinding::new(Code::Alias, span, message)
                .with_fix("put text that begins with '*' in quotes, or write the value out"));
        };
        let (node, extent) = (anchored.node.clone(), anchored.extent);
        self.expand(extent, span)?;
        if self.stack.len() + extent.depth > limits::DEPTH {
            return Err(too_deep(span).with_fix("write the value out, and nest it less deeply"));
        }
        if self.awaits_key() {
            return match &node.value {
                Value::Text(text) => self.key(Some(text.to_string()), span),
                _ => Err(TextFinding::new(
                    Code::Syntax,
                    span,
                    "an alias used as a key must refer to text",
                )
                .with_fix("write the key out")),
            };
        }
        self.place(node, extent)
    }

    /// Counts the values that an alias adds to the document.
    fn expand(&mut self, extent: Extent, span: Span) -> Result<(), TextFinding> {
        self.aliased.add(extent);
        let limit = if self.aliased.size > limits::ALIASED_NODES {
            Some(format!("{} values", limits::ALIASED_NODES))
        } else if self.aliased.bytes > limits::ALIASED_BYTES {
            Some(format!("{} bytes of text", limits::ALIASED_BYTES))
        } else {
            None
        };
        if let Some(limit) = limit {
            let message = format!(
                "the aliases in a document may expand to at most {limit}; these expand to more"
            );
            return Err(TextFinding::new(Code::Alias, span, message)
                .with_fix("write the values out, or repeat fewer of them"));
        }
        self.count(extent.size, span)
    }

    fn awaits_key(&self) -> bool {
        matches!(self.stack.last(), Some(Frame { open: Open::Map(map), .. }) if map.key.is_none())
    }

    fn scalar(
        &mut self,
        anchor: Option<String>,
        written: RawScalar,
        span: Span,
    ) -> Result<(), TextFinding> {
        self.count(1, span)?;
        if written.plain {
            mistakes::comment_inside_plain_text(self.text, self.offset, span, self.findings);
        }
        if self.awaits_key() {
            if written.plain_implicit && written.value == MERGE_KEY {
                self.merge_key(span);
                return Ok(());
            }
            let name = match meaning(&written, span)? {
                Scalar::Text => Some(written.value),
                scalar => as_key(&scalar, &written.value),
            };
            if let (Some(anchor), Some(name)) = (anchor, &name) {
                let node = Node { span, value: Value::Text(name.as_str().into()) };
                let extent = Extent::from_scalar(&node.value);
                self.anchor(Some(anchor), &node, extent);
            }
            return self.key(name, span);
        }
        let value = match meaning(&written, span)? {
            Scalar::Null => Value::Null,
            Scalar::Bool(truth) => Value::Bool(truth),
            Scalar::Number(number) => Value::Number(number),
            Scalar::Text => Value::Text(written.value.into()),
            Scalar::NotFinite => {
                let message = format!(
                    "{} cannot be stored as JSON, which is what Kubernetes keeps",
                    written.value
                );
                return Err(TextFinding::new(Code::Syntax, span, message)
                    .with_fix("put it in quotes if it is text"));
            }
        };
        let node = Node { span, value };
        let extent = Extent::from_scalar(&node.value);
        self.anchor(anchor, &node, extent);
        self.place(node, extent)
    }

    fn map(&mut self) -> Option<&mut MapInProgress> {
        match self.stack.last_mut() {
            Some(Frame { open: Open::Map(map), .. }) => Some(map),
            _ => None,
        }
    }

    fn merge_key(&mut self, span: Span) {
        if let Some(map) = self.map() {
            map.key = Some(Key::Merge(span));
        }
    }

    fn key(&mut self, name: Option<String>, span: Span) -> Result<(), TextFinding> {
        let Some(name) = name else {
            return Err(TextFinding::new(Code::Syntax, span, "a key can't be null")
                .with_fix("put it in quotes if it is text"));
        };
        if let Some(frame) = self.stack.last_mut() {
            frame.extent.add(Extent { bytes: name.len(), ..Extent::EMPTY });
        }
        if let Some(map) = self.map() {
            map.key = Some(Key::Named(name.into(), span));
        }
        Ok(())
    }

    /// Adds a finished value to the innermost open list or map.
    fn place(&mut self, node: Node, extent: Extent) -> Result<(), TextFinding> {
        let Some(frame) = self.stack.last_mut() else {
            self.root = Some(node);
            return Ok(());
        };
        frame.extent.add(extent);
        match &mut frame.open {
            Open::List(items) => items.push(node),
            Open::Map(map) => match map.key.take() {
                Some(Key::Merge(span)) => merge(map, node, span)?,
                Some(Key::Named(key, key_span)) => {
                    let entry = Entry { key, key_span, value: node };
                    if let Some(twice) = map.put_written(entry) {
                        self.findings.push(twice);
                    }
                }
                None => {}
            },
        }
        Ok(())
    }
}

fn meaning(written: &RawScalar, span: Span) -> Result<Scalar, TextFinding> {
    let resolved = match &written.tag {
        None if written.plain_implicit => Some(resolve(&written.value)),
        None => Some(Scalar::Text),
        Some(tag) => resolve_tagged(tag, &written.value),
    };
    resolved.ok_or_else(|| {
        let tag = written.tag.as_deref().unwrap_or_default();
        let short = tag.replace("tag:yaml.org,2002:", "!!");
        let message = format!("{:?} does not match its tag {short}", written.value);
        TextFinding::new(Code::Syntax, span, message).with_fix("remove the tag")
    })
}

fn too_deep(span: Span) -> TextFinding {
    let message = format!(
        "a document may be nested at most {} levels deep; this one is deeper",
        limits::DEPTH
    );
    TextFinding::new(Code::TooLarge, span, message)
}

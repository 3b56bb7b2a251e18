//! Checks an object against the schema of its kind, and reports all mistakes.
//!
//! The schemas are those of the CRDs, so the findings match the errors of an API server. The findings cover the whole
//! object, and each finding has a fix. A value that does not fit is omitted or replaced by an empty one, so that the
//! rest of the object can be checked.

mod form;
mod metadata;
mod unknown_field;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value as Json};

use self::form::{Form, form_of};
pub(crate) use self::metadata::metadata_shape;
pub(crate) use self::unknown_field::names;
use crate::finding::{Code, Finding, MessageValue, Path};
use crate::go_duration;
use crate::kinds::nearest;
use crate::tree::{Entry, Node, Value};

/// The part of a schema that is checked.
#[derive(Debug, Default)]
pub(crate) struct Shape {
    kind: ShapeKind,
    nullable: bool,
    choices: Vec<String>,
    minimum: Option<f64>,
    maximum: Option<f64>,
    min_length: usize,
    max_length: Option<usize>,
    form: Option<&'static Form>,
    max_items: Option<usize>,
    keys: Vec<String>,
    required: Vec<String>,
    properties: BTreeMap<String, Shape>,
    items: Option<Box<Shape>>,
    values: Option<Box<Shape>>,
    /// The names of the fields of each enclosing map, the innermost first.
    around: Vec<Vec<String>>,
}

/// A map in an object, with its entries and the map around it.
#[derive(Clone, Copy)]
pub(crate) struct Level<'a> {
    pub(crate) path: &'a Path<'a>,
    pub(crate) entries: &'a [Entry],
    /// The enclosing map; `None` for the outermost map.
    pub(crate) around: Option<&'a Level<'a>>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum ShapeKind {
    #[default]
    Anything,
    Map,
    List,
    Text,
    Integer,
    Number,
    Bool,
    IntegerOrText,
}

impl Shape {
    /// Converts a schema in the form of a CRD.
    pub(crate) fn from_schema(schema: &Json) -> Self {
        let mut shape = Self::read(schema);
        shape.surround(&[]);
        shape
    }

    /// Records the fields of the enclosing maps, in this shape and in its parts.
    fn surround(&mut self, around: &[Vec<String>]) {
        let mut within = around.to_vec();
        if self.kind == ShapeKind::Map {
            within.insert(0, self.properties.keys().cloned().collect());
            self.around = around.to_vec();
        }
        let parts = self.properties.values_mut();
        for part in parts.chain(self.items.as_deref_mut()).chain(self.values.as_deref_mut()) {
            part.surround(&within);
        }
    }

    fn read(schema: &Json) -> Self {
        let count = |key: &str| schema[key].as_u64().and_then(|count| usize::try_from(count).ok());
        let texts = |key: &str| -> Vec<String> {
            let items = schema[key].as_array().into_iter().flatten();
            items.filter_map(|item| item.as_str().map(str::to_owned)).collect()
        };
        let flag = |key: &str| schema[key].as_bool() == Some(true);
        let inner = |key: &str| schema[key].is_object().then(|| Box::new(Self::read(&schema[key])));
        let int32 = schema["format"] == "int32";
        Self {
            kind: match schema["type"].as_str() {
                _ if flag("x-kubernetes-int-or-string") => ShapeKind::IntegerOrText,
                _ if flag("x-kubernetes-preserve-unknown-fields") => ShapeKind::Anything,
                Some("object") => ShapeKind::Map,
                Some("array") => ShapeKind::List,
                Some("string") => ShapeKind::Text,
                Some("integer") => ShapeKind::Integer,
                Some("number") => ShapeKind::Number,
                Some("boolean") => ShapeKind::Bool,
                _ => ShapeKind::Anything,
            },
            nullable: flag("nullable"),
            choices: texts("enum"),
            minimum: schema["minimum"].as_f64().or(int32.then_some(f64::from(i32::MIN))),
            maximum: schema["maximum"].as_f64().or(int32.then_some(f64::from(i32::MAX))),
            min_length: count("minLength").unwrap_or(0),
            max_length: count("maxLength"),
            form: form_of(schema),
            max_items: count("maxItems"),
            keys: texts("x-kubernetes-list-map-keys"),
            required: texts("required"),
            properties: schema["properties"]
                .as_object()
                .into_iter()
                .flatten()
                .map(|(name, schema)| (name.clone(), Self::read(schema)))
                .collect(),
            items: inner("items"),
            values: inner("additionalProperties"),
            around: Vec::new(),
        }
    }

    /// Adds a field to a map's shape.
    pub(crate) fn set(&mut self, name: &str, shape: Shape) {
        self.properties.insert(name.to_owned(), shape);
    }

    /// Checks a value, and returns one that fits the schema.
    pub(crate) fn examine(
        &self,
        node: &Node,
        path: &Path<'_>,
        findings: &mut Vec<Finding>,
    ) -> Json {
        self.examine_within(node, path, None, findings)
    }

    fn examine_within(
        &self,
        node: &Node,
        path: &Path<'_>,
        around: Option<&Level<'_>>,
        findings: &mut Vec<Finding>,
    ) -> Json {
        match (&node.value, self.kind) {
            (Value::Null, _) if self.nullable => Json::Null,
            (_, ShapeKind::Anything) | (Value::Bool(_), ShapeKind::Bool) => node.to_json(),
            (Value::Map(entries), ShapeKind::Map) => {
                self.examine_map(Level { path, entries, around }, findings)
            }
            (Value::List(items), ShapeKind::List) => {
                self.examine_list(items, path, around, findings)
            }
            (Value::Text(text), ShapeKind::Text | ShapeKind::IntegerOrText) => {
                if self.examine_text(text, path, findings) { node.to_json() } else { self.empty() }
            }
            (Value::Number(number), ShapeKind::Integer | ShapeKind::IntegerOrText)
                if !number.is_f64() =>
            {
                self.examine_number(number.as_f64(), path, findings)
                    .unwrap_or_else(|| node.to_json())
            }
            (Value::Number(number), ShapeKind::Number) => self
                .examine_number(number.as_f64(), path, findings)
                .unwrap_or_else(|| node.to_json()),
            _ => {
                findings.push(self.wrong_type(node, path));
                self.empty()
            }
        }
    }

    fn examine_map(&self, level: Level<'_>, findings: &mut Vec<Finding>) -> Json {
        let Level { path, entries, .. } = level;
        let mut fitting = Map::new();
        let mut unknown = Vec::new();
        for entry in entries {
            let field = path.key(&entry.key);
            let shape = self.properties.get(&*entry.key).or(self.values.as_deref());
            if self.drops(entry) {
                continue;
            }
            if let Some(shape) = shape {
                let value = shape.examine_within(&entry.value, &field, Some(&level), findings);
                fitting.insert(entry.key.to_string(), value);
            } else {
                unknown.push(entry);
            }
        }
        let misspelled = if unknown.is_empty() {
            BTreeSet::new()
        } else {
            let (misspelled, of_unknown) = unknown_field::look_at(self, &unknown, level);
            findings.extend(of_unknown);
            misspelled
        };
        for name in &self.required {
            if !fitting.contains_key(name) {
                if !misspelled.contains(name.as_str()) {
                    findings.push(Finding::required(&path.key(name), ""));
                }
                let empty = self.properties.get(name).map_or(Json::Null, Self::empty);
                fitting.insert(name.clone(), empty);
            }
        }
        Json::Object(fitting)
    }

    /// Whether an API server drops a field before validation: the field is null, and may be absent but not null.
    fn drops(&self, entry: &Entry) -> bool {
        let is_null = matches!(entry.value.value, Value::Null);
        let field = self.properties.get(&*entry.key).filter(|_| is_null);
        field.is_some_and(|it| !it.nullable && it.kind != ShapeKind::Anything)
            && !self.required.iter().any(|name| **name == *entry.key)
    }

    fn examine_list(
        &self,
        items: &[Node],
        path: &Path<'_>,
        around: Option<&Level<'_>>,
        findings: &mut Vec<Finding>,
    ) -> Json {
        if let Some(most) = self.max_items
            && items.len() > most
        {
            let message = format!("Too many: {}: must have at most {most} items", items.len());
            findings.push(
                Finding::new(Code::OutOfRange, path, message).with_fix(format!(
                    "keep at most {most}, and move the others to another object"
                )),
            );
        }
        let anything = Shape::default();
        let shape = self.items.as_deref().unwrap_or(&anything);
        let fitting: Vec<Json> = items
            .iter()
            .enumerate()
            .map(|(position, item)| {
                shape.examine_within(item, &path.index(position), around, findings)
            })
            .collect();
        self.examine_keys(&fitting, path, findings);
        Json::Array(fitting)
    }

    /// Checks that items with keys have different keys.
    fn examine_keys(&self, items: &[Json], path: &Path<'_>, findings: &mut Vec<Finding>) {
        let [key] = self.keys.as_slice() else { return };
        let mut seen = BTreeSet::new();
        for (position, item) in items.iter().enumerate() {
            let Some(name) = item[key].as_str().filter(|name| !name.is_empty()) else { continue };
            if !seen.insert(name) {
                let item = path.index(position);
                let message = format!("Duplicate value: {}", name.in_message());
                findings.push(Finding::new(Code::DuplicateItem, item.key(key), message));
            }
        }
    }

    /// Checks a string, and returns whether it is usable.
    fn examine_text(&self, text: &str, path: &Path<'_>, findings: &mut Vec<Finding>) -> bool {
        let length = text.chars().count();
        if !self.choices.is_empty() && !self.choices.iter().any(|choice| choice == text) {
            let choices: Vec<_> = self.choices.iter().map(MessageValue::in_message).collect();
            let message = format!(
                "Unsupported value: {}: supported values: {}",
                text.in_message(),
                choices.join(", ")
            );
            let finding = Finding::new(Code::UnsupportedValue, path, message);
            findings.push(match nearest(text, self.choices.iter().map(String::as_str)) {
                Some(meant) => finding.meaning(meant),
                None => finding,
            });
            return false;
        }
        if length < self.min_length {
            findings.push(Finding::required(path, "must not be empty"));
        } else if let Some(most) = self.max_length
            && length > most
        {
            let message =
                format!("Too long: may not be more than {most} characters, this has {length}");
            findings.push(
                Finding::new(Code::OutOfRange, path, message)
                    .with_fix(format!("shorten it to at most {most} characters")),
            );
        } else if let Some(form) = self.form {
            findings.extend(form.finding(text, path));
        }
        true
    }

    /// A finding about a number out of bounds, and its substitute: the nearest number in an int32.
    fn examine_number(
        &self,
        number: Option<f64>,
        path: &Path<'_>,
        findings: &mut Vec<Finding>,
    ) -> Option<Json> {
        let number = number?;
        let why = match (self.minimum, self.maximum) {
            (Some(least), _) if number < least => {
                format!("must be greater than or equal to {least}")
            }
            (_, Some(most)) if number > most => format!("must be less than or equal to {most}"),
            _ => return None,
        };
        findings.push(Finding::new(
            Code::OutOfRange,
            path,
            format!("Invalid value: {number}: {why}"),
        ));
        #[expect(clippy::cast_possible_truncation, reason = "a cast of a float saturates")]
        Some(Json::from(number as i32))
    }

    fn wrong_type(&self, node: &Node, path: &Path<'_>) -> Finding {
        let (value, actual) = match &node.value {
            Value::Null => ("null".to_owned(), "nothing"),
            Value::Bool(truth) => (truth.to_string(), "true or false"),
            Value::Number(number) if number.is_f64() => {
                (number.to_string(), "a number with a fraction")
            }
            Value::Number(number) => (number.to_string(), "a number"),
            Value::Text(text) => (text.in_message(), "text"),
            Value::List(_) => ("[…]".to_owned(), "a list"),
            Value::Map(_) => ("{…}".to_owned(), "a map"),
        };
        let due = match self.kind {
            ShapeKind::Map => "a map",
            ShapeKind::List => "a list",
            ShapeKind::Text => "text",
            ShapeKind::Integer => "a whole number",
            ShapeKind::Number => "a number",
            ShapeKind::Bool => "true or false",
            ShapeKind::IntegerOrText => "a whole number or text",
            ShapeKind::Anything => "anything",
        };
        let finding = Finding::new(
            Code::WrongType,
            path,
            format!("Invalid value: {value}: must be {due}, not {actual}"),
        );
        if let Some(text) = node.as_text()
            && let Some(meant) = self.bare(text, path)
        {
            return finding.meaning_bare(text, meant);
        }
        match (&node.value, self.kind) {
            (Value::Number(_), ShapeKind::Text)
                if matches!(path.last_key(), Some("startTime" | "endTime")) =>
            {
                finding.with_fix("write two digits each in quotes, as in \"08:00\"")
            }
            (Value::Number(_) | Value::Bool(_), ShapeKind::Text) => {
                // The value may differ from the text in the file: 0123 is 83, and 1.10 is 1.1.
                finding.with_fix("put it in quotes, as it is written")
            }
            // A placeholder in braces is a map in YAML.
            (Value::Map(entries), ShapeKind::Text) if is_word_in_braces(entries) => {
                finding.with_fix("replace the braces and their content with the value")
            }
            // The documents of a ConfigMap are strings.
            (Value::Map(_), ShapeKind::Text)
                if matches!(path, Path::Key(Path::Key(Path::Root, "data"), _)) =>
            {
                finding.with_fix("write | after its colon, which makes what follows one text")
            }
            (Value::Map(_), ShapeKind::List) => finding.with_fix("begin each item with '- '"),
            (Value::Null, _) => finding.with_fix("give it a value, or remove the field"),
            _ => finding.with_fix(format!("write {due} instead")),
        }
    }

    /// The number or the boolean that a string probably means.
    fn bare(&self, text: &str, path: &Path<'_>) -> Option<String> {
        match self.kind {
            ShapeKind::Integer => whole_number(text, path.last_key()?),
            // A number that begins with 0 may be in another base.
            ShapeKind::Number => {
                let number = text.parse().ok().and_then(serde_json::Number::from_f64)?;
                let number = text.parse::<i64>().map_or(number, Into::into).to_string();
                (!text.starts_with('0') || text.starts_with("0.")).then_some(number)
            }
            ShapeKind::Bool => matches!(text, "true" | "false").then(|| text.to_owned()),
            _ => None,
        }
    }

    /// The names of the fields of this map.
    pub(crate) fn fields(&self) -> impl Iterator<Item = &str> {
        self.properties.keys().map(String::as_str)
    }

    /// The shape of a field of this map.
    pub(crate) fn field(&self, name: &str) -> Option<&Shape> {
        self.properties.get(name)
    }

    fn field_in_any_case(&self, key: &str) -> Option<&str> {
        self.fields().find(|it| it.eq_ignore_ascii_case(key))
    }

    /// The part of this map to which a field belongs, and the name of the field in that part. A list has the prefix
    /// `each of `. If several parts have such a field, the only present part is used.
    pub(crate) fn part_with<'s>(
        &'s self,
        key: &str,
        present: &BTreeSet<&str>,
    ) -> Option<(&'static str, &'s str, &'s str)> {
        let mut parts: Vec<(&'static str, &'s str, &'s str)> = Vec::new();
        for (name, part) in &self.properties {
            let of_items = || part.items.as_deref()?.field_in_any_case(key);
            if let Some(field) = part.field_in_any_case(key) {
                parts.push(("", name.as_str(), field));
            } else if let Some(field) = of_items() {
                parts.push(("each of ", name.as_str(), field));
            }
        }
        if parts.len() > 1 {
            parts.retain(|(_, name, _)| present.contains(name));
        }
        match parts.as_slice() {
            [only] => Some(*only),
            _ => None,
        }
    }

    /// The names of the fields of each enclosing map, the innermost first.
    pub(crate) fn around(&self) -> &[Vec<String>] {
        &self.around
    }

    /// Whether a value has the type of this shape, or probably means such a value.
    pub(crate) fn takes(&self, field: &str, value: &Node) -> bool {
        let is_number =
            |text: &str| text.parse::<f64>().is_ok() || whole_number(text, field).is_some();
        match (&value.value, self.kind) {
            (_, ShapeKind::Anything)
            | (Value::Map(_), ShapeKind::Map)
            | (Value::List(_), ShapeKind::List)
            | (Value::Text(_) | Value::Number(_), ShapeKind::Text | ShapeKind::IntegerOrText)
            | (Value::Number(_), ShapeKind::Integer | ShapeKind::Number)
            | (Value::Bool(_), ShapeKind::Bool) => true,
            (Value::Text(text), ShapeKind::Integer | ShapeKind::Number) => is_number(text),
            _ => false,
        }
    }

    /// The substitute for a missing required value.
    fn empty(&self) -> Json {
        match self.kind {
            _ if self.nullable => Json::Null,
            ShapeKind::Anything => Json::Null,
            ShapeKind::Map => {
                let fields = self
                    .required
                    .iter()
                    .filter_map(|name| Some((name.clone(), self.properties.get(name)?.empty())));
                Json::Object(fields.collect())
            }
            ShapeKind::List => Json::Array(Vec::new()),
            ShapeKind::Text | ShapeKind::IntegerOrText => {
                Json::String(self.choices.first().cloned().unwrap_or_default())
            }
            ShapeKind::Integer | ShapeKind::Number => Json::from(0),
            ShapeKind::Bool => Json::Bool(false),
        }
    }
}

fn is_word_in_braces(entries: &[Entry]) -> bool {
    matches!(entries, [entry] if entry.value.value == Value::Null)
}

/// The whole number that a string probably means: a quoted number, a duration in a field of seconds, or Volcano's name
/// of a level. A number that starts with 0 may have another base, so it is not used.
fn whole_number(text: &str, field: &str) -> Option<String> {
    if let Ok(number) = text.parse::<i64>() {
        let number = number.to_string();
        return (number == text).then_some(number);
    }
    if field.ends_with("Seconds") {
        let duration = go_duration::read(text)?;
        return (duration.subsec_nanos() == 0).then(|| duration.as_secs().to_string());
    }
    let levels = [("BE", "-1"), ("LS", "1"), ("LC", "2")];
    let level = levels
        .iter()
        .find(|(name, _)| field == "targetQoSLevel" && name.eq_ignore_ascii_case(text))?;
    Some(level.1.to_owned())
}

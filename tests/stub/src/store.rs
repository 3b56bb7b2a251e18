//! The objects, their versions, and the history of changes.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::kind::Kind;

/// The key of an object. Objects are grouped by kind and namespace.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Key {
    /// The index of the kind in the served kinds.
    pub(crate) kind: usize,
    pub(crate) namespace: String,
    pub(crate) name: String,
}

/// A change, as a watch delivers it.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    pub(crate) version: u64,
    pub(crate) of: &'static str,
    pub(crate) key: Key,
    pub(crate) object: Arc<Value>,
}

#[derive(Debug)]
pub(crate) struct Store {
    kinds: Vec<Kind>,
    objects: BTreeMap<Key, Arc<Value>>,
    version: u64,
    /// The changes after `compacted`.
    changes: Vec<Change>,
    compacted: u64,
    watchers: Vec<UnboundedSender<Change>>,
    pub(crate) has_bookmarks: bool,
    /// Snapshots of paged lists, by the name in their continue token.
    begun: BTreeMap<String, ListSnapshot>,
}

/// The contents of a list, fixed while its pages are fetched.
#[derive(Clone, Debug)]
pub(crate) struct ListSnapshot {
    pub(crate) version: u64,
    pub(crate) objects: Arc<[Arc<Value>]>,
}

/// The state at an instant.
#[derive(Clone, Debug)]
pub struct Backup {
    objects: BTreeMap<Key, Arc<Value>>,
    version: u64,
}

impl Default for Store {
    fn default() -> Self {
        const FIRST: u64 = 100;
        Self {
            kinds: Vec::new(),
            objects: BTreeMap::new(),
            version: FIRST,
            changes: Vec::new(),
            compacted: FIRST,
            watchers: Vec::new(),
            has_bookmarks: true,
            begun: BTreeMap::new(),
        }
    }
}

impl Store {
    pub(crate) fn serve(&mut self, kind: Kind) {
        self.kinds.push(kind);
    }

    pub(crate) fn serve_in_version(&mut self, plural: &str, api_version: &str) {
        for kind in self.kinds.iter_mut().filter(|kind| kind.plural == plural) {
            api_version.clone_into(&mut kind.api_version);
        }
    }

    pub(crate) fn kinds(&self) -> &[Kind] {
        &self.kinds
    }

    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    #[expect(
        clippy::panic,
        reason = "a test that requests a kind that is not served is wrong itself"
    )]
    pub(crate) fn key(&self, plural: &str, namespace: &str, name: &str) -> Key {
        let kind = self.kinds.iter().position(|kind| kind.plural == plural);
        let kind = kind.unwrap_or_else(|| panic!("{plural} is not served"));
        Key { kind, namespace: namespace.to_owned(), name: name.to_owned() }
    }

    pub(crate) fn object(&self, key: &Key) -> Option<&Arc<Value>> {
        self.objects.get(key)
    }

    /// Starts a list of the objects of a kind, in a namespace or (if it is empty) in all.
    pub(crate) fn begin_list(&self, kind: usize, namespace: &str) -> ListSnapshot {
        let of_kind = self.objects.iter().filter(|(key, _)| key.kind == kind);
        let wanted = of_kind.filter(|(key, _)| namespace.is_empty() || key.namespace == namespace);
        let objects = wanted.map(|(_, object)| Arc::clone(object)).collect();
        ListSnapshot { version: self.version, objects }
    }

    /// A started list, and the number of sent objects; `None` if the list has expired.
    pub(crate) fn continue_list(&self, token: &str) -> Option<(ListSnapshot, usize)> {
        let (sent_count, name) = token.split_once('-')?;
        Some((self.begun.get(name)?.clone(), sent_count.parse().ok()?))
    }

    /// The continue token of a list after this many objects.
    pub(crate) fn token(
        &mut self,
        kind: usize,
        listed: &ListSnapshot,
        sent_count: usize,
    ) -> String {
        let name = format!("{kind}-{}-{}", listed.version, listed.objects.len());
        let token = format!("{sent_count}-{name}");
        self.begun.entry(name).or_insert_with(|| listed.clone());
        token
    }

    #[expect(
        clippy::panic,
        reason = "a test that stores a kind that is not served is wrong itself"
    )]
    pub(crate) fn put(&mut self, object: Value) {
        let kind = self.kinds.iter().position(|kind| {
            object["apiVersion"] == kind.api_version && object["kind"] == kind.name
        });
        let kind = kind.unwrap_or_else(|| panic!("{object} is not served"));
        let text = |name: &str| object["metadata"][name].as_str().unwrap_or_default().to_owned();
        let key = Key { kind, namespace: text("namespace"), name: text("name") };
        self.write(key, object);
    }

    /// Writes a whole object, with a new version unless nothing has changed.
    pub(crate) fn write(&mut self, key: Key, object: Value) -> Arc<Value> {
        let before = self.objects.get(&key);
        let version = self.version + 1;
        let object = self.completed(&key, object, before.map(AsRef::as_ref), version);
        if let Some(before) = before
            && is_same(before, &object)
        {
            return Arc::clone(before);
        }
        let event_type = if before.is_some() { "MODIFIED" } else { "ADDED" };
        let object = Arc::new(object);
        self.version = version;
        self.objects.insert(key.clone(), Arc::clone(&object));
        self.send_change(Change { version, of: event_type, key, object: Arc::clone(&object) });
        object
    }

    /// An object with the fields that the API server sets.
    pub(crate) fn completed(
        &self,
        key: &Key,
        mut object: Value,
        before: Option<&Value>,
        version: u64,
    ) -> Value {
        let kind = &self.kinds[key.kind];
        object["apiVersion"] = json!(kind.api_version);
        object["kind"] = json!(kind.name);
        let spec_before = before.map(|before| before["spec"].clone());
        let generation = before.map_or(1, |it| it["metadata"]["generation"].as_u64().unwrap_or(1));
        let is_edited = spec_before.is_some_and(|spec| spec != object["spec"]);
        let metadata = &mut object["metadata"];
        metadata["name"] = json!(key.name);
        if !key.namespace.is_empty() {
            metadata["namespace"] = json!(key.namespace);
        }
        metadata["resourceVersion"] = json!(version.to_string());
        metadata["generation"] = json!(generation + u64::from(is_edited));
        for name in ["uid", "creationTimestamp"] {
            let before = before.map(|before| before["metadata"][name].clone());
            if let Some(before) = before {
                metadata[name] = before;
            } else if metadata[name].is_null() {
                metadata[name] = match name {
                    "uid" => json!(format!("00000000-0000-4000-8000-{version:012x}")),
                    _ => json!(Timestamp::now().strftime("%FT%TZ").to_string()),
                };
            }
        }
        object
    }

    pub(crate) fn delete(&mut self, key: &Key) -> Option<Arc<Value>> {
        let mut object = Value::clone(&*self.objects.remove(key)?);
        self.version += 1;
        let version = self.version;
        object["metadata"]["resourceVersion"] = json!(version.to_string());
        let object = Arc::new(object);
        let (event_type, key) = ("DELETED", key.clone());
        self.send_change(Change { version, of: event_type, key, object: Arc::clone(&object) });
        Some(object)
    }

    fn send_change(&mut self, change: Change) {
        self.watchers.retain(|watcher| watcher.send(change.clone()).is_ok());
        self.changes.push(change);
    }

    /// The changes after a version, past and future; `None` if the version has expired.
    pub(crate) fn watch(&mut self, after: u64) -> Option<(Vec<Change>, UnboundedReceiver<Change>)> {
        if after < self.compacted {
            return None;
        }
        let known = self.changes.iter().filter(|change| change.version > after).cloned();
        let (sender, receiver) = unbounded_channel();
        self.watchers.push(sender);
        Some((known.collect(), receiver))
    }

    pub(crate) fn compact(&mut self) {
        self.compacted = self.version;
        self.changes.clear();
        self.begun.clear();
    }

    pub(crate) fn end_watches(&mut self) {
        self.watchers.clear();
    }

    pub(crate) fn back_up(&self) -> Backup {
        Backup { objects: self.objects.clone(), version: self.version }
    }

    pub(crate) fn restore(&mut self, backup: &Backup) {
        let Backup { objects, version } = backup.clone();
        (self.objects, self.version) = (objects, version);
        self.compact();
        self.end_watches();
    }
}

/// Whether two objects differ in their version only.
fn is_same(one: &Value, other: &Value) -> bool {
    let without_version = |object: &Value| {
        let mut object = object.clone();
        object["metadata"]["resourceVersion"].take();
        object
    };
    without_version(one) == without_version(other)
}

/// A merge patch: null removes a field, and absent fields stay.
pub(crate) fn merge(into: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *into = patch.clone();
        return;
    };
    if !into.is_object() {
        *into = json!({});
    }
    for (name, change) in patch {
        match into.as_object_mut() {
            Some(fields) if change.is_null() => {
                fields.remove(name);
            }
            _ => merge(&mut into[name.as_str()], change),
        }
    }
}

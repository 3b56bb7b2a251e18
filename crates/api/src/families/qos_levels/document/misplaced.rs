//! Policies at a level of the document at which Volcano's agent does not read policies, such as after wrong
//! indentation. Other content of the document has neither a key of this name nor the fields of a policy.

use crate::finding::{Code, Finding, Path};
use crate::objects::agent_config::{GLOBAL, NODES, POLICIES};
use crate::reading::{Entry, Node, Value};

/// The fields that identify a misplaced policy.
const OF_POLICY: [&str; 3] = ["startTime", "endTime", "targetQoSLevel"];

/// The fix for a misplaced policy.
const FIX: &str = "move it under globalConfig, or under an entry of nodesConfig";

/// The meaning of a value of the document to the agent.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Root,
    Global,
    Nodes,
    /// An entry for some nodes.
    Entry,
    /// Nothing to this reader: the value belongs to other features.
    Other,
}

/// Reports lists of policies, and policies, at levels at which the agent does not read them.
pub(super) fn report_misplaced(root: &Node, findings: &mut Vec<Finding>) {
    look_into(root, &Path::Root, Level::Root, findings);
}

fn look_into(node: &Node, path: &Path<'_>, level: Level, findings: &mut Vec<Finding>) {
    match (&node.value, level) {
        (Value::Map(entries), Level::Root | Level::Global | Level::Entry | Level::Other) => {
            if OF_POLICY.iter().all(|field| node.get(field).is_some()) {
                let why = format!("Ignored: a policy must be an item of {POLICIES}");
                let field = path.key(OF_POLICY[0]);
                findings.push(Finding::new(Code::IgnoredField, field, why).with_fix(FIX));
            }
            for entry in &**entries {
                look_into_entry(entry, path, level, findings);
            }
        }
        (Value::List(items), Level::Nodes | Level::Entry | Level::Other) => {
            let of_item = if level == Level::Nodes { Level::Entry } else { Level::Other };
            for (position, item) in items.iter().enumerate() {
                look_into(item, &path.index(position), of_item, findings);
            }
        }
        // Another check reports a value that should be a list or a map.
        _ => {}
    }
}

fn look_into_entry(entry: &Entry, path: &Path<'_>, level: Level, findings: &mut Vec<Finding>) {
    let field = path.key(&entry.key);
    let within = match (level, &*entry.key) {
        (Level::Global | Level::Entry, key) if key.eq_ignore_ascii_case(POLICIES) => return,
        (_, POLICIES) if entry.value.value != Value::Null => {
            let why = format!("Ignored: no policies are read from a {POLICIES} here");
            findings.push(Finding::new(Code::IgnoredField, field, why).with_fix(FIX));
            return;
        }
        (Level::Root, GLOBAL) => Level::Global,
        (Level::Root, NODES) => Level::Nodes,
        // Another check reports a key of ours in another letter case.
        (Level::Root, key) if [GLOBAL, NODES].iter().any(|it| it.eq_ignore_ascii_case(key)) => {
            return;
        }
        _ => Level::Other,
    };
    look_into(&entry.value, &field, within, findings);
}

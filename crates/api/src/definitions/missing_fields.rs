//! The fields of our CRD that the CRD in a cluster lacks. That CRD may be from an older release, or from the project
//! that defined the kind. The API server drops fields that the CRD lacks, and rejects a server-side apply with such a
//! field.
//!
//! The caller reads the schema of the cluster.

use std::fmt;

use serde_json::Value;

use super::all_custom_resources;
use crate::kinds::Kind;
use crate::status::conditions::{ConditionReason, ConditionState, ConditionType};

/// The maximum number of fields that a message names; the others are counted.
const MAX_LISTED: usize = 6;

/// Other spellings of a field. A CRD without them loses nothing: the API server never accepted them.
const OTHER_SPELLINGS: [(Kind, &str); 4] = [
    (Kind::CronFederatedHPA, "spec.rules[].ruleName"),
    (Kind::MetricsProducer, "spec.scheduleSpec"),
    (Kind::Placement, "spec.prioritizerPolicy.configurations[].name"),
    (Kind::Placement, "spec.prioritizerPolicy.configurations[].scoreCoordinate.buildIn"),
];

/// Fields of a kind that a CRD lacks. For a field that is missing as a whole, its inner fields are not listed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MissingFields {
    kind: Kind,
    fields: Vec<Vec<Step>>,
}

/// A step on the way to a field.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Step {
    Field(String),
    /// Into each item of a list.
    Items,
    /// Into each value of a map.
    Values,
}

impl MissingFields {
    /// The fields of our schema of a kind that the served schema lacks; `None` if no field is missing, or if we do not
    /// define the kind.
    #[must_use]
    pub fn find(kind: Kind, served: &Value) -> Option<MissingFields> {
        let mut ours = all_custom_resources().into_iter();
        let ours = ours.find(|it| it.known_kind() == Some(kind))?.schema();
        let mut fields = Vec::new();
        for part in ["spec", "status"] {
            let mut path = vec![Step::Field(part.to_owned())];
            compare(&ours["properties"][part], &served["properties"][part], &mut path, &mut fields);
        }
        let is_other_spelling = |path: &[Step]| OTHER_SPELLINGS.contains(&(kind, &*written(path)));
        fields.retain(|path| !is_other_spelling(path));
        (!fields.is_empty()).then_some(MissingFields { kind, fields })
    }

    /// Removes the missing fields from a status, as the API server does.
    pub fn remove_from_status(&self, status: &mut Value) {
        for path in &self.fields {
            if let [Step::Field(first), rest @ ..] = &**path
                && first == "status"
            {
                remove(status, rest);
            }
        }
    }

    /// The condition that lists the missing fields.
    #[must_use]
    pub fn condition_state(&self) -> ConditionState {
        ConditionState {
            about: ConditionType::SchemaIncomplete,
            holds: true,
            reason: ConditionReason::FieldsMissing,
            message: self.to_string(),
        }
    }
}

impl fmt::Display for MissingFields {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, fields } = self;
        let listed: Vec<String> = fields.iter().take(MAX_LISTED).map(|it| written(it)).collect();
        write!(
            formatter,
            "the CRD of {} in this cluster lacks {}",
            kind.name(),
            listed.join(", ")
        )?;
        let others = fields.len().saturating_sub(MAX_LISTED);
        if others > 0 {
            write!(formatter, " and {others} more fields")?;
        }
        formatter.write_str(
            "; values written there are lost, including those that Almanac needs after a restart. ",
        )?;
        if kind.is_defined_by_hub() {
            return formatter.write_str(
                "Update the installer of this CRD: Open Cluster Management, or Almanac's deploy/hub-crds",
            );
        }
        write!(
            formatter,
            "Unless another controller needs this CRD, apply Almanac's: kubectl apply --server-side \
             --force-conflicts -f deploy/crds/{}_{}.yaml",
            kind.group(),
            kind.plural()
        )
    }
}

/// The path in the form of messages: `spec.rules[].name`.
fn written(path: &[Step]) -> String {
    let mut text = String::new();
    for step in path {
        match step {
            Step::Field(name) if text.is_empty() => text.push_str(name),
            Step::Field(name) => {
                text.push('.');
                text.push_str(name);
            }
            Step::Items => text.push_str("[]"),
            Step::Values => text.push_str("[*]"),
        }
    }
    text
}

/// Collects the fields below a path that are in our schema and not in the served schema.
fn compare(ours: &Value, served: &Value, path: &mut Vec<Step>, missing: &mut Vec<Vec<Step>>) {
    if ours.is_null() {
        return;
    }
    if served.is_null() {
        missing.push(path.clone());
        return;
    }
    if served["x-kubernetes-preserve-unknown-fields"] == true {
        return;
    }
    let mut below = |step: Step, ours: &Value, served: &Value| {
        path.push(step);
        compare(ours, served, path, missing);
        path.pop();
    };
    for (name, ours) in ours["properties"].as_object().into_iter().flatten() {
        below(Step::Field(name.clone()), ours, &served["properties"][name]);
    }
    if ours["items"].is_object() && served["items"].is_object() {
        below(Step::Items, &ours["items"], &served["items"]);
    }
    let (ours, served) = (&ours["additionalProperties"], &served["additionalProperties"]);
    if ours.is_object() && served.is_object() {
        below(Step::Values, ours, served);
    }
}

fn remove(value: &mut Value, path: &[Step]) {
    match path {
        [] => {}
        [Step::Field(name)] => {
            value.as_object_mut().map(|fields| fields.remove(name));
        }
        [Step::Field(name), rest @ ..] => {
            if let Some(inner) = value.get_mut(name) {
                remove(inner, rest);
            }
        }
        [Step::Items, rest @ ..] => {
            value.as_array_mut().into_iter().flatten().for_each(|inner| remove(inner, rest));
        }
        [Step::Values, rest @ ..] => {
            let values = value.as_object_mut().into_iter().flat_map(|it| it.values_mut());
            values.for_each(|inner| remove(inner, rest));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn ours(kind: Kind) -> Value {
        let mut all = all_custom_resources().into_iter();
        all.find(|it| it.known_kind() == Some(kind)).unwrap().schema()
    }

    #[test]
    fn nothing_is_missing_from_our_own_crds() {
        for resource in all_custom_resources() {
            let kind = resource.known_kind().unwrap();
            assert_eq!(MissingFields::find(kind, &resource.schema()), None, "{kind:?}");
        }
    }

    #[test]
    fn a_missing_field_is_named_once_and_taken_out_of_a_status() {
        let mut served = ours(Kind::HorizontalAutoscaler);
        let status = &mut served["properties"]["status"]["properties"];
        status.as_object_mut().unwrap().remove("recommendations");
        let condition = &mut status["conditions"]["items"]["properties"];
        condition.as_object_mut().unwrap().remove("observedGeneration");
        let missing = MissingFields::find(Kind::HorizontalAutoscaler, &served).unwrap();
        let message = missing.to_string();
        let named = "lacks status.conditions[].observedGeneration, status.recommendations; values";
        assert!(message.contains(named), "{message}");
        let mut status = json!({
            "recommendations": [{"replicas": 3}], "desiredReplicas": 3,
            "conditions": [{"type": "Ready", "observedGeneration": 1}, {"type": "Active"}],
        });
        missing.remove_from_status(&mut status);
        let left = json!({
            "desiredReplicas": 3, "conditions": [{"type": "Ready"}, {"type": "Active"}],
        });
        assert_eq!(status, left);
    }

    #[test]
    fn the_message_never_advises_to_replace_a_crd_of_open_cluster_management() {
        let mut served = ours(Kind::Placement);
        let status = served["properties"]["status"]["properties"].as_object_mut().unwrap();
        status.remove("decisionGroups");
        let message = MissingFields::find(Kind::Placement, &served).unwrap().to_string();
        assert!(message.contains("lacks status.decisionGroups; values"), "{message}");
        assert!(!message.contains("kubectl apply"), "{message}");
    }

    #[test]
    fn a_schema_that_preserves_unknown_fields_lacks_nothing() {
        let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        let served = json!({"properties": {"spec": open, "status": open}});
        assert_eq!(MissingFields::find(Kind::MetricsProducer, &served), None);
    }

    #[test]
    fn other_spellings_are_not_missing_but_their_inner_fields_are() {
        let mut served = ours(Kind::MetricsProducer);
        let spec = served["properties"]["spec"]["properties"].as_object_mut().unwrap();
        let other = spec.remove("scheduleSpec").unwrap();
        assert_eq!(MissingFields::find(Kind::MetricsProducer, &served), None);
        let spec = served["properties"]["spec"]["properties"].as_object_mut().unwrap();
        spec.insert("scheduleSpec".to_owned(), other);
        let behavior = &mut spec["scheduleSpec"]["properties"]["behaviors"]["items"]["properties"];
        behavior.as_object_mut().unwrap().remove("priority");
        let missing = MissingFields::find(Kind::MetricsProducer, &served).unwrap().to_string();
        assert!(missing.contains("lacks spec.scheduleSpec.behaviors[].priority;"), "{missing}");
    }
}

//! Proof that the comparison can fail: with one fault in Almanac's input, one of the first hubs shows a difference.

use almanac_second_scheduler::generate::Change;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::compare::{Tally, differences_with};
use crate::course_of;

/// A fault in Almanac's input.
pub(crate) struct Fault {
    /// Changes an object before Almanac reads the object.
    pub(crate) misread: fn(&mut Value),
    /// The offset of its current time.
    pub(crate) ahead: SignedDuration,
}

impl Fault {
    /// No fault.
    pub(crate) const NONE: Fault = Fault { misread: |_| {}, ahead: SignedDuration::ZERO };

    /// The changed object.
    pub(crate) fn object(&self, object: &Value) -> Value {
        let mut object = object.clone();
        (self.misread)(&mut object);
        object
    }

    pub(crate) fn change(&self, change: &Change) -> Change {
        match change {
            Change::Put(object) => Change::Put(self.object(object)),
            Change::Remove(key) => Change::Remove(key.clone()),
        }
    }

    pub(crate) fn now(&self, now: Timestamp) -> Timestamp {
        now + self.ahead
    }
}

/// The maximum number of hubs to try until one differs.
const HUBS: u64 = 2_000;

fn assert_caught(what: &str, fault: &Fault) {
    let is_caught =
        |seed| differences_with(&course_of(seed), fault, &mut Tally::default()).is_some();
    assert!((1..HUBS).any(is_caught), "{what} is not caught");
}

fn assert_misreading_is_caught(what: &str, misread: fn(&mut Value)) {
    assert_caught(what, &Fault { misread, ..Fault::NONE });
}

/// Changes each item of a list in an object.
fn each(object: &mut Value, list: &str, change: impl FnMut(&mut Value)) {
    object.pointer_mut(list).and_then(Value::as_array_mut).into_iter().flatten().for_each(change);
}

/// Sets an existing field.
fn set(object: &mut Value, field: &str, value: Value) {
    if let Some(there) = object.pointer_mut(field) {
        *there = value;
    }
}

#[test]
fn an_instant_that_is_off_by_one_is_caught() {
    for nanoseconds in [-1, 1] {
        let ahead = SignedDuration::from_nanos(nanoseconds);
        assert_caught("another instant", &Fault { ahead, ..Fault::NONE });
    }
}

#[test]
fn a_toleration_that_is_read_otherwise_is_caught() {
    assert_misreading_is_caught("any effect", |it| {
        each(it, "/spec/tolerations", |it| set(it, "/effect", json!("")));
    });
    assert_misreading_is_caught("any value", |it| {
        each(it, "/spec/tolerations", |it| {
            if it["key"].is_string() {
                it["operator"] = json!("Exists");
                set(it, "/value", json!(""));
            }
        });
    });
    assert_misreading_is_caught("forever", |it| {
        each(it, "/spec/taints", |it| set(it, "/timeAdded", Value::Null));
    });
    assert_misreading_is_caught("a second longer", |it| {
        each(it, "/spec/tolerations", |it| {
            let longer = it["tolerationSeconds"].as_i64().and_then(|it| it.checked_add(1));
            set(it, "/tolerationSeconds", json!(longer));
        });
    });
}

#[test]
fn taints_of_another_effect_are_caught() {
    fn read(object: &mut Value, from: &str, to: &str) {
        each(object, "/spec/taints", |it| {
            if it["effect"] == from {
                it["effect"] = json!(to);
            }
        });
    }
    assert_misreading_is_caught("stricter", |it| {
        read(it, "PreferNoSelect", "NoSelect");
    });
    assert_misreading_is_caught("for those it has, too", |it| {
        read(it, "NoSelectIfNew", "NoSelect");
    });
    assert_misreading_is_caught("for new ones only", |it| {
        read(it, "NoSelect", "NoSelectIfNew");
    });
    assert_misreading_is_caught("without effect", |it| {
        read(it, "PreferNoSelect", "None");
    });
}

#[test]
fn scores_and_weights_that_are_read_otherwise_are_caught() {
    assert_misreading_is_caught("an expired score", |it| {
        set(it, "/status/validUntil", Value::Null);
    });
    assert_misreading_is_caught("a score that is off by one", |it| {
        each(it, "/status/scores", |it| {
            let value = it["value"].as_i64().unwrap_or_default();
            it["value"] = json!(if value < 100 { value + 1 } else { value });
        });
    });
    assert_misreading_is_caught("a weight of 0 for the default", |it| {
        each(it, "/spec/prioritizerPolicy/configurations", |it| {
            if it["weight"] == 0 {
                it["weight"] = json!(1);
            }
        });
    });
    assert_misreading_is_caught("the other mode", |it| {
        set(it, "/spec/prioritizerPolicy/mode", json!("Additive"));
    });
    assert_misreading_is_caught("the legacy name", |it| {
        each(it, "/spec/prioritizerPolicy/configurations", |it| {
            if it["name"].is_string() {
                set(it, "/scoreCoordinate", Value::Null);
            }
        });
    });
    assert_misreading_is_caught("a binary suffix for a decimal one", |it| {
        set(it, "/status/allocatable/memory", json!("1500M"));
    });
}

#[test]
fn selectors_and_sets_that_are_read_otherwise_are_caught() {
    assert_misreading_is_caught("claims ignored", |it| {
        each(it, "/spec/predicates", |it| {
            set(it, "/requiredClusterSelector/claimSelector", json!({}));
        });
    });
    assert_misreading_is_caught("an absent key", |it| {
        each(it, "/spec/predicates", |it| {
            each(it, "/requiredClusterSelector/labelSelector/matchExpressions", |it| {
                if it["operator"] == "NotIn" {
                    it["operator"] = json!("In");
                }
            });
        });
    });
    assert_misreading_is_caught("only the first predicate", |it| {
        let predicates = it.pointer_mut("/spec/predicates").and_then(Value::as_array_mut);
        if let Some(predicates) = predicates {
            predicates.truncate(1);
        }
    });
    assert_misreading_is_caught("all sets that are bound", |it| {
        set(it, "/spec/clusterSets", json!([]));
    });
    assert_misreading_is_caught("a cluster that is being deleted", |it| {
        if it["kind"] == "ManagedCluster" {
            set(it, "/metadata/deletionTimestamp", Value::Null);
        }
    });
}

#[test]
fn numbers_and_groups_that_are_read_otherwise_are_caught() {
    assert_misreading_is_caught("one more", |it| {
        if let Some(clusters) = it["spec"]["numberOfClusters"].as_i64() {
            it["spec"]["numberOfClusters"] = json!(clusters + 1);
        }
    });
    assert_misreading_is_caught("none for all", |it| {
        if it["spec"]["numberOfClusters"] == 0 {
            set(it, "/spec/numberOfClusters", Value::Null);
        }
    });
    assert_misreading_is_caught("33% for 34%", |it| {
        let size = "/spec/decisionStrategy/groupStrategy/clustersPerDecisionGroup";
        if it.pointer(size).is_some_and(|it| *it == "33%") {
            set(it, size, json!("34%"));
        }
    });
    assert_misreading_is_caught("the order of the groups", |it| {
        let groups = it.pointer_mut("/spec/decisionStrategy/groupStrategy/decisionGroups");
        if let Some(groups) = groups.and_then(Value::as_array_mut) {
            groups.reverse();
        }
    });
    assert_misreading_is_caught("decisions of nobody known", |it| {
        let is_decision = it["kind"] == "PlacementDecision";
        if is_decision
            && it["metadata"]["labels"].as_object().is_some_and(serde_json::Map::is_empty)
        {
            set(it, "/status/decisions", json!([]));
        }
    });
}

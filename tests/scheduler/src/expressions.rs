//! The CEL expressions of random placements, and the meaning of each.
//!
//! This crate does not evaluate CEL: every expression in the list has a function with the same result for a cluster.
//! Expressions outside the list do not compile.

use std::cell::RefCell;
use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::Value;

use crate::objects::{Objects, instant, list, name_of, namespace_of};
use crate::quantity;

/// An expression, and its result; `None` for an error, and for a result that is not a boolean.
pub(crate) struct Expression {
    pub(crate) text: &'static str,
    pub(crate) holds: fn(&Reading<'_>) -> Option<bool>,
}

/// A cluster, as the expressions of a placement read it.
pub(crate) struct Reading<'o> {
    objects: &'o Objects,
    cluster: &'o Value,
    now: Timestamp,
    /// The names of the objects whose scores were read, and have expired.
    expired: RefCell<BTreeSet<String>>,
}

impl<'o> Reading<'o> {
    pub(crate) fn new(objects: &'o Objects, cluster: &'o Value, now: Timestamp) -> Reading<'o> {
        Reading { objects, cluster, now, expired: RefCell::default() }
    }

    /// Whether all expressions of a selector are true. Evaluation stops at the first expression that is not.
    pub(crate) fn all_hold(&self, selector: &Value) -> bool {
        let expressions = list(&selector["celSelector"]["celExpressions"]).iter();
        let mut known = expressions.filter_map(|it| find(it.as_str()?));
        known.all(|it| (it.holds)(self) == Some(true))
    }

    /// The names of the objects with expired scores that expressions have read.
    pub(crate) fn expired(self) -> BTreeSet<String> {
        self.expired.into_inner()
    }

    fn name(&self) -> &'o str {
        name_of(self.cluster)
    }

    fn label(&self, key: &str) -> Option<&'o str> {
        self.cluster["metadata"]["labels"][key].as_str()
    }

    /// The names and values of the scores in an object; empty without an object, and after its expiry.
    fn scores(&self, resource: &str) -> Option<Vec<(&'o str, i64)>> {
        let mut all = self.objects.with_kind("AddOnPlacementScore");
        let found = all.find(|it| namespace_of(it) == self.name() && name_of(it) == resource)?;
        let status = &found["status"];
        if instant(&status["validUntil"]).is_some_and(|until| self.now >= until) {
            self.expired.borrow_mut().insert(resource.to_owned());
            return Some(Vec::new());
        }
        let scores = list(&status["scores"]).iter();
        let named = |it: &'o Value| Some((it["name"].as_str()?, it["value"].as_i64().unwrap_or(0)));
        Some(scores.filter_map(named).collect())
    }
}

/// All expressions of random placements.
pub(crate) static ALL: [Expression; 13] = [
    Expression { text: "true", holds: |_| Some(true) },
    Expression {
        text: "managedCluster.metadata.labels['env'] == 'a'",
        holds: |it| it.label("env").map(|value| value == "a"),
    },
    Expression {
        text: "has(managedCluster.metadata.labels.region)",
        holds: |it| Some(it.label("region").is_some()),
    },
    Expression {
        text: "'region' in managedCluster.metadata.labels && \
               managedCluster.metadata.labels['region'] != 'b'",
        holds: |it| Some(it.label("region").is_some_and(|value| value != "b")),
    },
    Expression {
        text: "managedCluster.metadata.name.startsWith('c')",
        holds: |it| Some(it.name().starts_with('c')),
    },
    Expression {
        text: "size(managedCluster.metadata.name) < 3",
        holds: |it| Some(it.name().chars().count() < 3),
    },
    // The result is not a boolean.
    Expression { text: "managedCluster.metadata.name", holds: |_| None },
    Expression {
        text: "managedCluster.status.clusterClaims.exists(c, c.name == 'version' && c.value == 'a')",
        holds: |it| {
            let claims = it.cluster["status"]["clusterClaims"].as_array()?;
            Some(claims.iter().any(|it| it["name"] == "version" && it["value"] == "a"))
        },
    },
    Expression {
        text: "managedCluster.spec.taints.size() > 1",
        holds: |it| Some(it.cluster["spec"]["taints"].as_array()?.len() > 1),
    },
    Expression {
        text: "quantity(managedCluster.status.allocatable.cpu).isGreaterThan(quantity('1500m'))",
        holds: |it| {
            let cpu = quantity::nanos(&it.cluster["status"]["allocatable"]["cpu"])?;
            Some(cpu > 1_500_000_000)
        },
    },
    Expression {
        text: "managedCluster.scores('default').exists(s, s.name == 'cpuratio' && s.value > 0)",
        holds: |it| {
            let scores = it.scores("default")?;
            Some(scores.iter().any(|(name, value)| *name == "cpuratio" && *value > 0))
        },
    },
    Expression {
        text: "managedCluster.scores('latency').all(s, s.value <= 50)",
        holds: |it| Some(it.scores("latency")?.iter().all(|(_, value)| *value <= 50)),
    },
    Expression {
        text: "managedCluster.scores('latency') == []",
        holds: |it| Some(it.scores("latency")?.is_empty()),
    },
];

fn find(text: &str) -> Option<&'static Expression> {
    ALL.iter().find(|it| it.text == text)
}

/// Whether all expressions of a selector compile.
pub(crate) fn are_usable(selector: &Value) -> bool {
    let expressions = list(&selector["celSelector"]["celExpressions"]).iter();
    expressions.map(|it| it.as_str().and_then(find)).all(|it| it.is_some())
}

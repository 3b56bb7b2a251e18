//! An agent of a cluster that reports too often, or too much.

use std::time::Duration;

use almanac_fixtures::hub;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::hub::{DECISIONS, Hub, by_ratio};

/// A placement that selects by an expression.
fn by(expression: &str) -> Value {
    let selector = json!({ "celSelector": { "celExpressions": [expression] } });
    hub::placement("web", &json!({ "predicates": [{ "requiredClusterSelector": selector }] }))
}

impl Hub {
    fn turns(&self) -> u32 {
        let turns = self.metric("almanac_placement_turns_total").expect("the metric is exported");
        turns.parse().expect("the value is a number")
    }

    fn report(&self, cluster: &str, status: &Value) {
        self.stub.change("managedclusters", "", cluster, &json!({ "status": status }));
    }

    /// Lets an agent report a change twice a second, as often as given.
    async fn toggle(&mut self, reports: i64, report: impl Fn(&mut Hub, i64)) {
        for number in 0..reports {
            report(self, number);
            sleep(Duration::from_millis(500)).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_reports_repeatedly_does_not_keep_placements_busy() {
    let mut hub =
        Hub::placing(&["c1", "c2"], by("managedCluster.status.version.kubernetes == 'v1'")).await;
    let version = |number: i64| json!({ "version": { "kubernetes": format!("v{}", number % 2) } });
    let before = hub.turns();
    // The first report changes nothing for the expression.
    hub.toggle(100, |hub, number| hub.report("c1", &version(number))).await;
    assert!((17..=21).contains(&(hub.turns() - before)), "{before} and then {}", hub.turns());
    hub.report("c1", &version(1));
    hub.report("c2", &version(1));
    hub.settle().await;
    assert!(hub.selected("web").contains(&"c2".to_owned()), "other clusters do not wait");
    sleep(Duration::from_secs(15)).await;
    assert_eq!(hub.selected("web"), ["c1", "c2"], "the last report takes effect in the end");
}

#[tokio::test(start_paused = true)]
async fn a_taint_applies_immediately_despite_frequent_reports_of_the_agent() {
    let mut hub = Hub::placing(&["c1", "c2"], by_ratio(1)).await;
    let before = hub.turns();
    hub.toggle(30, |hub, number| hub.score("c1", 50 + number, None)).await;
    hub.toggle(30, |hub, number| {
        let amounts = json!({ "cpu": number.to_string() });
        hub.report("c1", &json!({ "allocatable": amounts, "capacity": amounts }));
    })
    .await;
    assert!(hub.turns() - before <= 22, "{before} and then {}", hub.turns());
    assert_eq!(hub.selected("web"), ["c1"]);
    let tainted = json!({ "spec": { "taints": [{ "key": "down", "effect": "NoSelect" }] } });
    hub.stub.change("managedclusters", "", "c1", &tainted);
    hub.settle().await;
    assert_eq!(hub.selected("web"), ["c2"]);
}

#[tokio::test(start_paused = true)]
async fn decisions_are_restored_while_matching_clusters_are_unknown() {
    let conditions = "managedCluster.status.conditions";
    let all = format!(
        "{conditions}.all(a, {conditions}.all(b, {conditions}.all(c, a.type + b.type + c.type != '')))"
    );
    let mut hub = Hub::with(&["c1", "c2"]);
    let with_conditions = |count: usize| {
        let all: Vec<Value> = (0..count).map(|it| json!({ "type": it.to_string() })).collect();
        json!({ "conditions": all })
    };
    hub.report("c1", &with_conditions(1));
    hub.report("c2", &with_conditions(1));
    hub.put("default", by(&all));
    hub.run(&[]).await;
    assert_eq!(hub.selected("web"), ["c1", "c2"]);
    hub.report("c1", &with_conditions(80));
    hub.report("c2", &with_conditions(80));
    hub.settle().await;
    assert_eq!(hub.reason("web", "PlacementSatisfied"), "False ExpressionsTooCostly");
    let emptied = json!({ "status": { "decisions": [] } });
    hub.stub.change(DECISIONS, "default", "web-decision-1", &emptied);
    hub.settle().await;
    assert_eq!(hub.selected("web"), ["c1", "c2"]);
    hub.report("c1", &with_conditions(2));
    hub.report("c2", &with_conditions(2));
    hub.settle().await;
    assert_eq!(hub.reason("web", "PlacementSatisfied"), "True AllDecisionsScheduled");
}

//! A process that is limited to some namespaces sends no requests about others. A namespace that it is forbidden to
//! read, or allowed to read again, does not affect the rest.

use std::sync::Arc;

use almanac_controllers::scalable_node_group::NodeProviders;

use super::*;

/// All namespaces that have a policy and its target.
const THERE: [&str; 4] = ["default", "east", "north", "west"];

struct LimitedProcess {
    running: RunningProcess,
    health: Health,
}

impl LimitedProcess {
    /// A process for these namespaces, after a preparation of the API server.
    fn start(names: &[&str], prepare: impl FnOnce(&Stub)) -> Self {
        let stub = Stub::new();
        stub.serve(Kind::new("v1", "Namespace", "namespaces").cluster_scoped());
        stub.serve(Kind::new(objects::KARMADA, "CronFederatedHPA", "cronfederatedhpas"));
        let karpenter = "autoscaling.karpenter.sh/v1alpha1";
        stub.serve(Kind::new(karpenter, "ScalableNodeGroup", "scalablenodegroups"));
        for name in THERE {
            let namespace =
                json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } });
            stub.put(namespace);
            put_in(&stub, name);
        }
        prepare(&stub);
        let namespaces = Namespaces::Only(names.iter().map(|name| Arc::from(*name)).collect());
        let limit =
            |options| Options { namespaces, node_groups: Some(NodeProviders::new()), ..options };
        let health = Health::default();
        let running = RunningProcess::start_with(stub, limit, health.clone());
        Self { running, health }
    }

    /// The namespaces whose targets have been scaled.
    fn scaled(&self) -> Vec<&'static str> {
        let is_scaled = |namespace: &&str| {
            let target = self.running.stub.object("deployments", namespace, "shop");
            target.is_some_and(|target| target["spec"]["replicas"] == 3)
        };
        THERE.into_iter().filter(is_scaled).collect()
    }
}

pub(super) fn forbid(stub: &Stub, namespace: &str) {
    let (inside, itself) =
        (format!("/namespaces/{namespace}/"), format!("/namespaces/{namespace}"));
    let forbidden = Fault::respond(StatusCode::FORBIDDEN, "access is forbidden");
    let concerned = move |request: &ReceivedRequest| {
        request.path.contains(&inside) || request.path.ends_with(&itself)
    };
    stub.inject(forbidden.matching(concerned).always());
}

fn annotate(stub: &Stub, namespace: &str, value: &Value) {
    let annotations = json!({ "metadata": { "annotations": { MARK: value } } });
    stub.change("namespaces", "", namespace, &annotations);
}

#[tokio::test(start_paused = true)]
async fn a_limited_process_requests_only_its_namespaces() {
    let limited = LimitedProcess::start(&["east", "west"], |_| {});
    seconds(90).await;
    assert_eq!(limited.scaled(), ["east", "west"]);
    // The lease is in the namespace of the process, and the discovery of kinds is in no namespace.
    let own =
        ["/namespaces/default/leases", "/namespaces/east", "/namespaces/west", "/apis/apps/v1"];
    let is_own = |request: &ReceivedRequest| {
        let mut own = own.iter();
        let is_of_kinds = request.path == "/apis" || request.path.starts_with("/openapi/v3/apis/");
        request.path == "/version" || is_of_kinds || own.any(|part| request.path.contains(part))
    };
    let others = limited.running.stub.requests_where(|request| !is_own(request));
    assert!(others.is_empty(), "{:?}", others.iter().map(|it| &it.path).collect::<Vec<_>>());
    limited.running.end().await;
}

#[tokio::test(start_paused = true)]
async fn relisting_one_namespace_leaves_the_others_unchanged() {
    let limited = LimitedProcess::start(&["east", "west"], |_| {});
    seconds(20).await;
    let stub = limited.running.stub.clone();
    let gone = Fault::respond(StatusCode::GONE, "too old resource version");
    let in_east = |request: &ReceivedRequest| request.is_watch() && request.path.contains("/east/");
    stub.inject(gone.matching(in_east).times(4));
    stub.end_watches();
    stub.delete("cronfederatedhpas", "east", "shop");
    seconds(60).await;
    let lists = |namespace: &str| {
        let path = format!("/namespaces/{namespace}/cronfederatedhpas");
        stub.requests_where(|request| request.path.ends_with(&path) && !request.is_watch()).len()
    };
    assert!(lists("east") > lists("west"), "{} lists", lists("east"));
    assert_eq!(limited.scaled(), ["west"], "the policy in east was deleted");
    limited.running.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_forbidden_namespace_delays_no_other_and_is_reconciled_once_permitted() {
    let limited = LimitedProcess::start(&["east", "north"], |stub| forbid(stub, "north"));
    seconds(5).await;
    let waiting = limited.health.waiting_for().unwrap_or_default();
    assert!(waiting.starts_with("all CronFederatedHPA objects in north to be listed"), "{waiting}");
    seconds(15).await;
    assert_eq!(limited.health.waiting_for(), None, "the process continues without the namespace");
    // Its health does not become stale either.
    seconds(300).await;
    assert_eq!((limited.scaled(), limited.health.waiting_for()), (vec!["east"], None));
    limited.running.stub.clear_faults();
    let rule = json!([objects::rule("six past", "6 9 * * *", 3)]);
    let edit = json!({ "spec": { "rules": rule }, "metadata": { "generation": 2 } });
    limited.running.stub.change("cronfederatedhpas", "north", "shop", &edit);
    seconds(90).await;
    assert_eq!(limited.scaled(), ["east", "north"]);
    limited.running.end().await;
}

#[tokio::test(start_paused = true)]
async fn without_a_readable_namespace_the_process_reports_why_it_is_not_ready() {
    let limited = LimitedProcess::start(&["east", "north"], |stub| {
        for namespace in ["east", "north"] {
            forbid(stub, namespace);
        }
    });
    seconds(60).await;
    let waiting = limited.health.waiting_for().unwrap_or_default();
    assert!(waiting.ends_with("to be listed: access is forbidden"), "{waiting}");
    limited.running.stub.clear_faults();
    seconds(40).await;
    assert_eq!(limited.health.waiting_for(), None);
    limited.running.end().await;
}

#[tokio::test(start_paused = true)]
async fn the_annotation_of_a_namespace_that_cannot_be_watched_exempts_its_objects() {
    let limited =
        LimitedProcess::start(&["east", "west"], |stub| annotate(stub, "east", &json!("by hand")));
    let stub = limited.running.stub.clone();
    seconds(15).await;
    annotate(&stub, "west", &json!("for now"));
    seconds(11).await;
    // The last known annotation applies while reading the namespace is forbidden.
    let forbidden = Fault::respond(StatusCode::FORBIDDEN, "access is forbidden");
    stub.inject(forbidden.matching(|request| request.path.ends_with("/namespaces/east")).always());
    seconds(30).await;
    assert_eq!(limited.scaled(), Vec::<&str>::new());
    stub.clear_faults();
    for namespace in ["east", "west"] {
        annotate(&stub, namespace, &Value::Null);
    }
    // A firing during the exemption is skipped.
    seconds(11).await;
    let policy = stub.object("cronfederatedhpas", "west", "shop").expect("the object exists");
    assert_eq!(policy["status"]["conditions"][0]["reason"], "Armed", "{:#}", policy["status"]);
    assert_eq!(limited.scaled(), Vec::<&str>::new());
    limited.running.end().await;
}

#[tokio::test(start_paused = true)]
async fn nothing_is_reconciled_in_a_namespace_whose_mark_was_never_read() {
    let limited = LimitedProcess::start(&["east", "west"], |stub| {
        let forbidden = Fault::respond(StatusCode::FORBIDDEN, "access is forbidden");
        stub.inject(
            forbidden.matching(|request| request.path.ends_with("/namespaces/east")).always(),
        );
    });
    seconds(60).await;
    assert_eq!((limited.scaled(), limited.health.waiting_for()), (vec!["west"], None));
    limited.running.stub.clear_faults();
    seconds(11).await;
    let stub = &limited.running.stub;
    let rule = json!([objects::rule("six past", "6 9 * * *", 3)]);
    let edit = json!({ "spec": { "rules": rule }, "metadata": { "generation": 2 } });
    stub.change("cronfederatedhpas", "east", "shop", &edit);
    seconds(400).await;
    assert_eq!(limited.scaled(), ["east", "west"]);
    limited.running.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_missing_namespace_is_not_an_error() {
    let limited = LimitedProcess::start(&["east", "south"], |_| {});
    seconds(15).await;
    assert_eq!(limited.health.waiting_for(), None);
    put_in(&limited.running.stub, "south");
    seconds(30).await;
    let target =
        limited.running.stub.object("deployments", "south", "shop").expect("the object exists");
    assert_eq!((limited.scaled(), &target["spec"]["replicas"]), (vec!["east"], &json!(3)));
    limited.running.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_missing_namespace_delays_no_other() {
    let limited = LimitedProcess::start(&["east", "west"], |_| {});
    seconds(20).await;
    let stub = &limited.running.stub;
    // The roles of the namespace are deleted, too.
    stub.delete("cronfederatedhpas", "east", "shop");
    forbid(stub, "east");
    stub.end_watches();
    seconds(600).await;
    assert_eq!((limited.scaled(), limited.health.waiting_for()), (vec!["west"], None));
    stub.clear_faults();
    seconds(40).await;
    let rule = json!([objects::rule("twenty past", "20 9 * * *", 3)]);
    put_in(stub, "east");
    let edit = json!({ "spec": { "rules": rule }, "metadata": { "generation": 2 } });
    stub.change("cronfederatedhpas", "east", "shop", &edit);
    seconds(700).await;
    assert_eq!(limited.scaled(), ["east", "west"]);
    for namespace in ["east", "west"] {
        forbid(stub, namespace);
    }
    stub.end_watches();
    seconds(300).await;
    assert!(limited.health.waiting_for().is_some(), "no namespace can be read");
    limited.running.end().await;
}

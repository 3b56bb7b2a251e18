//! The demand of the workloads of files, and the allowances of quotas, limit ranges and nodes in them.

use almanac_api::checking::{CheckContext, Layout, check_everything, pod_demands};
use almanac_api::reading::{Reading, Source, read_objects};
use almanac_engine::{Allowance, Bounding, Demand};

use crate::written::now;

/// The demand of the workloads in a text with a single place.
fn demand(text: &str) -> Demand {
    let mut reading = Reading::new(true);
    read_objects(&mut reading, Source::new("test.yaml", text));
    let everything =
        check_everything(&reading, CheckContext::new("default", now()), &Layout::default());
    let mut demands = pod_demands(&reading, &everything.objects, &everything.places, "default");
    assert!(demands.len() <= 1);
    demands.pop().unwrap_or_default()
}

/// A Deployment with two replicas, and with this spec of its pods.
fn deployment(name: &str, spec: &str) -> String {
    format!(
        "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: {name}}}\nspec:\n  replicas: 2\n  \
         template: {{metadata: {{labels: {{app: web}}}}, spec: {spec}}}\n"
    )
}

fn object(kind: &str, name: &str, rest: &str) -> String {
    format!("---\napiVersion: v1\nkind: {kind}\nmetadata: {{name: {name}}}\n{rest}\n")
}

fn quota(spec: &str) -> String {
    object("ResourceQuota", "compute", &format!("spec: {spec}"))
}

const CPU: &str = "{containers: [{name: a, resources: {requests: {cpu: 500m}}}]}";

/// The names of the workloads that an allowance is for.
fn names(demand: &Demand, allowance: &Allowance) -> Vec<String> {
    let consumers = allowance.consumers.iter().map(|it| &demand.consumers[*it]);
    consumers.map(|it| it.workload.name().to_owned()).collect()
}

/// The workloads that the only quota counts.
fn counted(text: &str) -> Vec<String> {
    let demand = demand(text);
    assert_eq!(demand.groups.len(), 1, "{demand:?}");
    names(&demand, &demand.groups[0][0])
}

/// The bounds of an allowance, by the keys of a quota or the names of the resources.
fn bounds(allowance: &Allowance) -> Vec<String> {
    let bound = |it: &almanac_engine::Bound| {
        format!("{:?} {}", it.resource, it.resource.quantity(it.most.into()))
    };
    allowance.bounds.iter().map(bound).collect()
}

#[test]
fn a_quota_bounds_the_workloads_of_its_namespace() {
    let elsewhere = deployment("other", CPU).replace("name: other", "name: other, namespace: b");
    let hard = "{hard: {cpu: 4, requests.memory: 8Gi, limits.cpu: '6', pods: 10, services: 3}}";
    let text = quota(hard) + &deployment("web", CPU) + &elsewhere;
    let demand = demand(&text);
    let allowance = &demand.groups[0][0];
    assert_eq!(names(&demand, allowance), ["web"]);
    let expected = ["RequestsCpu 4", "RequestsMemory 8Gi", "LimitsCpu 6", "Pods 10"];
    assert_eq!(bounds(allowance), expected);
    assert_eq!(&*allowance.bounds[0].location, "test.yaml:5");
    let of_web = &demand.consumers[allowance.consumers[0]];
    assert_eq!((of_web.replicas, of_web.of_pod), (Some(2), [500, 0, 0, 0, 1]));
}

#[test]
fn a_limit_range_adds_what_containers_leave_out() {
    let range = "spec: {limits: [{type: Container, default: {cpu: 1, memory: 1Gi}, defaultRequest: {cpu: 100m}}]}";
    let text = quota("{hard: {pods: 1}}")
        + &object("LimitRange", "defaults", range)
        + &deployment(
            "web",
            "{containers: [{name: a}, {name: b, resources: {requests: {cpu: 2}}}]}",
        );
    assert_eq!(demand(&text).consumers[0].of_pod, [2100, 2 << 30, 2000, 2 << 30, 1]);
}

#[test]
fn a_quota_with_scopes_counts_the_pods_that_are_surely_in_them() {
    let classed =
        "{priorityClassName: high, containers: [{name: a, resources: {requests: {cpu: 1}}}]}";
    let pods = deployment("plain", "{containers: [{name: a}]}") + &deployment("classed", classed);
    let of = |scopes: &str| counted(&(quota(&format!("{{hard: {{pods: 1}}, {scopes}}}")) + &pods));
    let class = |rest: &str| {
        format!("scopeSelector: {{matchExpressions: [{{scopeName: PriorityClass, {rest}}}]}}")
    };
    assert_eq!(of("scopes: [NotTerminating]"), ["classed", "plain"]);
    assert_eq!(of("scopes: [BestEffort]"), ["plain"]);
    assert_eq!(of("scopes: [NotBestEffort, NotTerminating]"), ["classed"]);
    assert_eq!(of(&class("operator: In, values: [high]")), ["classed"]);
    // The default priority class of a pod is unknown.
    assert_eq!(of(&class("operator: NotIn, values: [low]")), ["classed"]);
    assert_eq!(of(&class("operator: DoesNotExist")), [""; 0]);
    for scope in ["Terminating", "CrossNamespacePodAffinity", "Unheard"] {
        assert_eq!(of(&format!("scopes: [{scope}]")), [""; 0], "{scope}");
    }
}

#[test]
fn workloads_whose_replicas_in_this_cluster_are_unknown_do_not_count() {
    let target =
        |kind: &str, name: &str| format!("{{apiVersion: apps/v1, kind: {kind}, name: {name}}}");
    let keda = format!(
        "---\napiVersion: keda.sh/v1alpha1\nkind: ScaledObject\nmetadata: {{name: a}}\nspec: {{scaleTargetRef: {}}}\n",
        target("Deployment", "keda")
    );
    let federated = format!(
        "---\napiVersion: autoscaling.karmada.io/v1alpha1\nkind: FederatedHPA\nmetadata: {{name: a}}\n\
         spec: {{minReplicas: 1, maxReplicas: 9, scaleTargetRef: {}}}\n",
        target("Deployment", "federated")
    );
    let owned = "---\napiVersion: v1\nkind: Pod\nmetadata: {name: owned, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: a, uid: u}]}\nspec: {containers: [{name: a}]}\n";
    let text = quota("{hard: {pods: 1}}")
        + &keda
        + &federated
        + owned
        + &object("Pod", "alone", &format!("spec: {CPU}"))
        + &object("Pod", "ended", &format!("spec: {CPU}\nstatus: {{phase: Succeeded}}"))
        + &["keda", "federated", "web", "twice", "twice"].map(|it| deployment(it, CPU)).concat();
    assert_eq!(counted(&text), ["alone", "web"]);
}

#[test]
fn an_autoscaler_is_known_with_its_bounds() {
    let autoscaler = "---\napiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: web}\nspec:\n  minReplicas: 3\n  maxReplicas: 9\n  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}\n";
    // Kubernetes looks the workload up by group and kind.
    for version in ["apps/v1", "apps/v1beta2"] {
        let autoscaler = autoscaler.replace("apps/v1", version);
        let text = quota("{hard: {pods: 1}}") + &autoscaler + &deployment("web", CPU);
        let known = demand(&text).consumers[0].autoscaler.clone();
        let (autoscaler, bounds) = known.expect("its scaleTargetRef names the workload");
        assert_eq!((autoscaler.name(), bounds.min_replicas), ("web", Some(3)));
    }
}

fn node(name: &str, pool: &str, rest: &str) -> String {
    format!(
        "---\napiVersion: v1\nkind: Node\nmetadata: {{name: {name}, labels: {{pool: {pool}}}}}\n{rest}\n"
    )
}

const LARGE: &str = "status: {allocatable: {cpu: '8', memory: 32Gi, pods: '110'}}";
const SMALL: &str = "status: {allocatable: {cpu: 250m, memory: 1Gi, pods: '10'}}";

#[test]
fn nodes_bound_all_pods_together_those_of_a_selector_and_each_pod() {
    let selecting = CPU.replace("{containers", "{nodeSelector: {pool: small}, containers");
    let text = node("a", "large", LARGE)
        + &node("b", "small", SMALL)
        + &node("c", "large", &format!("spec: {{unschedulable: true}}\n{LARGE}"))
        + &deployment("any", CPU)
        + &deployment("small", &selecting)
        + &deployment("nowhere", &selecting.replace("small", "other"));
    let demand = demand(&text);
    let described: Vec<(Vec<String>, Vec<String>)> =
        demand.groups[0].iter().map(|it| (names(&demand, it), bounds(it))).collect();
    let of = |names: &[&str], bounds: &[&str]| {
        let owned = |all: &[&str]| all.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
        (owned(names), owned(bounds))
    };
    let expected = [
        of(&["any", "nowhere", "small"], &["RequestsCpu 8250m", "RequestsMemory 33Gi", "Pods 120"]),
        of(&["small"], &["Pods 0"]),
        of(&["small"], &["RequestsCpu 250m", "RequestsMemory 1Gi", "Pods 10"]),
    ];
    assert_eq!(described, expected);
    assert!(matches!(demand.groups[0][1].by, Bounding::EachNode { count: 1, .. }));
}

#[test]
fn nodes_bound_nothing_if_one_is_unknown_or_they_are_scaled() {
    let group = "---\napiVersion: autoscaling.karpenter.sh/v1alpha1\nkind: ScalableNodeGroup\nmetadata: {name: a}\nspec: {type: AWSEKSNodeGroup, id: a}\n";
    let all = node("a", "large", LARGE) + &deployment("any", CPU);
    for (more, groups) in [(String::new(), 1), (node("b", "large", ""), 0), (group.to_owned(), 0)] {
        assert_eq!(demand(&(all.clone() + &more)).groups.len(), groups, "{more}");
    }
}

#[test]
fn quotas_are_only_read_where_all_pods_matter() {
    let text = quota("{hard: {pods: 1}}");
    let mut reading = Reading::default();
    read_objects(&mut reading, Source::new("test.yaml", text.as_str()));
    assert_eq!((reading.quotas.len(), reading.others.len()), (0, 1));
    let mut reading = Reading::new(true);
    read_objects(&mut reading, Source::new("test.yaml", text));
    assert_eq!((reading.quotas.len(), reading.others.len()), (1, 0));
}

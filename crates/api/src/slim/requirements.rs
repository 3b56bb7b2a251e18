//! The requests and limits of the containers of a pod, and the totals of the pod. A scheduler counts them as written; a
//! quota counts them once a `LimitRange` has added the missing ones.

use almanac_engine::units::Resources;
use serde_json::Value;

use super::quantity;

/// The number of billionths in one, and in a thousandth.
pub(crate) const WHOLE: i128 = 1_000_000_000;
pub(crate) const THOUSANDTH: i128 = 1_000_000;

/// The requests and limits of a container.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Requirements {
    /// The reserved amounts.
    pub requests: Resources,
    /// The maximum amounts.
    pub limits: Resources,
}

/// The requirements of the containers of a pod, and of the pod as a whole.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PodRequirements {
    /// The containers, in the order in which they start.
    containers: Vec<Containers>,
    of_pod: Requirements,
    /// The overhead of running a pod.
    overhead: Resources,
}

/// Equal containers that follow each other: a hostile pod may have a million.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Containers {
    stage: Stage,
    /// The requirements of one of the containers.
    of_one: Requirements,
    count: u64,
}

/// The stage in which a container runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    /// Before the running containers, at the same time as the sidecars that have started.
    Initial,
    /// From its position among the initial containers until the pod ends.
    Sidecar,
    /// At the same time as all containers except the initial ones.
    Running,
}

const AMOUNTS: [fn(&Resources) -> Option<u64>; 2] = [|it| it.milli_cpu, |it| it.memory];

impl Requirements {
    /// The `resources` of a container. A limit without a request is also the request.
    fn read(written: &Value) -> Requirements {
        let limits = resources(&written["limits"]);
        let requests = each(resources(&written["requests"]), limits, Option::or);
        Requirements { requests, limits }
    }

    /// The smaller amount of the two for each resource, or the only amount.
    #[must_use]
    pub fn least(self, other: Requirements) -> Requirements {
        let least = |one: Option<u64>, other: Option<u64>| one.into_iter().chain(other).min();
        Requirements {
            requests: each(self.requests, other.requests, least),
            limits: each(self.limits, other.limits, least),
        }
    }
}

impl PodRequirements {
    /// The requirements of the spec of a pod.
    #[must_use]
    pub fn read(spec: &Value) -> PodRequirements {
        let all = |field: &str| spec[field].as_array().into_iter().flatten();
        let initial = all("initContainers").map(|it| {
            let keeps_running = it["restartPolicy"] == "Always";
            (if keeps_running { Stage::Sidecar } else { Stage::Initial }, it)
        });
        let mut containers: Vec<Containers> = Vec::new();
        for (stage, container) in initial.chain(all("containers").map(|it| (Stage::Running, it))) {
            let of_one = Requirements::read(&container["resources"]);
            match containers.last_mut() {
                Some(last) if (last.stage, last.of_one) == (stage, of_one) => last.count += 1,
                _ => containers.push(Containers { stage, of_one, count: 1 }),
            }
        }
        let of_pod = Requirements::read(&spec["resources"]);
        PodRequirements { containers, of_pod, overhead: resources(&spec["overhead"]) }
    }

    /// Adds the defaults of a `LimitRange` to containers without a request or limit.
    #[must_use]
    pub fn with_defaults(mut self, defaults: &Requirements) -> PodRequirements {
        for Containers { of_one, .. } in &mut self.containers {
            of_one.requests = each(of_one.requests, defaults.requests, Option::or);
            of_one.limits = each(of_one.limits, defaults.limits, Option::or);
        }
        self
    }

    /// The amounts reserved for the pod.
    #[must_use]
    pub fn requests(&self) -> Resources {
        let [milli_cpu, memory] = AMOUNTS.map(|amount| {
            let total = self.total(|it| amount(&it.requests));
            let overhead = amount(&self.overhead);
            total.map(|it| it.saturating_add(overhead.unwrap_or(0))).or(overhead)
        });
        Resources { milli_cpu, memory, pods: None }
    }

    /// The maximum amounts of the pod. Overhead alone is not a limit.
    #[must_use]
    pub fn limits(&self) -> Resources {
        let [milli_cpu, memory] = AMOUNTS.map(|amount| {
            let total = self.total(|it| amount(&it.limits))?;
            Some(total.saturating_add(amount(&self.overhead).unwrap_or(0)))
        });
        Resources { milli_cpu, memory, pods: None }
    }

    /// Whether no container has a request or a limit, which is the QoS class `BestEffort`.
    #[must_use]
    pub fn is_best_effort(&self) -> bool {
        let of_containers = self.containers.iter().map(|it| &it.of_one);
        let all = of_containers.chain([&self.of_pod]).flat_map(|it| [it.requests, it.limits]);
        let mut amounts = all.flat_map(|it| AMOUNTS.map(|amount| amount(&it)));
        amounts.all(|it| it.unwrap_or(0) == 0)
    }

    /// The total of the running containers and the sidecars, or of an earlier stage if that is larger. A value of the
    /// pod as a whole overrides the containers.
    fn total(&self, amount: impl Fn(&Requirements) -> Option<u64>) -> Option<u64> {
        let (mut sidecars, mut running, mut most) = (0_u64, None::<u64>, None);
        for Containers { stage, of_one, count } in &self.containers {
            let Some(of_one) = amount(of_one) else { continue };
            let all = of_one.saturating_mul(*count);
            match stage {
                Stage::Initial => most = most.max(Some(sidecars.saturating_add(of_one))),
                Stage::Sidecar => sidecars = sidecars.saturating_add(all),
                Stage::Running => {}
            }
            if *stage != Stage::Initial {
                running = Some(running.unwrap_or(0).saturating_add(all));
            }
        }
        amount(&self.of_pod).or(running.max(most))
    }
}

/// The defaults for containers in the spec of a `LimitRange`. Kubernetes takes a missing default from `max`, and a
/// missing default request from the default limit, or else from `min`.
pub(crate) fn container_defaults(spec: &Value) -> Requirements {
    let items = spec["limits"].as_array().into_iter().flatten();
    let of_containers = items.filter(|it| it["type"] == "Container");
    let defaults = of_containers.map(|item| {
        let amounts = |field: &str| resources(&item[field]);
        let limits = each(amounts("default"), amounts("max"), Option::or);
        let requests = each(amounts("defaultRequest"), limits, Option::or);
        Requirements { requests: each(requests, amounts("min"), Option::or), limits }
    });
    defaults.reduce(Requirements::least).unwrap_or_default()
}

/// The CPU, the memory and the pods in a list of quantities.
pub(crate) fn resources(list: &Value) -> Resources {
    Resources {
        milli_cpu: amount(&list["cpu"], THOUSANDTH),
        memory: amount(&list["memory"], WHOLE),
        pods: amount(&list["pods"], WHOLE).and_then(|it| u32::try_from(it).ok()),
    }
}

/// A quantity in units of `unit` billionths, rounded up as Kubernetes does.
pub(crate) fn amount(written: &Value, unit: i128) -> Option<u64> {
    let billionths = quantity::from_json(written)?.billionths();
    u64::try_from(billionths.checked_add(unit - 1)? / unit).ok()
}

fn each(
    one: Resources,
    other: Resources,
    both: fn(Option<u64>, Option<u64>) -> Option<u64>,
) -> Resources {
    Resources {
        milli_cpu: both(one.milli_cpu, other.milli_cpu),
        memory: both(one.memory, other.memory),
        pods: None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn cpu(of: Resources) -> Option<u64> {
        of.milli_cpu
    }

    #[test]
    fn limits_add_up_like_requests_and_overhead_alone_is_not_a_limit() {
        let limited = |cpu: &str| json!({ "resources": { "limits": { "cpu": cpu } } });
        let spec = json!({
            "containers": [limited("1"), limited("2"), {}],
            "initContainers": [
                { "resources": { "limits": { "cpu": "1" } }, "restartPolicy": "Always" },
                limited("4")
            ],
            "overhead": { "cpu": "250m", "memory": "64Mi" }
        });
        let pod = PodRequirements::read(&spec);
        assert_eq!(cpu(pod.limits()), Some(5250));
        assert_eq!((pod.limits().memory, pod.requests().memory), (None, Some(64 << 20)));
    }

    #[test]
    fn a_limit_range_fills_in_what_a_container_leaves_out() {
        let range = json!({ "limits": [
            { "type": "Pod", "max": { "cpu": "9" } },
            { "type": "Container", "default": { "cpu": "2" }, "defaultRequest": { "cpu": "500m" } }
        ] });
        let defaults = container_defaults(&range);
        let pod = |container: &Value| {
            let spec = json!({ "containers": [container], "initContainers": [{}] });
            let pod = PodRequirements::read(&spec).with_defaults(&defaults);
            (cpu(pod.requests()), cpu(pod.limits()))
        };
        assert_eq!(pod(&json!({})), (Some(500), Some(2000)));
        let requests = json!({ "resources": { "requests": { "cpu": "3" } } });
        assert_eq!(pod(&requests), (Some(3000), Some(2000)));
        // A container's own limit is its request before a LimitRange applies.
        let limits = json!({ "resources": { "limits": { "cpu": "1" } } });
        assert_eq!(pod(&limits), (Some(1000), Some(2000)));
    }

    #[test]
    fn a_limit_range_takes_missing_defaults_from_its_bounds() {
        let defaults = |item: Value| container_defaults(&json!({ "limits": [item] }));
        let only_max = defaults(json!({ "type": "Container", "max": { "cpu": "4" } }));
        assert_eq!((cpu(only_max.requests), cpu(only_max.limits)), (Some(4000), Some(4000)));
        let only_min = defaults(json!({ "type": "Container", "min": { "cpu": "1" } }));
        assert_eq!((cpu(only_min.requests), cpu(only_min.limits)), (Some(1000), None));
        // The order in which two `LimitRange`s set defaults is unknown.
        let least = only_max.least(only_min);
        assert_eq!((cpu(least.requests), cpu(least.limits)), (Some(1000), Some(4000)));
    }

    #[test]
    fn a_pod_without_requests_and_limits_is_best_effort() {
        let is_best_effort = |container: Value| {
            PodRequirements::read(&json!({ "containers": [container] })).is_best_effort()
        };
        assert!(
            is_best_effort(json!({}))
                && is_best_effort(json!({ "resources": { "requests": { "cpu": "0" } } }))
        );
        assert!(!is_best_effort(json!({ "resources": { "limits": { "memory": "1Gi" } } })));
    }
}

//! The requests of kube-scheduler, and the parts of the responses that it reads: version 1 of its extender API.
//!
//! The names have the spelling of Go. Most fields of a pod are not needed, and are skipped while reading.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::ser::SerializeMap as _;
use serde::{Deserialize, Serialize, Serializer};

/// A request for the nodes that a pod may use, or for their scores.
#[derive(Debug, Deserialize)]
pub(super) struct Arguments<'a> {
    #[serde(rename = "Pod", alias = "pod", borrow)]
    pod: Option<PodArgument<'a>>,
    #[serde(rename = "NodeNames", alias = "nodenames", alias = "nodeNames", borrow)]
    node_names: Option<Vec<Text<'a>>>,
    #[serde(rename = "Nodes", alias = "nodes")]
    nodes: Option<serde::de::IgnoredAny>,
}

/// A string that borrows from the request, unless it contains escapes.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

#[derive(Debug, Deserialize)]
struct PodArgument<'a> {
    #[serde(borrow)]
    metadata: Option<Metadata<'a>>,
}

#[derive(Debug, Deserialize)]
struct Metadata<'a> {
    #[serde(borrow)]
    namespace: Option<Cow<'a, str>>,
    #[serde(borrow)]
    name: Option<Cow<'a, str>>,
    #[serde(borrow)]
    uid: Option<Cow<'a, str>>,
}

/// The pod of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct RequestedPod<'a> {
    pub(super) namespace: &'a str,
    pub(super) name: &'a str,
    pub(super) uid: &'a str,
}

/// The problem with a malformed request, as a sentence.
pub(super) type Malformed = String;

impl<'a> Arguments<'a> {
    pub(super) fn read(body: &'a [u8]) -> Result<Arguments<'a>, Malformed> {
        let arguments: Arguments<'a> = read(body, "ExtenderArgs")?;
        if arguments.node_names.is_none() && arguments.nodes.is_some() {
            return Err("Nodes is set in place of NodeNames: set nodeCacheCapable to true in the \
                        configuration of the extender"
                .to_owned());
        }
        Ok(arguments)
    }

    pub(super) fn pod(&self) -> Result<RequestedPod<'_>, Malformed> {
        requested_pod(self.pod.as_ref())
    }

    pub(super) fn node_names(&self) -> Result<Vec<&str>, Malformed> {
        let names = self.node_names.as_ref().ok_or("NodeNames is missing")?;
        Ok(names.iter().map(|name| &*name.0).collect())
    }
}

fn requested_pod<'p>(pod: Option<&'p PodArgument<'_>>) -> Result<RequestedPod<'p>, Malformed> {
    let pod = pod.ok_or("Pod is missing")?;
    let metadata = pod.metadata.as_ref().ok_or("Pod.metadata is missing")?;
    let required = |text: &'p Option<Cow<'_, str>>, field: &str| {
        let text = text.as_deref().filter(|text| !text.is_empty());
        text.ok_or_else(|| format!("Pod.metadata.{field} is missing"))
    };
    Ok(RequestedPod {
        namespace: required(&metadata.namespace, "namespace")?,
        name: required(&metadata.name, "name")?,
        uid: required(&metadata.uid, "uid")?,
    })
}

fn read<'a, T: Deserialize<'a>>(body: &'a [u8], what: &str) -> Result<T, Malformed> {
    serde_json::from_slice(body).map_err(|error| format!("the body is not a valid {what}: {error}"))
}

/// A request for the nodes where evicting pods frees capacity for a pod.
#[derive(Debug, Deserialize)]
pub(super) struct PreemptionArguments<'a> {
    #[serde(rename = "Pod", alias = "pod", borrow)]
    pod: Option<PodArgument<'a>>,
    #[serde(rename = "NodeNameToMetaVictims", alias = "nodeNameToMetaVictims")]
    victims: Option<BTreeMap<String, Victims>>,
    #[serde(rename = "NodeNameToVictims", alias = "nodeNameToVictims")]
    whole_victims: Option<serde::de::IgnoredAny>,
}

/// The pods that would be evicted from a node.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(super) struct Victims {
    #[serde(rename = "Pods", alias = "pods")]
    pods: Option<Vec<Victim>>,
    #[serde(rename = "NumPDBViolations", alias = "numPDBViolations", default)]
    violated_budgets: i64,
}

/// A pod that would be evicted.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct Victim {
    #[serde(rename = "UID", alias = "uid")]
    uid: String,
}

impl Victims {
    pub(super) fn uids(&self) -> Vec<&str> {
        self.pods.iter().flatten().map(|victim| victim.uid.as_str()).collect()
    }

    pub(super) fn violations(&self) -> i64 {
        self.violated_budgets
    }
}

impl<'a> PreemptionArguments<'a> {
    pub(super) fn read(body: &'a [u8]) -> Result<PreemptionArguments<'a>, Malformed> {
        let arguments: PreemptionArguments<'a> = read(body, "ExtenderPreemptionArgs")?;
        if arguments.victims.is_none() && arguments.whole_victims.is_some() {
            return Err("NodeNameToVictims is set in place of NodeNameToMetaVictims: set \
                        nodeCacheCapable to true in the configuration of the extender"
                .to_owned());
        }
        Ok(arguments)
    }

    pub(super) fn pod(&self) -> Result<RequestedPod<'_>, Malformed> {
        requested_pod(self.pod.as_ref())
    }

    pub(super) fn into_victims(self) -> BTreeMap<String, Victims> {
        self.victims.unwrap_or_default()
    }
}

/// The nodes where preemption helps.
#[derive(Debug, Serialize)]
pub(super) struct PreemptionResult {
    #[serde(rename = "NodeNameToMetaVictims")]
    pub(super) victims: BTreeMap<String, Victims>,
}

/// A request to bind a pod to a node.
#[derive(Debug, Deserialize)]
pub(super) struct BindingArguments {
    #[serde(rename = "PodName", alias = "podName", default)]
    pub(super) name: String,
    #[serde(rename = "PodNamespace", alias = "podNamespace", default)]
    pub(super) namespace: String,
    #[serde(rename = "PodUID", alias = "podUID", default)]
    pub(super) uid: String,
    #[serde(rename = "Node", alias = "node", default)]
    pub(super) node: String,
}

impl BindingArguments {
    pub(super) fn read(body: &[u8]) -> Result<BindingArguments, Malformed> {
        let arguments: BindingArguments = read(body, "ExtenderBindingArgs")?;
        let BindingArguments { name, namespace, uid, node } = &arguments;
        let fields =
            [("PodName", name), ("PodNamespace", namespace), ("PodUID", uid), ("Node", node)];
        match fields.iter().find(|(_, text)| text.is_empty()) {
            Some((field, _)) => Err(format!("{field} is missing")),
            None => Ok(arguments),
        }
    }
}

/// The nodes that a pod may use, and the reasons against the other nodes.
#[derive(Debug, Default, Serialize)]
pub(super) struct FilterResult<'a> {
    #[serde(rename = "NodeNames")]
    pub(super) node_names: Vec<&'a str>,
    #[serde(rename = "FailedNodes")]
    pub(super) failed: RejectedNodes<'a>,
    #[serde(rename = "FailedAndUnresolvableNodes")]
    pub(super) unresolvable: RejectedNodes<'a>,
    /// The reason that the request failed; empty if it did not.
    #[serde(rename = "Error")]
    pub(super) error: &'a str,
}

/// The nodes that a pod must not use, each with one of the reasons.
#[derive(Debug, Default)]
pub(super) struct RejectedNodes<'a> {
    pub(super) nodes: Vec<(&'a str, &'a str)>,
}

impl Serialize for RejectedNodes<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.nodes.len()))?;
        for (node, why) in &self.nodes {
            map.serialize_entry(node, why)?;
        }
        map.end()
    }
}

/// The score of a node, from 0 to 10.
#[derive(Debug, Serialize)]
pub(super) struct HostPriority<'a> {
    #[serde(rename = "Host")]
    pub(super) node: &'a str,
    #[serde(rename = "Score")]
    pub(super) score: u8,
}

/// The outcome of a binding.
#[derive(Debug, Serialize)]
pub(super) struct BindingResult<'a> {
    /// The reason that the pod is not bound, or might not be; empty if it is.
    #[serde(rename = "Error")]
    pub(super) error: &'a str,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_of_kube_scheduler_is_read_without_the_rest_of_the_pod() {
        let body = br#"{"Pod":{"metadata":{"name":"a","namespace":"b","uid":"c","labels":{"x":"y"}},
            "spec":{"containers":[{"name":"n"}]},"status":{}},"Nodes":null,"NodeNames":["n-1","n\u002d2"]}"#;
        let arguments = Arguments::read(body).expect("the request is well-formed");
        let pod = RequestedPod { namespace: "b", name: "a", uid: "c" };
        assert_eq!(arguments.pod(), Ok(pod));
        assert_eq!(arguments.node_names(), Ok(vec!["n-1", "n-2"]));
    }

    #[test]
    fn an_error_names_the_malformed_field() {
        let why = |body: &str| {
            let read = Arguments::read(body.as_bytes());
            let used = read.and_then(|it| it.pod().map(|_| ()).and(it.node_names().map(|_| ())));
            used.expect_err("the request is malformed")
        };
        let pod = r#""Pod":{"metadata":{"name":"a","namespace":"b","uid":"c"}}"#;
        for (body, expected) in [
            (
                "",
                "the body is not a valid ExtenderArgs: EOF while parsing a value at line 1 column 0",
            ),
            (
                "[]",
                "the body is not a valid ExtenderArgs: invalid length 0, expected struct Arguments with 3 elements at line 1 column 2",
            ),
            (r#"{"Pod":null,"NodeNames":[]}"#, "Pod is missing"),
            (r#"{"Pod":{},"NodeNames":[]}"#, "Pod.metadata is missing"),
            (
                r#"{"Pod":{"metadata":{"name":"","namespace":"b","uid":"c"}}}"#,
                "Pod.metadata.name is missing",
            ),
            (&format!("{{{pod}}}"), "NodeNames is missing"),
            (
                &format!(r#"{{{pod},"Nodes":{{"items":[]}}}}"#),
                "Nodes is set in place of NodeNames: set nodeCacheCapable to true in the configuration of the extender",
            ),
            (
                r#"{"Pod":7}"#,
                "the body is not a valid ExtenderArgs: invalid type: integer `7`, expected struct PodArgument at line 1 column 8",
            ),
        ] {
            assert_eq!(why(body), expected, "{body}");
        }
        let binding = |body: &str| BindingArguments::read(body.as_bytes()).map(|_| ());
        let missing = binding(r#"{"PodName":"a","PodNamespace":"b","PodUID":"c"}"#);
        assert_eq!(missing, Err("Node is missing".to_owned()));
        let preempting = PreemptionArguments::read(br#"{"NodeNameToVictims":{}}"#).map(|_| ());
        assert!(preempting.is_err_and(|why| why.starts_with("NodeNameToVictims is set")));
    }

    #[test]
    fn responses_have_the_names_that_kube_scheduler_reads() {
        let failed = RejectedNodes { nodes: vec![("b", "why")] };
        let result = FilterResult { node_names: vec!["a"], failed, ..FilterResult::default() };
        let written = serde_json::to_string(&result).expect("plain data can be serialized");
        let expected = r#"{"NodeNames":["a"],"FailedNodes":{"b":"why"},"FailedAndUnresolvableNodes":{},"Error":""}"#;
        assert_eq!(written, expected);
        let scores = [HostPriority { node: "a", score: 10 }];
        let written = serde_json::to_string(&scores).expect("plain data can be serialized");
        assert_eq!(written, r#"[{"Host":"a","Score":10}]"#);
        let victims = br#"{"Pod":{},"NodeNameToMetaVictims":{"n":{"Pods":[{"UID":"u"}],"NumPDBViolations":1}}}"#;
        let read = PreemptionArguments::read(victims).expect("the request is well-formed");
        let result = PreemptionResult { victims: read.into_victims() };
        let written = serde_json::to_string(&result).expect("plain data can be serialized");
        let expected =
            r#"{"NodeNameToMetaVictims":{"n":{"Pods":[{"UID":"u"}],"NumPDBViolations":1}}}"#;
        assert_eq!(written, expected);
    }
}

//! The Events about pods and `ConfigMaps`.

use almanac_api::kinds::Kind;
use almanac_engine::Identity;
use almanac_engine::qos_levels::Recorded;
use almanac_shell::event_log::{Event, ObjectReference};

/// The Events about a change of a pod's level.
pub(super) fn for_change(recorded: &Recorded, uid: &str) -> Vec<Event> {
    let Recorded { ended, begun, from, to, .. } = recorded;
    let (before, now) = (level(from.as_deref()), level(to.as_deref()));
    let event = |reason, note| about_pod(&recorded.pod, uid, (false, reason), note);
    let activated = |begun: &str, why: String| {
        event("PolicyActivated", format!("policy {begun} sets the QoS level to {now}; {why}"))
    };
    match (ended.as_deref(), begun.as_deref()) {
        (Some(ended), Some(begun)) if ended != begun => {
            let note = format!("policy {ended} is over; policy {begun} follows it");
            let why = format!("the level was {before}, set by policy {ended}");
            vec![event("PolicyExpired", note), activated(begun, why)]
        }
        // The user has edited an annotation of the policy, and the agent has restored it.
        (Some(_), Some(_)) if from == to => Vec::new(),
        (_, Some(begun)) => vec![activated(begun, format!("the level was {before}"))],
        (Some(ended), None) => {
            let note =
                format!("policy {ended} is over; the QoS level is {now} again, and was {before}");
            vec![event("PolicyExpired", note)]
        }
        (None, None) => {
            let note = format!("no policy applies; the QoS level is {now} again, and was {before}");
            vec![event("PolicyExpired", note)]
        }
    }
}

/// The Event about a pod that another program keeps changing.
pub(super) fn for_contention(pod: &Identity, uid: &str) -> Event {
    let note = "another program keeps changing the annotations of the QoS level; the agent now writes them again \
                at growing intervals. Possible causes are another agent with another ConfigMap or level format, and \
                an admission webhook that rewrites them";
    about_pod(pod, uid, (true, "LevelContested"), note.to_owned())
}

/// The Event about a pod that cannot be written.
pub(super) fn for_failure(pod: &Identity, uid: &str, why: &str) -> Event {
    let note = format!("failed to write the annotations of the QoS level, and will retry: {why}");
    about_pod(pod, uid, (true, "LevelNotWritten"), note)
}

/// A Warning about a `ConfigMap`.
pub(super) fn about_config(
    config: &Identity,
    uid: &str,
    reason: &'static str,
    note: String,
) -> Event {
    let kind = Kind::ConfigMap;
    let regarding = ObjectReference {
        api_version: kind.api_version(),
        kind: kind.name(),
        namespace: config.namespace().to_owned(),
        name: config.name().to_owned(),
        uid: uid.to_owned(),
    };
    Event { regarding, is_warning: true, reason, action: "Check", note }
}

fn about_pod(
    pod: &Identity,
    uid: &str,
    (is_warning, reason): (bool, &'static str),
    note: String,
) -> Event {
    let regarding = ObjectReference {
        api_version: "v1".to_owned(),
        kind: "Pod",
        namespace: pod.namespace().to_owned(),
        name: pod.name().to_owned(),
        uid: uid.to_owned(),
    };
    Event { regarding, is_warning, reason, action: "SetQoSLevel", note }
}

fn level(level: Option<&str>) -> &str {
    level.filter(|it| !it.is_empty()).unwrap_or("none")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use jiff::Timestamp;

    use super::*;

    fn notes(
        ended: Option<&str>,
        begun: Option<&str>,
        from: Option<&str>,
        to: Option<&str>,
    ) -> String {
        let [ended, begun, from, to] = [ended, begun, from, to].map(|it| it.map(Arc::from));
        let pod = Identity::new("", "Pod", "shop", "web");
        let recorded =
            Recorded { at: Timestamp::UNIX_EPOCH, pod, ended, begun, opened: None, from, to };
        let events = for_change(&recorded, "uid").into_iter();
        let lines: Vec<String> = events.map(|it| format!("{} {}", it.reason, it.note)).collect();
        lines.join("\n")
    }

    #[test]
    fn an_event_has_the_name_of_the_policy_and_the_levels() {
        assert_eq!(
            notes(None, Some("night"), None, Some("-1")),
            "PolicyActivated policy night sets the QoS level to -1; the level was none"
        );
        assert_eq!(
            notes(Some("night"), None, Some("-1"), Some("1")),
            "PolicyExpired policy night is over; the QoS level is 1 again, and was -1"
        );
        assert_eq!(
            notes(Some("night"), Some("peak"), Some("-1"), Some("2")),
            "PolicyExpired policy night is over; policy peak follows it\n\
             PolicyActivated policy peak sets the QoS level to 2; the level was -1, set by policy night"
        );
        assert_eq!(
            notes(None, None, Some("-1"), None),
            "PolicyExpired no policy applies; the QoS level is none again, and was -1"
        );
    }
}

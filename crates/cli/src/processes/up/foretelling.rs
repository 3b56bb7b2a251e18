//! What comes next in the cluster, as `almanac next` finds it: the same program is asked, so that nobody is told
//! anything else than who asks it.

use std::path::{Path, PathBuf};

use almanac_api::policy_clock::PolicyClock;
use almanac_local::{await_answer_of, question_to};
use anyhow::{Context as _, ensure};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use crate::cluster::ClockArguments;
use crate::invisible::printable;

/// How far is looked ahead: beyond that, nobody waits at the terminal.
const LOOKED_AHEAD: &str = "366d";

/// More than a terminal shows at a time is not read.
pub(super) const MOST_LISTED: u32 = 20;

/// Asks what comes next.
pub(super) struct Foretelling {
    program: PathBuf,
    kubeconfig: PathBuf,
    clock: PolicyClock,
}

/// What happens next, and when.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Next {
    /// By the policies' clock.
    pub(super) at: Timestamp,
    /// What it is, in a few words.
    pub(super) what: String,
}

impl Foretelling {
    pub(super) fn new(kubeconfig: &Path, clock: PolicyClock) -> anyhow::Result<Self> {
        let program = std::env::current_exe().context("failed to find this program")?;
        Ok(Self { program, kubeconfig: kubeconfig.to_owned(), clock })
    }

    /// The clock of the policies.
    pub(super) fn clock(&self) -> PolicyClock {
        self.clock
    }

    /// What the policies' clock shows now.
    pub(super) fn now(&self) -> Timestamp {
        self.clock.shown_at(Timestamp::now())
    }

    /// What comes next after this instant, all of it that comes at once; nothing if nothing does.
    pub(super) async fn next(&self, after: Timestamp) -> anyhow::Result<Vec<Next>> {
        let mut all = self.ask(after, LOOKED_AHEAD, 5).await?;
        let first = all.first().map(|next| next.at);
        all.retain(|next| Some(next.at) == first);
        Ok(all)
    }

    /// What comes in so many minutes of the machine's clock, the first of it.
    pub(super) async fn listed(&self, minutes: i64) -> anyhow::Result<Vec<Next>> {
        let rate = i32::try_from(self.clock.rate()).unwrap_or(i32::MAX);
        let period =
            SignedDuration::from_mins(minutes).checked_mul(rate).unwrap_or(SignedDuration::MAX);
        self.ask(self.now(), &format!("{period:#}"), MOST_LISTED + 1).await
    }

    async fn ask(&self, from: Timestamp, period: &str, count: u32) -> anyhow::Result<Vec<Next>> {
        let mut next = question_to(&self.program);
        next.args(["next", "-A", "--fail-on", "never", "-o", "json", "--for", period])
            .args(["--from", &from.to_string(), "--count", &count.to_string()])
            .args(ClockArguments::of(self.clock))
            .arg("--kubeconfig")
            .arg(&self.kubeconfig);
        let answer = await_answer_of(next).await.context("failed to ask what comes next")?;
        ensure!(
            answer.status.success(),
            "failed to ask what comes next: {}",
            String::from_utf8_lossy(&answer.stderr).trim()
        );
        let report: Value = serde_json::from_slice(&answer.stdout)
            .context("failed to understand what comes next")?;
        let items = report["items"].as_array().map(Vec::as_slice).unwrap_or_default();
        let all = items.iter().filter_map(|item| {
            Some(Next { at: item["at"].as_str()?.parse().ok()?, what: printable(&words(item)) })
        });
        Ok(all.collect())
    }
}

/// `Deployment shop/web → 8: CronFederatedHPA shop/web busy fires`. What it is before is what it is now, which everybody
/// can see.
fn words(item: &Value) -> String {
    let (policy, target) = (&item["policy"], &item["target"]);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let named = |it: &Value| match it["namespace"].as_str() {
        Some(namespace) => format!("{} {namespace}/{}", text(&it["kind"]), text(&it["name"])),
        None => format!("{} {}", text(&it["kind"]), text(&it["name"])),
    };
    let rule = item["rule"].as_str().map(|rule| format!(" {rule}")).unwrap_or_default();
    let what = format!("{rule} {}", text(&item["what"]));
    match (&item["from"], &item["to"]) {
        (Value::Null, Value::Null) => format!("{}{what}", named(policy)),
        (_, to) if policy == target => format!("{} → {}:{what}", named(target), shown(to)),
        (_, to) => format!("{} → {}: {}{what}", named(target), shown(to), named(policy)),
    }
}

/// A value as people write it: `3`, `a, b`, `minReplicas 3`.
fn shown(value: &Value) -> String {
    match value {
        Value::Null => "none".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(shown).collect::<Vec<_>>().join(", "),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, value)| format!("{name} {}", shown(value)));
            fields.collect::<Vec<_>>().join(", ")
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_comes_next_is_told_in_a_line() {
        let policy = json!({"kind": "CronFederatedHPA", "namespace": "shop", "name": "web"});
        let target = json!({"kind": "Deployment", "namespace": "shop", "name": "web"});
        let item = json!({"policy": policy, "target": target, "rule": "busy", "what": "fires", "from": 3, "to": 8});
        assert_eq!(words(&item), "Deployment shop/web → 8: CronFederatedHPA shop/web busy fires");
        let item = json!({"policy": policy, "target": policy, "rule": "busy", "what": "opens", "from": 1, "to": 4});
        assert_eq!(words(&item), "CronFederatedHPA shop/web → 4: busy opens");
        let item = json!({"policy": policy, "target": policy, "rule": "busy", "what": "opens"});
        assert_eq!(words(&item), "CronFederatedHPA shop/web busy opens");
    }
}

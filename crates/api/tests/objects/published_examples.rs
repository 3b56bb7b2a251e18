//! The examples of the published designs: each is accepted unchanged, or rejected with a message that states the
//! problem and the fix.

use almanac_fixtures::designs::{
    AUTOSCALER_OF_CRON, DEPLOYMENT_OF_CRON, SCHEDULE, TWO_ZONES, cron, cured, up_and_down,
};

use crate::written;
use crate::written::{check, findings, is_usable};

const RANGES: &str = "\
apiVersion: autoscaling.karpenter.sh/v1alpha1
kind: MetricsProducer
metadata:
  name: FakeScheduling
spec:
  schedule:
    timezone: America/Los_Angeles
    defaultReplicas: 2
    behaviors:
      // This spec WILL NOT work according to the design.
      // Scale up on Weekdays for usual traffic
      - replicas: 7
        start: 
          weekdays: Mon-Fri
          hours: 9
          months: Jan-Mar
        end:
          weekdays: Mon-Fri
          hours: 17
          months: Feb-Apr
      // This spec WILL work according to the design.
      // Scale down on weekday evenings
      - replicas: 7
        start: 
          weekdays: Mon,Tue,Wed,Thu,Fri
          hours: 9
          months: Jan,Feb,Mar
        end:
          weekdays: Mon,Tue,Wed,Thu,Fri
          hours: 17
          months: Feb,Mar,Apr
";

fn assert_usable(text: &str) {
    let (_, checked, findings) = check(text);
    assert!(findings.is_empty(), "{findings:#?}");
    assert!(!checked.is_empty() && checked.iter().all(is_usable), "{checked:?}");
}

#[test]
fn the_published_week_is_rejected_only_for_its_slash_comments() {
    let comment = "slash-comment '//' does not start a comment in YAML";
    assert_eq!(
        findings(SCHEDULE),
        [format!("10:7 {comment}"), format!("18:7 {comment}"), format!("26:7 {comment}")]
    );
    assert_usable(&cured(SCHEDULE));
}

#[test]
fn exactly_the_objects_that_the_design_excludes_are_rejected() {
    let behaviors = "spec.schedule.behaviors[0]";
    let range = |written: &str, lists: &str| {
        format!(
            "Invalid value: \"{written}\": `{written}` is a range, and a pattern takes lists; write {lists}"
        )
    };
    let (weekdays, first, second) = (
        range("Mon-Fri", "Mon,Tue,Wed,Thu,Fri"),
        range("Jan-Mar", "Jan,Feb,Mar"),
        range("Feb-Apr", "Feb,Mar,Apr"),
    );
    let of_meaning: Vec<_> =
        findings(RANGES).into_iter().filter(|line| !line.contains("slash-comment")).collect();
    let expected = [
        "4:9 invalid-name metadata.name: Invalid value: \"FakeScheduling\": a name consists of \
         lower-case letters, digits, '-' and '.', and begins and ends with a letter or a digit"
            .to_owned(),
        format!("14:21 pattern {behaviors}.start.weekdays: {weekdays}"),
        format!("16:19 pattern {behaviors}.start.months: {first}"),
        format!("18:21 pattern {behaviors}.end.weekdays: {weekdays}"),
        format!("20:19 pattern {behaviors}.end.months: {second}"),
    ];
    assert_eq!(of_meaning, expected);
    assert_usable(&cured(RANGES));
}

#[test]
fn published_workload_rules_are_rejected_only_for_rule_name_and_app_v1() {
    let text = cron(DEPLOYMENT_OF_CRON, &up_and_down("targetReplicas"));
    let expected = [
        "7:17 mistyped-version spec.scaleTargetRef.apiVersion: Invalid value: \"app/v1\": there is no such API; write apps/v1",
        "11:5 mistyped-field spec.rules[0].ruleName: Forbidden: the field is name, not ruleName",
        "14:5 mistyped-field spec.rules[1].ruleName: Forbidden: the field is name, not ruleName",
    ];
    assert_eq!(findings(&text), expected);
    assert_usable(&cured(&text));
}

#[test]
fn published_autoscaler_rules_are_rejected_only_for_rule_name() {
    for rules in [up_and_down("targetMinReplicas"), TWO_ZONES.to_owned()] {
        let text = cron(AUTOSCALER_OF_CRON, &rules);
        let found = findings(&text);
        assert_eq!(found.len(), 2, "{found:#?}");
        assert!(
            found.iter().all(|line| line.ends_with("Forbidden: the field is name, not ruleName"))
        );
        assert_usable(&cured(&text));
    }
}

#[test]
fn the_query_of_the_questions_and_answers_is_explained() {
    let query =
        r#"max(karmada_queue_length{name="q"},karpenter_scheduled_capacity{name="schedules"})"#;
    let text = written::autoscaler(&format!(
        "minReplicas: 1, maxReplicas: 9, metrics: [{{prometheus: {{query: '{query}', target: {{type: AverageValue, value: 4}}}}}}]"
    ));
    let found = written::messages(&text);
    assert_eq!(found.len(), 1, "{found:#?}");
    assert!(
        found[0].ends_with("max takes one vector in PromQL; join several with 'or'"),
        "{found:#?}"
    );
    assert_usable(&text.replace("},karpenter", "} or karpenter"));
}

//! Work that is out of proportion to what is written: functions that do more than go through what they are given.

use almanac_expressions::{Document, Expression, Failure, MAX_STEPS, Meter, Subject};
use serde_json::{Value, json};

use crate::{holds, steps};

fn object(fields: Value) -> Document {
    let mut object = json!({ "many": vec![1; 1_000] });
    if let (Value::Object(object), Value::Object(fields)) = (&mut object, fields) {
        object.extend(fields);
    }
    Document::from_json(&object)
}

#[test]
fn every_part_of_an_address_takes_steps_for_its_length() {
    let long = "a".repeat(20_000);
    let object = object(json!({
        "path": format!("http://h/{long}"),
        "host": format!("http://{long}:1"),
        "opaque": format!("mailto:{long}"),
        "fragment": format!("/a#{long}"),
        "user": format!("http://{long}:{long}@h/"),
        "nothing": format!("/a?{}", "&".repeat(20_000)),
        "no_parameters": format!("/a?{}", "a;".repeat(10_000)),
    }));
    for (field, condition) in [
        ("path", "u.getEscapedPath() == ''"),
        ("host", "u.getHost() == ''"),
        ("host", "u.getHostname() == ''"),
        ("host", "u.getPort() == ''"),
        ("host", "u == u"),
        ("opaque", "u == u"),
        ("fragment", "u == u"),
        ("user", "u == u"),
        ("path", "[u, u].indexOf(u) == 1"),
        ("nothing", "u.getQuery().size() == 1"),
        ("no_parameters", "u.getQuery().size() == 1"),
    ] {
        let text = format!(
            "[url(managedCluster.{field})].all(u, managedCluster.many.all(i, {condition} || true))"
        );
        assert_eq!(holds(&text, &object), Err(Failure::TooManySteps), "{text}");
    }
    let unusual = "url('https://example.com:8443/a/b?c=d&e=f#g').getQuery().size() == 2";
    assert!(steps(unusual, &object).0 < 100, "what everybody does is no problem");
}

#[test]
fn every_part_of_a_version_takes_steps() {
    let object = object(json!({
        "parts": format!("1.2.3-{}b", "a.".repeat(10_000)),
        "long": format!("1.2.3-{}", "a".repeat(40_000)),
    }));
    for field in ["parts", "long"] {
        for condition in
            ["v == v", "v.compareTo(v) == 0", "!v.isLessThan(v)", "v in [v]", "v.major() == 1"]
        {
            let text = format!(
                "[semver(managedCluster.{field})].all(v, managedCluster.many.all(i, {condition}))"
            );
            assert_eq!(holds(&text, &object), Err(Failure::TooManySteps), "{text}");
        }
    }
    let text = "managedCluster.many.all(i, isSemver(managedCluster.parts))";
    assert!(steps("isSemver(managedCluster.parts)", &object).0 > 20_000);
    assert_eq!(holds(text, &object), Err(Failure::TooManySteps));
}

#[test]
fn a_number_with_many_digits_takes_steps_for_each() {
    let object = object(json!({ "digits": format!("0.{}", "7".repeat(1_000)) }));
    let of = |text: &str| steps(text, &object).0;
    assert!(of("double(managedCluster.digits) > 0.7") > 1_000);
    assert!(of("double('1000') == 1e3") < 30);
}

#[test]
fn a_failing_operand_that_does_not_decide_takes_steps_too() {
    let object = object(json!({}));
    let of = |text: &str| steps(text, &object).0;
    let failing = of("managedCluster.many.all(i, managedCluster.absent == i || true)");
    let holding = of("managedCluster.many.all(i, managedCluster.many == i || true)");
    assert!(failing >= holding + 5_000, "{failing} and {holding}");
}

#[test]
fn each_score_takes_steps() {
    let text = "managedCluster.scores('usage').size() == 1000";
    let (expression, object) = (Expression::compile(text).unwrap(), object(json!({})));
    let scores = |_: &str| Some(vec![("a", 1); 1_000].into());
    let meter = Meter::new();
    let subject = Subject { object: &object, scores: &scores };
    assert_eq!(expression.holds(&subject, &meter), Ok(true));
    assert!(MAX_STEPS - meter.remaining_steps() > 4_000);
}

#[test]
fn what_takes_exactly_as_many_steps_as_there_are_has_a_result() {
    let (text, object) = ("managedCluster.many.all(i, i == 1)", object(json!({})));
    let (needed, held) = steps(text, &object);
    assert_eq!(held, Ok(true));
    let expression = Expression::compile(text).unwrap();
    let subject = Subject { object: &object, scores: &|_| None };
    let enough = Meter::with(needed);
    assert_eq!(expression.holds(&subject, &enough), Ok(true));
    assert_eq!(enough.remaining_steps(), 0);
    let too_few = Meter::with(needed - 1);
    assert_eq!(expression.holds(&subject, &too_few), Err(Failure::TooManySteps));
    assert_eq!(too_few.remaining_steps(), 0);
    let free = Expression::compile("true").unwrap();
    assert_eq!(free.holds(&subject, &too_few), Err(Failure::TooManySteps), "nothing is free");
}

//! The language: the results of expressions over one object.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, in its helping functions too")]

use almanac_expressions::{Document, Expression, Failure, Meter, Subject};
use serde_json::{Value, json};

fn cluster() -> Value {
    json!({
        "metadata": {
            "name": "east",
            "creationTimestamp": "2026-03-02T12:00:00Z",
            "labels": { "env": "prod", "example.com/tier": "gold", "version": "1.31.0" },
            "annotations": { "shape": "{\"gpu\": [{\"h100\": 8}], \"zones\": 3}" }
        },
        "spec": { "hubAcceptsClient": true, "leaseDurationSeconds": 60, "taints": [] },
        "status": {
            "version": { "kubernetes": "v1.31.4" },
            "allocatable": { "cpu": "1500m", "memory": "16Gi", "pods": 110 },
            "clusterClaims": [
                { "name": "id.k8s.io", "value": "east" },
                { "name": "region.open-cluster-management.io", "value": "eu-west-1" }
            ],
            "conditions": [{ "type": "ManagedClusterConditionAvailable", "status": "True" }],
            "ratio": 0.5, "none": null
        }
    })
}

/// The result of an expression, or why there is none; an error at compiling begins with `!`.
fn result(text: &str) -> String {
    let document = Document::from_json(&cluster());
    let expression = match Expression::compile(text) {
        Ok(expression) => expression,
        Err(error) => return format!("!{error}"),
    };
    let scores = |object: &str| match object {
        "load" => Some([("cpu", 30), ("memory", -20)].into()),
        "empty" => Some([].into()),
        _ => None,
    };
    match expression.holds(&Subject { object: &document, scores: &scores }, &Meter::new()) {
        Ok(holds) => holds.to_string(),
        Err(failure) => failure.to_string(),
    }
}

fn all(expressions: &[&str], expected: &str) {
    for text in expressions {
        assert_eq!(result(text), expected, "{text}");
    }
}

#[test]
fn the_object_is_read_by_its_fields() {
    let hold = [
        "managedCluster.metadata.name == 'east'",
        "managedCluster.metadata.labels['env'] == 'prod'",
        "managedCluster.metadata.labels['example.com/tier'] in ['gold', 'silver']",
        "'env' in managedCluster.metadata.labels",
        "has(managedCluster.metadata.labels) && !has(managedCluster.metadata.labels.absent)",
        "managedCluster.spec.hubAcceptsClient",
        "managedCluster.spec.leaseDurationSeconds == 60",
        "managedCluster.spec.leaseDurationSeconds > 59.5",
        "managedCluster.status.ratio == 0.5 && managedCluster.status.none == null",
        "managedCluster.status.clusterClaims[1].value.startsWith('eu-')",
        "managedCluster.status.clusterClaims.exists(c, c.name == 'id.k8s.io' && c.value == 'east')",
        "managedCluster.status.conditions.all(c, c.status == 'True')",
        "managedCluster.status.clusterClaims.exists_one(c, c.value == 'east')",
        "managedCluster.status.clusterClaims.filter(c, c.value != 'east').size() == 1",
        "managedCluster.status.clusterClaims.map(c, c.name)[0] == 'id.k8s.io'",
        "managedCluster.status.clusterClaims.map(c, c.value == 'east', c.name) == ['id.k8s.io']",
        "managedCluster.metadata.labels.exists(key, key.contains('/'))",
        "managedCluster.metadata.labels.map(key, key) == ['env', 'example.com/tier', 'version']",
        "size(managedCluster.spec.taints) == 0",
        "managedCluster.?status.?absent.orValue('x') == 'x'",
        "managedCluster.status.?version.kubernetes.orValue('') == 'v1.31.4'",
        "managedCluster.status[?'absent'].hasValue() == false",
    ];
    all(&hold, "true");
}

#[test]
fn the_functions_of_kubernetes_exist() {
    let hold = [
        "quantity(managedCluster.status.allocatable.cpu).isGreaterThan(quantity('1'))",
        "quantity(managedCluster.status.allocatable.memory).compareTo(quantity('16384Mi')) == 0",
        "quantity('500m').add(quantity('500m')) == quantity('1')",
        "quantity('2').sub(1).asInteger() == 1 && sign(quantity('-1')) == -1",
        "isQuantity('4Gi') && !isQuantity('four')",
        "semver(managedCluster.status.version.kubernetes, true).isGreaterThan(semver('v1.30', true))",
        "semver(managedCluster.metadata.labels.version).minor() == 31",
        "isSemver('1.2.3') && !isSemver('v1.2.3') && isSemver('v1.2', true)",
        "managedCluster.metadata.labels.version.matches('^1\\\\.(30|31)\\\\.\\\\d+$')",
        "'abc 123'.find('[0-9]+') == '123' && 'a1b2'.findAll('[0-9]') == ['1', '2']",
        "'a,b,c'.split(',').size() == 3 && ['a', 'b'].join('-') == 'a-b'",
        "'Grüße'.size() == 5 && 'Grüße'.indexOf('ß') == 3 && 'Grüße'.substring(2, 4) == 'üß'",
        "'Abc'.lowerAscii() == 'abc' && 'Abc'.upperAscii() == 'ABC' && ' a '.trim() == 'a'",
        "'aXbX'.replace('X', '-', 1) == 'a-bX' && 'abc'.charAt(1) == 'b' && 'abc'.reverse() == 'cba'",
        "[3, 1, 2].max() == 3 && [3, 1].min() == 1 && [1, 2].sum() == 3 && [1, 2].isSorted()",
        "[1, 2, 1].indexOf(1) == 0 && [1, 2, 1].lastIndexOf(1) == 2",
        "cidr('10.0.0.0/8').containsIP('10.1.2.3') && ip('::1').family() == 6",
        "url('https://example.com:8443/a?b=c').getPort() == '8443'",
        "url('https://example.com/a?b=c&b=d').getQuery() == {'b': ['c', 'd']}",
        "timestamp(managedCluster.metadata.creationTimestamp).getFullYear() == 2026",
        "timestamp('2026-03-02T23:30:00Z').getDayOfWeek('Asia/Shanghai') == 2",
        "timestamp('2026-03-02T12:00:00Z') - timestamp('2026-03-01T12:00:00Z') == duration('24h')",
        "string(duration('90m')) == '5400s' && int('5') + 1 == 6 && double('0.5') == 0.5",
        "managedCluster.metadata.annotations.shape.parseJSON().gpu[0].h100 == 8",
        "optional.of(1).optMap(x, x + 1).value() == 2 && !optional.none().hasValue()",
        "type(1) == int && type(managedCluster) == map && type(timestamp(0)) == google.protobuf.Timestamp",
    ];
    all(&hold, "true");
}

#[test]
fn scores_are_read_by_the_name_of_their_object() {
    let hold = [
        "managedCluster.scores('load').filter(s, s.name == 'cpu').all(s, s.value > 20)",
        "managedCluster.scores('load').exists(s, s.name == 'memory' && s.value == -20)",
        "managedCluster.scores('empty').all(s, s.value > 1000)",
        "managedCluster.scores('lo' + 'ad').size() == 2",
    ];
    all(&hold, "true");
    assert_eq!(result("managedCluster.scores('empty').exists(s, true)"), "false");
    let expected = "there is no AddOnPlacementScore absent";
    assert_eq!(result("managedCluster.scores('absent').size() == 0"), expected);
    let read = |text: &str| {
        let expression = Expression::compile(text).unwrap();
        ["load", "other"].map(|name| expression.read_scores().contains(name))
    };
    assert_eq!(read("managedCluster.scores('load').size() > 0"), [true, false]);
    assert_eq!(read("managedCluster.scores('lo' + 'ad').size() > 0"), [true, true]);
    assert_eq!(read("managedCluster.scores(managedCluster.metadata.name) == []"), [true, true]);
    assert_eq!(read("true"), [false, false]);
}

#[test]
fn an_error_in_an_operand_that_does_not_decide_is_ignored() {
    let failing = "managedCluster.absent == 1";
    for (text, expected) in [
        (format!("{failing} || true"), "true"),
        (format!("true || {failing}"), "true"),
        (format!("{failing} && false"), "false"),
        (format!("{failing} || false"), "there is no \"absent\""),
        ("[0, 1].exists(x, 1 / x == 1)".to_owned(), "true"),
        ("[0, 1].all(x, 1 / x == 2)".to_owned(), "false"),
        ("[0, 1].all(x, 1 / x == 1)".to_owned(), "division by zero"),
        ("[0, 1].exists_one(x, 1 / x == 1)".to_owned(), "division by zero"),
    ] {
        assert_eq!(result(&text), expected, "{text}");
    }
}

#[test]
fn durations_are_written_exactly_and_offsets_may_be_larger_than_those_of_any_zone() {
    let hold = [
        "string(duration('2562047h47m16.854775807s')) == '9223372036.854775807s'",
        "string(duration('-2562047h47m16.854775808s')) == '-9223372036.854775808s'",
        "string(duration('9007199.254740993s')) == '9007199.254740993s'",
        "timestamp('2026-03-02T00:00:00Z').getHours('25:59') == 1",
        "timestamp('2026-03-02T00:00:00Z').getDate('25:59') == 3",
        "timestamp('2026-03-02T00:00:00Z').getDate('-25:59') == 28",
        "timestamp('2026-03-02T00:00:00Z').getMinutes('+00:90') == 30",
        "timestamp('2026-03-02T00:00:00Z').getFullYear('1000000:00') == 2140",
    ];
    all(&hold, "true");
    for offset in
        ["a:00", "1:", ":1", "99999999999:00", "9223372036854775807:00", "-1:-9223372036854775808"]
    {
        let text = format!("timestamp(0).getHours('{offset}') == 0");
        assert_eq!(result(&text), format!("{offset:?} is not a valid time zone"), "{text}");
    }
    let unknown = "timestamp(0).getHours('Europe/Berlim') == 0";
    assert_eq!(result(unknown), "\"Europe/Berlim\" is not a valid time zone");
}

#[test]
fn a_failure_has_its_reason() {
    for (text, why) in [
        ("managedCluster.metadata.labels.absent == 'x'", "there is no \"absent\""),
        ("managedCluster.metadata.name.first == 'x'", "selecting a field is not for string"),
        ("managedCluster.metadata.name > 1", "> is not for string and int"),
        ("managedCluster.metadata.name", "the result is not a boolean, but of type string"),
        ("managedCluster.status.clusterClaims[2].name == ''", "there is no item 2"),
        ("9223372036854775807 + 1 == 0", "the result is too large"),
        ("int(managedCluster.metadata.name) == 1", "\"east\" is not a valid whole number"),
        ("managedCluster.metadata.name.size() / 0 == 1", "division by zero"),
        (
            "quantity(managedCluster.metadata.name) == quantity('1')",
            "\"east\" is not a valid quantity such as 1500m or 4Gi",
        ),
        ("managedCluster.metadata.name.all(c, true)", "going through its items is not for string"),
        ("managedCluster.status.ratio ? true : false", "?: is not for double"),
    ] {
        assert_eq!(result(text), why, "{text}");
    }
    let document = Document::default();
    let subject = Subject { object: &document, scores: &|_| None };
    let number = Expression::compile("1").unwrap();
    assert_eq!(warnings("1"), ["the expression is never true, because its type is int"]);
    assert_eq!(number.holds(&subject, &Meter::new()), Err(Failure::NotABoolean("int")));
}

#[test]
fn what_cannot_be_evaluated_is_refused_by_name_where_it_stands() {
    for (text, why) in [
        ("", "!the expression ends without a value, at column 1"),
        ("true &&", "!the expression ends without a value, at column 8"),
        ("(true", "!the expression ends without ), at column 6"),
        ("true true", "!expected the end instead of true, at column 6"),
        ("[1, +]", "!expected a value instead of +, at column 5"),
        ("'ü\n'", "!the text has no end in its line, at column 1"),
        ("'a' == '\\q'", "!\\q is not a valid escape in a text, at column 9"),
        ("true # why", "!'#' has no place in an expression, at column 6"),
        ("package == 1", "!package is a reserved word, at column 1"),
        ("cluster.metadata", "!there is no variable cluster: only managedCluster, at column 1"),
        ("true && 'ü'.matchess('a')", "!there is no function matchess, at column 21"),
        ("true &&\n  matches('a')", "!matches is not for string, at line 2, column 10"),
        ("'a'.size('b')", "!size is not for string and string, at column 9"),
        (
            "quantity('1').startsWith('a')",
            "!startsWith is not for kubernetes.Quantity and string, at column 25",
        ),
        ("1 + 'a' == 2", "!+ is not for int and string, at column 3"),
        ("'a' == 1", "!== is not for string and int, at column 5"),
        ("'a' && true", "!this part is of type string, but must be true or false, at column 1"),
        (
            "[1].all(x, 'a')",
            "!this part is of type string, but must be true or false, at column 12",
        ),
        ("'abc'.all(x, true)", "!all is for lists and maps, and not for type string, at column 1"),
        ("'%s'.format(['a']) == 'a'", "!there is no function format, at column 12"),
        (
            "Cluster{name: 'a'} == null",
            "!message literals such as Cluster{} are not supported, at column 8",
        ),
        (
            "[managedCluster].exists(c, c.scores('a') == [])",
            "!scores is of managedCluster, and of nothing else, at column 36",
        ),
        ("has(managedCluster)", "!has is of a field, such as has(a.b), at column 4"),
        ("[1].all(x.y, true)", "!a variable has a simple name, at column 10"),
        ("x.y", "!there is no variable x: only managedCluster, at column 1"),
        ("string('a').kind()", "!there is no function kind, at column 17"),
    ] {
        assert_eq!(result(text), why, "{text}");
    }
}

fn warnings(text: &str) -> Vec<String> {
    Expression::compile(text).unwrap().warnings().iter().map(ToString::to_string).collect()
}

#[test]
fn what_always_fails_is_noted_and_fails_where_it_is_needed() {
    for (text, why) in [
        (
            "quantity('four') == quantity('4')",
            "\"four\" is not a valid quantity such as 1500m or 4Gi, at column 9",
        ),
        (
            "managedCluster.metadata.name.matches('a(')",
            "\"a(\" is not a valid regular expression, at column 37",
        ),
        (
            "timestamp('yesterday') < timestamp(0)",
            "\"yesterday\" is not a valid instant such as 2026-03-02T12:00:00Z, at column 10",
        ),
    ] {
        assert_eq!(warnings(text), [format!("this part always fails: {why}")], "{text}");
        assert_eq!(result(text), why.rsplit_once(", at").unwrap().0, "{text}");
        assert_eq!(result(&format!("true || {text}")), "true");
    }
    assert_eq!(warnings("quantity('4') == quantity('4')"), [""; 0]);
}

#[test]
fn the_last_of_two_values_of_one_key_counts() {
    assert_eq!(result("{'a': 1, 'a': 2}.a == 2 && {'a': 1, 'a': 2}.size() == 1"), "true");
}

#[test]
fn numbers_are_compared_by_what_they_are_and_nothing_else_of_different_types_is_equal() {
    let hold = [
        "dyn(1) == dyn(1.0) && dyn(1u) == dyn(1) && 1 < 1.5 && 2u > 1",
        "dyn(1) != dyn('1') && dyn([1]) == dyn([1.0]) && dyn({'a': 1}) == dyn({'a': 1u})",
        "1 in [1.0, 2.0].map(x, dyn(x)) && {1: 'a'}[dyn(1.0)] == 'a'",
        "double('NaN') != double('NaN')",
        "dyn(null) == null && dyn([]) == dyn([]) && dyn({}) != dyn([])",
        "7 / 2 == 3 && -7 / 2 == -3 && -7 % 3 == -1 && 7.0 / 2.0 == 3.5",
        "b'abc' < b'abd' && 'a' < 'b' && false < true && 'abc' + 'd' == 'abcd' && [1] + [2] == [1, 2]",
    ];
    all(&hold, "true");
}

#[test]
fn the_expressions_on_the_page_of_differences_have_the_documented_results() {
    let page = include_str!("../../../docs/compatibility.md");
    let (_, expressions) = page.split_once("### Expressions").unwrap();
    let expressions = expressions.split("\n## ").next().unwrap();
    let examples = expressions.lines().filter_map(|line| {
        let (_, example) = line.strip_suffix(" |")?.rsplit_once(" | `")?;
        example.split_once("` ")
    });
    let mut count = 0;
    for (text, expected) in examples {
        let found = result(text);
        let came = match &*found {
            "true" => "is true",
            "false" => "is false",
            refused if refused.starts_with('!') => "is refused",
            _ => "fails",
        };
        assert_eq!(came, expected, "{text}: {found}");
        count += 1;
    }
    assert!(count > 15, "{count} examples");
}

//! Random expressions: most have matching types, some do not, and most read the cluster.

use fastrand::Rng;

/// The random expression with this number.
#[must_use]
pub fn random_expression(seed: u64, number: usize) -> String {
    let mut rng = Rng::with_seed(seed.wrapping_add(number as u64));
    boolean(&mut rng, 3)
}

fn one_of<'a>(rng: &mut Rng, all: &[&'a str]) -> &'a str {
    all[rng.usize(..all.len())]
}

fn boolean(rng: &mut Rng, depth: usize) -> String {
    if depth == 0 {
        return one_of(
            rng,
            &[
                "true",
                "managedCluster.spec.hubAcceptsClient",
                "has(managedCluster.metadata.labels.env)",
                "has(managedCluster.metadata.annotations)",
                "'env' in managedCluster.metadata.labels",
                "managedCluster.status.none == null",
            ],
        )
        .to_owned();
    }
    let deeper = depth - 1;
    match rng.u8(..12) {
        0 => format!("({} && {})", boolean(rng, deeper), boolean(rng, deeper)),
        1 => format!("({} || {})", boolean(rng, deeper), boolean(rng, deeper)),
        2 => format!("!{}", boolean(rng, deeper)),
        3 => {
            let (condition, then, otherwise) =
                (boolean(rng, deeper), boolean(rng, deeper), boolean(rng, deeper));
            format!("({condition} ? {then} : {otherwise})")
        }
        4 | 5 => {
            let operator = one_of(rng, &["==", "!=", "<", "<=", ">", ">="]);
            // Kubernetes compares values of different known types only after a macro.
            format!("dyn({}) {operator} {}", number(rng, deeper), number(rng, deeper))
        }
        6 => {
            let operator = one_of(rng, &["==", "!=", "<", ">="]);
            format!("{} {operator} {}", text(rng, deeper), text(rng, deeper))
        }
        7 => {
            let method = one_of(rng, &["startsWith", "endsWith", "contains", "matches"]);
            format!("{}.{method}({})", text(rng, deeper), text(rng, deeper))
        }
        8 => format!("{} in {}", text(rng, deeper), texts(rng, deeper)),
        9 | 10 => {
            let name = one_of(rng, &["all", "exists", "exists_one"]);
            let list = texts(rng, deeper);
            let operator = one_of(rng, &["==", "!=", "<"]);
            format!("{list}.{name}(x, x {operator} {})", text(rng, deeper))
        }
        _ => format!("{} == {}", texts(rng, deeper), texts(rng, deeper)),
    }
}

fn number(rng: &mut Rng, depth: usize) -> String {
    if depth == 0 {
        return one_of(
            rng,
            &[
                "1",
                "-2",
                "60",
                "0.5",
                "3u",
                "managedCluster.spec.leaseDurationSeconds",
                "managedCluster.status.ratio",
                "managedCluster.status.numbers[0]",
                "managedCluster.status.numbers[2]",
            ],
        )
        .to_owned();
    }
    let deeper = depth - 1;
    match rng.u8(..7) {
        0..=2 => {
            let operator = one_of(rng, &["+", "-", "*", "/", "%"]);
            format!("({} {operator} {})", number(rng, deeper), number(rng, deeper))
        }
        3 => format!("{}.size()", text(rng, deeper)),
        4 => format!("size({})", texts(rng, deeper)),
        5 => format!("{}({})", one_of(rng, &["int", "double", "uint", "dyn"]), number(rng, deeper)),
        _ => format!("{}.indexOf({})", text(rng, deeper), text(rng, deeper)),
    }
}

fn text(rng: &mut Rng, depth: usize) -> String {
    if depth == 0 {
        return one_of(
            rng,
            &[
                "''",
                "'c1'",
                "'eu'",
                "'prod'",
                "'region'",
                "managedCluster.metadata.name",
                "managedCluster.metadata.labels.env",
                "managedCluster.metadata.labels['version']",
                "managedCluster.status.version.kubernetes",
                "managedCluster.status.clusterClaims[0].value",
                "managedCluster.status.pattern",
                "managedCluster.absent",
            ],
        )
        .to_owned();
    }
    let deeper = depth - 1;
    match rng.u8(..7) {
        0 => format!("({} + {})", text(rng, deeper), text(rng, deeper)),
        1 => {
            let method = one_of(rng, &["lowerAscii", "upperAscii", "trim", "reverse"]);
            format!("{}.{method}()", text(rng, deeper))
        }
        2 => format!("string({})", number(rng, deeper)),
        3 => format!("{}.replace({}, 'x')", text(rng, deeper), text(rng, deeper)),
        4 => format!("{}.substring({})", text(rng, deeper), number(rng, deeper)),
        5 => format!("{}.join('-')", texts(rng, deeper)),
        _ => format!("{}[{}]", texts(rng, deeper), number(rng, deeper)),
    }
}

fn texts(rng: &mut Rng, depth: usize) -> String {
    if depth == 0 {
        return one_of(
            rng,
            &[
                "['']",
                "['a', 'eu']",
                "[managedCluster.metadata.name, 'c1']",
                "managedCluster.status.numbers",
                "managedCluster.metadata.labels",
                "managedCluster.status.clusterClaims.map(c, c.value)",
                "managedCluster.status.clusterClaims.filter(c, c.name == 'region').map(c, c.value)",
            ],
        )
        .to_owned();
    }
    let deeper = depth - 1;
    match rng.u8(..5) {
        0 => format!("({} + {})", texts(rng, deeper), texts(rng, deeper)),
        1 => format!("{}.split({})", text(rng, deeper), text(rng, deeper)),
        2 => format!("{}.filter(y, y != {})", texts(rng, deeper), text(rng, deeper)),
        3 => format!("{}.map(y, y + {})", texts(rng, deeper), text(rng, deeper)),
        _ => format!("[{}, {}]", text(rng, deeper), text(rng, deeper)),
    }
}

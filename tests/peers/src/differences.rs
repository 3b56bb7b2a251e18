//! The intended differences between Almanac's autoscaler and Kubernetes. Each has a case with the result of Kubernetes,
//! and that of Almanac.

use crate::case::{Amount, Case, Metric, MetricKind, Policy, Rules, Select, Step};

/// An intended difference between the results, with a case.
#[derive(Clone, Debug)]
pub struct Difference {
    /// The name of the difference.
    pub name: &'static str,
    /// A case with this difference.
    pub case: Case,
    /// The replicas after each step with Kubernetes.
    pub kubernetes: Vec<u32>,
    /// The replicas after each step with Almanac.
    pub ours: Vec<u32>,
}

/// All intended differences.
#[must_use]
pub fn differences() -> Vec<Difference> {
    let mut all = history_differences();
    all.extend(limit_differences());
    all.extend(metric_differences());
    all
}

fn history_differences() -> Vec<Difference> {
    vec![
        Difference {
            name: "A recommendation applies until the next one",
            case: Case {
                down: window(300),
                ..Case::following(10, &[(0, 10), (400, 3), (699, 3), (700, 3)])
            },
            kubernetes: vec![10, 3, 3, 3],
            ours: vec![10, 10, 10, 3],
        },
        Difference {
            name: "A new history is empty",
            case: Case { down: window(300), ..Case::following(10, &[(0, 3), (300, 3)]) },
            kubernetes: vec![10, 3],
            ours: vec![3, 3],
        },
        Difference {
            name: "Scale events are stored for the policies of both directions",
            case: Case {
                up: limited(Amount::Count(2), 600),
                down: limited(Amount::Count(2), 60),
                ..Case::following(20, &[(0, 1), (61, 1), (122, 50)])
            },
            kubernetes: vec![18, 16, 20],
            ours: vec![18, 16, 22],
        },
    ]
}

fn limit_differences() -> Vec<Difference> {
    vec![
        Difference {
            name: "No policies, no limit",
            case: Case {
                up: Rules { window: Some(0), ..Rules::default() },
                ..Case::following(10, &[(0, 50), (15, 50)])
            },
            kubernetes: vec![20, 40],
            ours: vec![50, 50],
        },
        Difference {
            name: "A percentage is exact",
            case: Case { up: limited(Amount::Percent(10), 60), ..Case::following(50, &[(0, 100)]) },
            kubernetes: vec![56],
            ours: vec![55],
        },
        Difference {
            // After the change by the other field manager, the computed replicas at the start of the period are
            // negative.
            name: "More than a hundred percent allows scaling down all replicas",
            case: cut_by_another_writer(Case {
                down: limited(Amount::Percent(200), 60),
                ..Case::following(10, &[(0, 20), (10, 1)])
            }),
            kubernetes: vec![20, 5],
            ours: vec![20, 1],
        },
        Difference {
            name: "The bounds apply last, above them",
            case: Case {
                maximum: 23,
                down: limited(Amount::Count(20), 60),
                ..Case::following(40, &[(0, 5), (60, 5)])
            },
            kubernetes: vec![23, 5],
            ours: vec![20, 5],
        },
        Difference {
            name: "The bounds apply last, below them",
            case: Case { minimum: 5, ..Case::following(1, &[(0, 9), (15, 9)]) },
            kubernetes: vec![5, 9],
            ours: vec![9, 9],
        },
        Difference {
            name: "An overwritten value is set again once a query period",
            case: cut_by_another_writer(Case {
                query_period: 10,
                up: limited(Amount::Count(20), 60),
                ..Case::following(9, &[(0, 10), (9, 10)])
            }),
            kubernetes: vec![10, 10],
            ours: vec![10, 5],
        },
        Difference {
            name: "A target without replicas is scaled",
            case: Case { minimum: 0, ..Case::following(0, &[(0, 3), (15, 3)]) },
            kubernetes: vec![0, 0],
            ours: vec![3, 3],
        },
    ]
}

fn metric_differences() -> Vec<Difference> {
    vec![
        Difference {
            name: "`Value` recommends one replica at least",
            case: Case { minimum: 0, ..measured(4, MetricKind::Value, &[Some(0)]) },
            kubernetes: vec![0],
            ours: vec![1],
        },
        Difference {
            name: "`Value` multiplies all replicas, ready or not",
            case: Case { unready: 3, ..measured(4, MetricKind::Value, &[Some(2_000)]) },
            kubernetes: vec![2],
            ours: vec![8],
        },
        Difference {
            name: "The product of a metric is exact",
            case: Case {
                metrics: vec![Metric { kind: MetricKind::Value, target: 15_000 }],
                ..measured(75, MetricKind::Value, &[Some(20_400)])
            },
            kubernetes: vec![103],
            ours: vec![102],
        },
        Difference {
            name: "`selectPolicy: Min` is the smallest recommendation too",
            case: Case {
                up: Rules { select: Some(Select::Min), ..window(0) },
                ..measured(5, MetricKind::AverageValue, &[Some(8_000), Some(7_000)])
            },
            kubernetes: vec![8],
            ours: vec![7],
        },
        Difference {
            name: "Nothing is scaled without the sample of every metric",
            case: measured(5, MetricKind::AverageValue, &[Some(8_000), None]),
            kubernetes: vec![8],
            ours: vec![5],
        },
    ]
}

/// In the last step, another client has set five.
fn cut_by_another_writer(mut case: Case) -> Case {
    if let Some(last) = case.steps.last_mut() {
        last.written = Some(5);
    }
    case
}

fn window(seconds: u32) -> Rules {
    Rules { window: Some(seconds), ..Rules::default() }
}

fn limited(amount: Amount, period: u32) -> Rules {
    Rules { policies: vec![Policy { amount, period }], ..window(0) }
}

/// One step over metrics whose target is one.
fn measured(replicas: u32, kind: MetricKind, samples: &[Option<u32>]) -> Case {
    Case {
        metrics: samples.iter().map(|_| Metric { kind, target: 1_000 }).collect(),
        steps: vec![Step { second: 0, samples: samples.to_vec(), written: None }],
        ..Case::following(replicas, &[])
    }
}

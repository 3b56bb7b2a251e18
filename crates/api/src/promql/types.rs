//! The types of the arguments and results of operators, aggregations and functions.

use std::fmt;

use super::clauses::Matching;
use super::parser::{Operand, Parser, Shape};
use super::{Node, Refusal, Type};

use Type::{Range, Scalar, Text, Vector};

/// A callable name.
pub(super) enum Callee {
    Aggregation(Aggregation),
    Function(Function),
}

impl Callee {
    pub(super) fn name(&self) -> &'static str {
        match self {
            Callee::Aggregation(aggregation) => aggregation.name,
            Callee::Function(function) => function.name,
        }
    }
}

/// An aggregation, and the type of its parameter.
#[derive(Clone, Copy)]
pub(super) struct Aggregation {
    name: &'static str,
    parameter: Option<Type>,
}

#[derive(Clone, Copy)]
pub(super) struct Function {
    name: &'static str,
    signature: &'static Signature,
}

/// The types of the arguments and the result of a function.
struct Signature {
    /// The types of the arguments. The last type applies to all further arguments.
    arguments: &'static [Type],
    least: usize,
    most: usize,
    result: Type,
    /// Separated by spaces.
    names: &'static str,
}

const fn signature(
    arguments: &'static [Type],
    least: usize,
    most: usize,
    result: Type,
    names: &'static str,
) -> Signature {
    Signature { arguments, least, most, result, names }
}

const ANY: usize = usize::MAX;
const FUNCTIONS: [Signature; 21] = [
    signature(&[], 0, 0, Scalar, "end pi range start step time"),
    signature(&[Scalar, Scalar], 2, 2, Scalar, "max_of min_of"),
    signature(&[Vector], 1, 1, Scalar, "scalar"),
    signature(&[Scalar], 1, 1, Vector, "vector"),
    signature(
        &[Vector],
        1,
        1,
        Vector,
        "abs absent acos acosh asin asinh atan atanh ceil cos cosh deg exp floor histogram_avg \
         histogram_count histogram_stddev histogram_stdvar histogram_sum ln log10 log2 rad sgn sin \
         sinh sort sort_desc sqrt start_timestamp tan tanh timestamp",
    ),
    signature(
        &[Vector],
        0,
        1,
        Vector,
        "day_of_month day_of_week day_of_year days_in_month hour minute month year",
    ),
    signature(&[Vector, Scalar], 1, 2, Vector, "round"),
    signature(&[Vector, Scalar], 2, 2, Vector, "clamp_max clamp_min"),
    signature(&[Vector, Scalar, Scalar], 3, 3, Vector, "clamp"),
    signature(&[Vector, Vector], 1, 2, Vector, "info"),
    signature(&[Scalar, Vector], 2, 2, Vector, "histogram_quantile"),
    signature(&[Scalar, Scalar, Vector], 3, 3, Vector, "histogram_fraction"),
    signature(&[Vector, Text, Scalar, Scalar], 3, 12, Vector, "histogram_quantiles"),
    signature(&[Vector, Text, Text, Text, Text], 5, 5, Vector, "label_replace"),
    signature(&[Vector, Text, Text, Text], 3, ANY, Vector, "label_join"),
    signature(&[Vector, Text], 1, ANY, Vector, "sort_by_label sort_by_label_desc"),
    signature(
        &[Range],
        1,
        1,
        Vector,
        "absent_over_time avg_over_time changes count_over_time delta deriv first_over_time idelta \
         increase irate last_over_time mad_over_time max_over_time min_over_time present_over_time \
         rate resets stddev_over_time stdvar_over_time sum_over_time ts_of_first_over_time \
         ts_of_last_over_time ts_of_max_over_time ts_of_min_over_time",
    ),
    signature(&[Range, Scalar], 1, 2, Vector, "integral"),
    signature(&[Range, Scalar], 2, 2, Vector, "predict_linear"),
    signature(&[Scalar, Range], 2, 2, Vector, "quantile_over_time"),
    signature(&[Range, Scalar, Scalar], 3, 3, Vector, "double_exponential_smoothing holt_winters"),
];

/// The function of a name.
pub(super) fn function(name: &str) -> Option<Function> {
    FUNCTIONS.iter().find_map(|signature| {
        let name = signature.names.split(' ').find(|known| *known == name)?;
        Some(Function { name, signature })
    })
}

/// The aggregation of a name in lower case.
pub(super) fn aggregation(name: &'static str) -> Option<Aggregation> {
    let parameter = match name {
        "avg" | "count" | "group" | "max" | "min" | "stddev" | "stdvar" | "sum" => None,
        "bottomk" | "limit_ratio" | "limitk" | "quantile" | "topk" => Some(Scalar),
        "count_values" => Some(Text),
        _ => return None,
    };
    Some(Aggregation { name, parameter })
}

impl fmt::Display for Type {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Scalar => "a number",
            Vector => "a vector",
            Range => "a range",
            Text => "a text",
        })
    }
}

/// The type of the result of an operator between two operands, or the reason that the operator is invalid there.
pub(super) fn binary_result(
    operator: &str,
    matching: &Matching,
    left: Type,
    right: Type,
) -> Result<Type, String> {
    if let Some(other) = [left, right].into_iter().find(|it| !matches!(it, Scalar | Vector)) {
        return Err(format!("'{operator}' takes numbers and vectors, not {other}"));
    }
    let has_vectors = left == Vector && right == Vector;
    let compares = matches!(operator, "==" | "!=" | "<=" | "<" | ">=" | ">");
    let combines_sets = matches!(operator, "and" | "or" | "unless");
    if matching.is_bool && !compares {
        return Err(format!("'bool' is only possible after a comparison, not after '{operator}'"));
    }
    if compares && !matching.is_bool && left == Scalar && right == Scalar {
        return Err(format!("'{operator}' between numbers needs 'bool' after it"));
    }
    if combines_sets && !has_vectors {
        return Err(format!("'{operator}' takes two vectors, not a number"));
    }
    let has_labels = matching.labels.as_ref().is_some_and(|(_, labels)| !labels.is_empty());
    if !has_vectors && (has_labels || matching.fills) {
        return Err(format!("only vectors are matched by labels or filled after '{operator}'"));
    }
    if combines_sets && (matching.group.is_some() || matching.fills) {
        return Err(format!("'{operator}' neither groups nor fills"));
    }
    if let (Some((true, on)), Some(group)) = (&matching.labels, &matching.group)
        && let Some(label) = group.iter().find(|label| on.contains(label))
    {
        return Err(format!("the label {label} is in both lists after '{operator}'"));
    }
    Ok(if has_vectors || left != right { Vector } else { left })
}

impl Parser<'_, '_> {
    pub(super) fn aggregated(
        &self,
        aggregation: Aggregation,
        groups: bool,
        arguments: &[Operand],
        commas: &[usize],
        at: usize,
    ) -> Result<(Type, Node), Refusal> {
        let Aggregation { name, parameter } = aggregation;
        let expected: Vec<Type> = parameter.into_iter().chain([Vector]).collect();
        let are_vectors = arguments.iter().all(|argument| argument.result == Vector);
        if parameter.is_none() && arguments.len() > 1 && are_vectors {
            let message = format!("{name} takes one vector in PromQL; join several with 'or'");
            let joined = Some(joined(self.text, commas));
            return Err(Refusal { joined, ..self.refusal(at, &message) });
        }
        if arguments.len() != expected.len() {
            let count = arguments.len();
            return Err(self.refusal(at, &wrong_count(name, expected.len(), expected.len(), count)));
        }
        self.check_arguments(name, &expected, arguments)?;
        Ok((Vector, Node::Aggregation { name, operands: expected.len(), groups }))
    }

    pub(super) fn called(
        &mut self,
        function: Function,
        arguments: &[Operand],
        at: usize,
    ) -> Result<(Type, Node), Refusal> {
        let Function { name, signature } = function;
        let count = arguments.len();
        if !(signature.least..=signature.most).contains(&count) {
            let message = wrong_count(name, signature.least, signature.most, count);
            return Err(self.refusal(at, &message));
        }
        self.check_arguments(name, signature.arguments, arguments)?;
        if let ("info", Some(labels)) = (name, arguments.get(1)) {
            if !matches!(labels.shape, Shape::Selector { has_name: false, .. }) {
                let message = "the second argument of info is label matchers in braces";
                return Err(self.refusal(labels.start, message));
            }
            self.unselective.retain(|start| *start != labels.start);
        }
        Ok((signature.result, Node::Call { name, operands: count }))
    }

    fn check_arguments(
        &self,
        name: &str,
        expected: &[Type],
        arguments: &[Operand],
    ) -> Result<(), Refusal> {
        let expected = expected.iter().chain(std::iter::repeat(expected.last().unwrap_or(&Vector)));
        match arguments
            .iter()
            .zip(expected)
            .find(|(argument, expected)| argument.result != **expected)
        {
            None => Ok(()),
            Some((argument, expected)) => {
                let message = format!("{name} takes {expected} here, not {}", argument.result);
                Err(self.refusal(argument.start, &message))
            }
        }
    }
}

fn wrong_count(name: &str, least: usize, most: usize, count: usize) -> String {
    let expected = match (least, most) {
        (1, 1) => "1 argument".to_owned(),
        (least, ANY) => format!("{least} or more arguments"),
        (least, most) if least == most => format!("{least} arguments"),
        (least, most) => format!("{least} to {most} arguments"),
    };
    format!("{name} takes {expected}, not {count}")
}

/// The query with `or` for some commas.
fn joined(text: &str, commas: &[usize]) -> String {
    let mut joined = String::with_capacity(text.len() + 3 * commas.len());
    let mut start = 0;
    for comma in commas {
        joined.push_str(text[start..*comma].trim_matches(' '));
        joined.push_str(" or ");
        start = comma + 1;
    }
    joined + text[start..].trim()
}

//! The reasons that a query yields no usable number, and the fixes.

use std::fmt::Write as _;

use crate::writer::deepest;

/// The reason that a query yields no number.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum QueryProblem {
    /// The connection failed, or yielded no response.
    #[error(
        "failed to reach Prometheus: {0}; check --prometheus-uri, and whether Prometheus is running"
    )]
    Unreachable(String),
    /// The response did not come in time.
    #[error(
        "Prometheus did not respond within {seconds} s; check whether it is overloaded, or record the \
         query with a recording rule"
    )]
    TimedOut {
        /// The timeout.
        seconds: u64,
    },
    /// The token is missing, wrong or too weak.
    #[error("Prometheus answered {status}; {}", advice_on_token(*.has_token))]
    Unauthorized {
        /// The status of the response.
        status: String,
        /// Whether a token was sent.
        has_token: bool,
    },
    /// A redirect to another address.
    #[error("Prometheus answered {status}{}, which is not followed; set --prometheus-uri to the target of the redirect", pointing(.to.as_deref()))]
    Redirected {
        /// The status of the response.
        status: String,
        /// The target of the redirect.
        to: Option<String>,
    },
    /// A failure without the explanation in the format of Prometheus.
    #[error("Prometheus answered {status}{}; {}", quoted(.text), advice_on_status(*.is_server_error))]
    HttpStatus {
        /// The status of the response.
        status: String,
        /// Whether the responding server reports an error of its own.
        is_server_error: bool,
        /// The start of the response.
        text: String,
    },
    /// Prometheus cannot read the query.
    #[error("Prometheus cannot read the query: {0}")]
    QueryInvalid(String),
    /// Prometheus failed to evaluate the query.
    #[error("Prometheus failed to evaluate the query ({kind}): {text}")]
    Failed {
        /// Prometheus' name for the kind of error.
        kind: String,
        /// The explanation by Prometheus.
        text: String,
    },
    /// The response is too large to be one number.
    #[error(
        "the response is larger than 1 MB; the query must yield one sample: aggregate it, as with sum(…) or max(…)"
    )]
    TooLarge,
    /// The connection was lost before the end of the response.
    #[error("the connection was lost in the middle of the response")]
    CutOff,
    /// The responder is not Prometheus.
    #[error("the response is not from the Prometheus API{}; {CHECK_PATH}", quoted(.text))]
    NotPrometheus {
        /// The start of the response.
        text: String,
    },
    /// Not all data could be read.
    #[error("the result may be incomplete, so it is not used: {0}")]
    Incomplete(String),
    /// The type of the result is not a number.
    #[error("the query yields a {kind}, not a number at one instant; {}", advice_on_type(.kind))]
    WrongType {
        /// Prometheus' name for the type of the result.
        kind: String,
    },
    /// No series matches.
    #[error(
        "the query yields no sample: no series matches at this moment; check its names and labels, or add a default, as with (…) or vector(0)"
    )]
    NoSample,
    /// Several series match.
    #[error("the query yields {0} samples, not one; aggregate them, as with sum(…) or max(…)")]
    SeveralSamples(usize),
    /// The sample is a histogram.
    #[error(
        "the query yields a histogram, not a number; use histogram_quantile(…), histogram_avg(…) or histogram_count(…)"
    )]
    Histogram,
    /// The number cannot be scaled by.
    #[error("the query yields {value}{}", advice_on_value(.value))]
    NotFinite {
        /// `NaN`, `+Inf` or `-Inf`.
        value: &'static str,
    },
}

impl QueryProblem {
    /// Whether Prometheus exceeded its time: a retry would hold a permit for as long again.
    #[must_use]
    pub fn is_too_slow(&self) -> bool {
        match self {
            Self::TimedOut { .. } => true,
            Self::Failed { kind, .. } => kind == "timeout",
            // The response of a proxy whose timeout ended first.
            Self::HttpStatus { status, .. } => status.starts_with("504"),
            _ => false,
        }
    }

    /// The label of the problem in metrics.
    #[must_use]
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Unreachable(_) => "unreachable",
            Self::TimedOut { .. } => "timeout",
            Self::Unauthorized { .. } => "unauthorized",
            Self::Redirected { .. } => "redirect",
            Self::HttpStatus { .. } => "http_status",
            Self::QueryInvalid(_) => "query_invalid",
            Self::Failed { .. } => "failed",
            Self::TooLarge => "too_large",
            Self::CutOff => "cut_off",
            Self::NotPrometheus { .. } => "not_prometheus",
            Self::Incomplete(_) => "incomplete",
            Self::WrongType { .. } => "wrong_type",
            Self::NoSample => "no_sample",
            Self::SeveralSamples(_) => "several_samples",
            Self::Histogram => "histogram",
            Self::NotFinite { .. } => "not_finite",
        }
    }
}

const CHECK_PATH: &str = "check --prometheus-uri, with the path before /api/v1 if there is one";

fn advice_on_status(is_server_error: bool) -> &'static str {
    if is_server_error {
        "check whether Prometheus, or a proxy before it, is in order"
    } else {
        CHECK_PATH
    }
}

fn advice_on_token(has_token: bool) -> &'static str {
    if has_token {
        "check that the token in --prometheus-token-file is valid, and may query"
    } else {
        "set --prometheus-token-file to a file with a token that may query"
    }
}

fn pointing(to: Option<&str>) -> String {
    to.map(|to| format!(", a redirect to {to}")).unwrap_or_default()
}

fn quoted(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!(" ({text:?})") }
}

fn advice_on_type(kind: &str) -> &'static str {
    match kind {
        "matrix" => "leave out the range, or aggregate over it, as with avg_over_time(…)",
        _ => "write an expression of numbers",
    }
}

fn advice_on_value(value: &str) -> &'static str {
    match value {
        "NaN" => ", which is not a number: often zero divided by zero, or an average of nothing",
        _ => ", which is not a usable number: often a division by zero",
    }
}

/// The error of a client that got no response, in one line.
pub(super) fn unreachable(error: &(dyn std::error::Error + 'static)) -> QueryProblem {
    QueryProblem::Unreachable(excerpt(&deepest(error)))
}

/// The maximum number of quoted characters of external text.
const EXCERPT_CHARACTERS: usize = 200;

/// The start of external text on one line, with printable characters only.
pub(super) fn excerpt(text: &str) -> String {
    let mut words = String::new();
    for word in text.split(|letter: char| letter.is_whitespace() || letter.is_control()) {
        if word.is_empty() {
            continue;
        }
        if !words.is_empty() {
            words.push(' ');
        }
        words.push_str(word);
        if words.len() > 4 * EXCERPT_CHARACTERS {
            break;
        }
    }
    let Some((end, _)) = words.char_indices().nth(EXCERPT_CHARACTERS) else { return words };
    words.truncate(end);
    let _ = words.write_char('…');
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excerpt_is_one_short_line() {
        assert_eq!(excerpt("<html>\r\n\t<b>\u{1b}[31mhello</b>"), "<html> <b> [31mhello</b>");
        let long = excerpt(&"ä".repeat(1_000_000));
        assert_eq!(long.chars().count(), EXCERPT_CHARACTERS + 1);
        assert!(long.ends_with('…'));
        assert_eq!(excerpt(" \n "), "");
    }
}

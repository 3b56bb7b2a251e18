//! From a response of the HTTP API to the one number in it, or to the problem with it.

use std::borrow::Cow;

use http::header::LOCATION;
use http::{HeaderMap, StatusCode};
use hyper::body::Bytes;
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::problem::{QueryProblem, excerpt};
use crate::json_parts;

/// A whole response.
pub(super) struct PrometheusResponse {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

/// The common fields of every response of the API.
#[derive(Deserialize)]
struct ResponseEnvelope<'a> {
    #[serde(borrow)]
    status: Cow<'a, str>,
    #[serde(default)]
    data: Option<IgnoredAny>,
    #[serde(default)]
    warnings: Option<Vec<String>>,
    #[serde(rename = "errorType", default)]
    error_kind: Option<String>,
    #[serde(default)]
    error: Option<String>,
}

struct Data<'a> {
    kind: Cow<'a, str>,
    /// The result as JSON, until its expected type is known.
    result: &'a str,
}

/// An instant, and a number as a string.
type Point<'a> = (f64, Cow<'a, str>);

/// One element of a vector; its labels do not matter.
#[derive(Deserialize)]
struct Element<'a> {
    #[serde(borrow, default)]
    value: Option<Point<'a>>,
    #[serde(default)]
    histogram: Option<IgnoredAny>,
}

impl PrometheusResponse {
    pub(super) fn read(&self, has_token: bool) -> Result<f64, QueryProblem> {
        let envelope = serde_json::from_slice::<ResponseEnvelope<'_>>(&self.body);
        if let Ok(ResponseEnvelope { status, error_kind: Some(kind), error, .. }) = &envelope
            && status == "error"
        {
            return Err(failed(kind, error.as_deref().unwrap_or_default()));
        }
        if !self.status.is_success() {
            return Err(self.refused(has_token));
        }
        match envelope {
            Ok(ResponseEnvelope { status, data: Some(_), warnings, .. }) if status == "success" => {
                let mut warnings = warnings.iter().flatten();
                match warnings.find(|warning| !is_about_the_query(warning)) {
                    Some(warning) => Err(QueryProblem::Incomplete(excerpt(warning))),
                    None => match self.data() {
                        Some(data) => data.number(),
                        None => Err(QueryProblem::NotPrometheus { text: self.beginning() }),
                    },
                }
            }
            Err(error) if self.ends_at(&error) => Err(QueryProblem::CutOff),
            _ => Err(QueryProblem::NotPrometheus { text: self.beginning() }),
        }
    }

    fn data(&self) -> Option<Data<'_>> {
        let data = field(std::str::from_utf8(&self.body).ok()?, "data")?;
        let kind = serde_json::from_str(field(data, "resultType")?).ok()?;
        Some(Data { kind, result: field(data, "result")? })
    }

    /// Whether the response is valid except for its early end.
    fn ends_at(&self, error: &serde_json::Error) -> bool {
        // The parser does not recognize a truncated number or string. The API responds in one line.
        let at_end = (error.line(), error.column()) == (1, self.body.len());
        !self.body.is_empty() && (error.is_eof() || (error.is_syntax() && at_end))
    }

    /// The problem behind an unsuccessful response that Prometheus does not explain.
    fn refused(&self, has_token: bool) -> QueryProblem {
        let status = self.status.to_string();
        match self.status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                QueryProblem::Unauthorized { status, has_token }
            }
            _ if self.status.is_redirection() => {
                let to =
                    self.headers.get(LOCATION).map(|to| String::from_utf8_lossy(to.as_bytes()));
                QueryProblem::Redirected { status, to: to.map(|to| excerpt(&to)) }
            }
            _ => {
                let (is_server_error, text) = (self.status.is_server_error(), self.beginning());
                QueryProblem::HttpStatus { status, is_server_error, text }
            }
        }
    }

    fn beginning(&self) -> String {
        // Only the start is quoted.
        let beginning = &self.body[..self.body.len().min(4096)];
        excerpt(&String::from_utf8_lossy(beginning))
    }
}

/// The JSON of a field of an object.
fn field<'a>(object: &'a str, name: &str) -> Option<&'a str> {
    let fields = json_parts::fields(object).ok()?;
    fields.into_iter().find(|(it, _)| it == name).map(|(_, value)| value)
}

fn failed(kind: &str, error: &str) -> QueryProblem {
    let text = excerpt(error);
    match kind {
        "bad_data" => QueryProblem::QueryInvalid(text),
        _ => QueryProblem::Failed { kind: excerpt(kind), text },
    }
}

/// Whether a warning is advice on the query, which is still evaluated as a whole. Other warnings report unreadable
/// data, for example if a remote storage has not responded.
fn is_about_the_query(warning: &str) -> bool {
    warning.starts_with("PromQL warning:") || warning.starts_with("PromQL info:")
}

impl Data<'_> {
    fn number(&self) -> Result<f64, QueryProblem> {
        let result = self.result;
        let strange = |_| QueryProblem::NotPrometheus { text: excerpt(result) };
        match &*self.kind {
            "scalar" => number(&serde_json::from_str(result).map_err(strange)?, result),
            "vector" => {
                let elements: Vec<Element<'_>> = serde_json::from_str(result).map_err(strange)?;
                match elements.as_slice() {
                    [] => Err(QueryProblem::NoSample),
                    [Element { value: Some(point), .. }] => number(point, result),
                    [Element { histogram: Some(_), .. }] => Err(QueryProblem::Histogram),
                    [_] => Err(QueryProblem::NotPrometheus { text: excerpt(result) }),
                    several => Err(QueryProblem::SeveralSamples(several.len())),
                }
            }
            other => Err(QueryProblem::WrongType { kind: excerpt(other) }),
        }
    }
}

fn number((_, text): &Point<'_>, result: &str) -> Result<f64, QueryProblem> {
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() => Ok(number),
        Ok(number) if number.is_nan() => Err(QueryProblem::NotFinite { value: "NaN" }),
        Ok(number) if number > 0.0 => Err(QueryProblem::NotFinite { value: "+Inf" }),
        Ok(_) => Err(QueryProblem::NotFinite { value: "-Inf" }),
        Err(_) => Err(QueryProblem::NotPrometheus { text: excerpt(result) }),
    }
}

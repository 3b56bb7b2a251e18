//! The results of responses, and of servers that do not respond, over real sockets.

mod rotation;
mod server;

use super::*;
use crate::log::warnings::Warnings;
use crate::process_metrics::tests::exported;
use server::{AfterResponse, Server, ok, vector};

fn options(url: &str) -> PrometheusOptions {
    let address = url.parse().expect("an address");
    PrometheusOptions { address, token_file: None, ca_file: None }
}

fn at(url: &str) -> Prometheus {
    Prometheus::new(options(url), QueryMetrics::default()).expect("a Prometheus")
}

/// The result of a query on behalf of a namespace.
async fn send_query(
    prometheus: &Prometheus,
    namespace: &str,
    promql: &str,
) -> Result<f64, QueryProblem> {
    let permit = prometheus.permit(namespace).await;
    prometheus.query(&permit, promql).await
}

/// The result of a query with this response.
async fn answered(answer: impl Into<Vec<u8>>) -> Result<f64, QueryProblem> {
    let server = Server::start(answer, AfterResponse::Close).await;
    send_query(&at(&server.url()), "shop", "tide").await
}

async fn problem(answer: impl Into<Vec<u8>>) -> QueryProblem {
    answered(answer).await.expect_err("not a number")
}

/// The problem of each response: its reason, and words of its message.
async fn assert_problems<const N: usize>(cases: [(Vec<u8>, &str, &str); N]) {
    for (answer, reason, words) in cases {
        let problem = problem(answer).await;
        assert_eq!(problem.reason(), reason, "{problem}");
        assert!(problem.to_string().contains(words), "{problem}");
    }
}

fn success(kind: &str, result: &str) -> Vec<u8> {
    ok(&format!(r#"{{"status":"success","data":{{"resultType":"{kind}","result":{result}}}}}"#))
}

fn with_status(status: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
}

#[tokio::test]
async fn a_vector_of_one_sample_or_a_scalar_yields_its_number() {
    for (text, number) in [("7", 7.0), ("-0.5", -0.5), ("1e+06", 1_000_000.0)] {
        let point = format!("[1754000000.123,\"{text}\"]");
        for answer in [vector(&[text]), success("scalar", &point)] {
            let result = answered(answer).await.expect("a number");
            assert_eq!(result.total_cmp(&number), std::cmp::Ordering::Equal, "{result}");
        }
    }
    // As from servers that close the connection at the end of a response.
    let body = String::from_utf8(vector(&["3"])).expect("a text response");
    let (_, body) = body.split_once("\r\n\r\n").expect("a head");
    assert_eq!(answered(format!("HTTP/1.0 200 OK\r\n\r\n{body}")).await, Ok(3.0));
}

#[tokio::test]
async fn a_query_is_sent_unchanged_below_the_path_prefix() {
    let server = Server::start(vector(&["1"]), AfterResponse::Close).await;
    let prometheus = at(&format!("{}/up/", server.url()));
    assert_eq!(send_query(&prometheus, "shop", "sum(a{b=\"ü&c\"}) + 1").await, Ok(1.0));
    let request = server.requests().join("");
    let line = "GET /up/api/v1/query?query=sum%28a%7Bb%3D%22%C3%BC%26c%22%7D%29+%2B+1&timeout=5s ";
    assert!(request.starts_with(line), "{request}");
    assert!(request.contains("user-agent: almanac/"), "{request}");
    assert!(!request.contains("authorization"), "{request}");
}

#[tokio::test]
async fn a_long_query_is_sent_as_a_form() {
    let server = Server::start(vector(&["1"]), AfterResponse::Close).await;
    let query = vec!["tide"; 600].join("+");
    assert_eq!(send_query(&at(&server.url()), "shop", &query).await, Ok(1.0));
    let request = server.requests().join("");
    assert!(request.starts_with("POST /api/v1/query HTTP/1.1\r\n"), "{request}");
    assert!(request.contains("content-type: application/x-www-form-urlencoded"), "{request}");
    let whole = format!("query={}&timeout=5s", query.replace('+', "%2B"));
    assert!(request.ends_with(&whole), "{request}");
}

#[tokio::test]
async fn a_result_that_is_not_one_finite_number_includes_a_fix_of_the_query() {
    let cases = [
        (success("vector", "[]"), "no_sample", "or vector(0)"),
        (vector(&["1", "2", "3"]), "several_samples", "yields 3 samples, not one; aggregate them"),
        (vector(&["NaN"]), "not_finite", "yields NaN"),
        (vector(&["+Inf"]), "not_finite", "yields +Inf"),
        (vector(&["-Inf"]), "not_finite", "yields -Inf"),
        (success("scalar", "[1,\"NaN\"]"), "not_finite", "yields NaN"),
        (success("matrix", "[]"), "wrong_type", "yields a matrix"),
        (success("string", "[1,\"2\"]"), "wrong_type", "yields a string"),
        (
            success("vector", r#"[{"metric":{},"histogram":[1,{"count":"1"}]}]"#),
            "histogram",
            "histogram_quantile(…)",
        ),
        (success("vector", r#"[{"metric":{}}]"#), "not_prometheus", "check --prometheus-uri"),
        (vector(&["ten"]), "not_prometheus", "ten"),
        (success("scalar", "7"), "not_prometheus", "check --prometheus-uri"),
    ];
    assert_problems(cases).await;
}

#[tokio::test]
async fn a_warning_about_missing_data_is_a_problem_but_advice_on_the_query_is_not() {
    let with = |warnings: &str| {
        let data = r#"{"resultType":"scalar","result":[1,"4"]}"#;
        ok(&format!(r#"{{"status":"success","data":{data},"warnings":{warnings}}}"#))
    };
    let advice = r#"["PromQL info: metric might not be a counter","PromQL warning: bad bucket"]"#;
    assert_eq!(answered(with(advice)).await, Ok(4.0));
    let missing = problem(with(r#"["PromQL info: x","store b does not answer"]"#)).await;
    assert_eq!(missing, QueryProblem::Incomplete("store b does not answer".to_owned()));
}

#[tokio::test]
async fn an_error_from_prometheus_is_quoted_but_truncated() {
    let error = |kind: &str, text: &str| {
        format!(r#"{{"status":"error","errorType":"{kind}","error":"{text}"}}"#)
    };
    let unreadable = error("bad_data", "1:5: parse error: unexpected end of input");
    let unreadable = problem(with_status("400 Bad Request", &unreadable)).await;
    assert_eq!(unreadable.reason(), "query_invalid");
    assert!(unreadable.to_string().ends_with("1:5: parse error: unexpected end of input"));
    let slow = error("timeout", "query timed out in expression evaluation");
    let slow = problem(with_status("503 Service Unavailable", &slow)).await;
    assert!(slow.to_string().contains("(timeout): query timed out"), "{slow}");
    // An error with a successful status.
    let long = problem(ok(&error("internal", &"x".repeat(100_000)))).await;
    assert!(long.to_string().len() < 400 && long.reason() == "failed", "{long}");
}

#[tokio::test]
async fn an_answer_that_is_not_from_prometheus_is_quoted() {
    let page = "<!DOCTYPE html>\n<title>Sign in</title>";
    let deep = format!("{}1{}", "[".repeat(200_000), "]".repeat(200_000));
    let deep_result = format!(r#"[{{"metric":{deep},"value":[1,{deep}]}}]"#);
    let cases = [
        (ok(page), "not_prometheus", "\"<!DOCTYPE html> <title>Sign in</title>\""),
        (ok(""), "not_prometheus", "not from the Prometheus API; check"),
        (ok("{}"), "not_prometheus", "\"{}\""),
        (ok(r#"{"status":"success"}"#), "not_prometheus", "success"),
        (ok(r#"{"status":"error"}"#), "not_prometheus", "error"),
        (ok(&deep), "not_prometheus", "[[["),
        (success("vector", &deep_result), "not_prometheus", "[[["),
        (with_status("404 Not Found", "no such page").into(), "http_status", "path before /api/v1"),
        (with_status("500 Oops", page).into(), "http_status", "500 Internal Server Error"),
        (with_status("503 x", "").into(), "http_status", "503 Service Unavailable; check whether"),
        (with_status("401 x", "").into(), "unauthorized", "set --prometheus-token-file"),
        (with_status("403 x", "").into(), "unauthorized", "403 Forbidden"),
    ];
    assert_problems(cases).await;
}

#[tokio::test]
async fn a_redirect_is_reported_and_not_followed() {
    let elsewhere = Server::start(vector(&["1"]), AfterResponse::Close).await;
    for status in ["301 x", "302 x", "307 x", "308 x"] {
        let to = format!("{}/login", elsewhere.url());
        let answer = format!("HTTP/1.1 {status}\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n");
        let problem = problem(answer).await;
        assert_eq!(problem.reason(), "redirect");
        assert!(problem.to_string().contains(&to), "{problem}");
    }
    assert_eq!(elsewhere.requests(), Vec::<String>::new());
}

#[tokio::test]
async fn an_answer_over_one_megabyte_is_rejected_while_it_is_read() {
    let (before, after) =
        (r#"{"status":"success","data":"#, r#"{"resultType":"vector","result":[]}}"#);
    let filled = |bytes: usize| {
        let space = " ".repeat(bytes - before.len() - after.len());
        ok(&format!("{before}{space}{after}"))
    };
    assert_eq!(answered(filled(MAX_ANSWER_BYTES)).await, Err(QueryProblem::NoSample));
    assert_eq!(answered(filled(MAX_ANSWER_BYTES + 1)).await, Err(QueryProblem::TooLarge));
    let endless = Server::start("HTTP/1.1 200 OK\r\n\r\n", AfterResponse::Endless).await;
    assert_eq!(send_query(&at(&endless.url()), "shop", "tide").await, Err(QueryProblem::TooLarge));
    endless.is_left().await;
}

#[tokio::test]
async fn a_truncated_answer_is_reported_as_cut_off() {
    let whole = String::from_utf8(vector(&["12"])).expect("a text response");
    let (head, body) = whole.split_once("\r\n\r\n").expect("a head");
    for end in ["\"status", "{\"metric", "0.123,", "1754000000.12", "\"12", "\"12\"]}"] {
        let half = &body[..body.find(end).expect(end) + end.len()];
        assert_eq!(problem(format!("{head}\r\n\r\n{half}")).await, QueryProblem::CutOff);
        let old = problem(format!("HTTP/1.0 200 OK\r\n\r\n{half}")).await;
        assert_eq!(old, QueryProblem::CutOff, "{half}");
    }
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n20\r\n{\"status\"";
    assert_eq!(problem(chunked).await, QueryProblem::CutOff);
    for nothing in ["", "HTTP/1.1 200 OK\r\nContent-Le", "SSH-2.0-x\r\n"] {
        assert_eq!(problem(nothing).await.reason(), "unreachable", "{nothing:?}");
    }
}

#[tokio::test]
async fn a_refused_connection_is_reported() {
    let server = Server::start("", AfterResponse::Close).await;
    let url = server.url();
    drop(server);
    let problem = send_query(&at(&url), "shop", "tide").await.expect_err("no server listens");
    assert_eq!(problem.reason(), "unreachable");
    assert!(problem.to_string().contains("Connection refused"), "{problem}");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_hangs_or_trickles_times_out() {
    let half = "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n{";
    for (beginning, after) in
        [("", AfterResponse::Hang), (half, AfterResponse::Hang), (half, AfterResponse::Drip)]
    {
        let server = Server::start(beginning, after).await;
        let prometheus = at(&server.url());
        let begun = Instant::now();
        let result = send_query(&prometheus, "shop", "tide").await;
        assert_eq!(result, Err(QueryProblem::TimedOut { seconds: 8 }));
        assert_eq!(begun.elapsed().as_secs(), ANSWER_TIMEOUT.as_secs());
        server.is_left().await;
    }
}

#[tokio::test(start_paused = true)]
async fn queries_over_the_limit_wait_for_their_turn() {
    let server = Server::start("", AfterResponse::Hang).await;
    let prometheus = at(&server.url());
    let namespaces = ["shop", "sea"].into_iter().cycle();
    let queries =
        namespaces.take(MAX_QUERIES * 2 + 5).map(|it| send_query(&prometheus, it, "tide"));
    let begun = Instant::now();
    let results = futures::future::join_all(queries).await;
    let timed_out = Err(QueryProblem::TimedOut { seconds: ANSWER_TIMEOUT.as_secs() });
    assert!(results.iter().all(|it| *it == timed_out), "{results:?}");
    assert_eq!(begun.elapsed().as_secs(), ANSWER_TIMEOUT.as_secs() * 3);
    assert_eq!(server.most_at_once(), MAX_QUERIES);
}

#[tokio::test(start_paused = true)]
async fn the_hanging_queries_of_a_namespace_keep_no_query_of_another_waiting() {
    let server = Server::start("", AfterResponse::Hang).await;
    let prometheus = at(&server.url());
    let noisy =
        futures::future::join_all((0..60).map(|_| send_query(&prometheus, "noisy", "tide")));
    let other = async {
        let begun = Instant::now();
        let result = send_query(&prometheus, "shop", "tide").await;
        (result, begun.elapsed().as_secs())
    };
    let (_, other) = tokio::join!(noisy, other);
    // The query was sent immediately: only the server takes time.
    let timed_out = Err(QueryProblem::TimedOut { seconds: ANSWER_TIMEOUT.as_secs() });
    assert_eq!(other, (timed_out, ANSWER_TIMEOUT.as_secs()));
}

#[tokio::test]
async fn queries_are_counted_by_result_and_not_logged() {
    let logged = Warnings::collect();
    let metrics = QueryMetrics::default();
    for answer in [vector(&["1"]), with_status("500 x", "").into(), Vec::new()] {
        let server = Server::start(answer, AfterResponse::Close).await;
        let prometheus = Prometheus::new(options(&server.url()), metrics.clone());
        let _result = send_query(&prometheus.expect("a Prometheus"), "shop", "tide").await;
    }
    assert_eq!(logged.lines(), Vec::<String>::new());
    let text = exported(|registry| metrics.register(registry));
    for result in ["ok", "http_status", "unreachable"] {
        let line = format!("almanac_prometheus_queries_total{{result=\"{result}\"}} 1");
        assert!(text.lines().any(|it| it == line), "no {line} in {text}");
    }
    assert!(text.contains("almanac_prometheus_query_seconds_count 3"), "{text}");
}

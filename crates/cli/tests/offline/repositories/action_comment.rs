//! The comment of the action on a pull request: its script runs against a small fake of GitHub.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::repositories::action::{BINARY, Runner, checkout};
use crate::repositories::repository::{Ran, policy};

const BOT: &str = "github-actions[bot]";

/// The page size of comments on GitHub.
const PAGE: usize = 100;

/// The part of GitHub's API that the action uses.
struct GitHub {
    address: String,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    /// The author and the text of each comment.
    comments: Vec<(String, String)>,
    /// The writes: the method and the number of the comment.
    written: Vec<(String, usize)>,
    /// Whether comments are deleted once they are listed.
    deletes: bool,
    /// The response to every request: the status, more headers, and the message. `None` for regular responses.
    refuses_with: Option<(u16, &'static str, &'static str)>,
}

impl GitHub {
    fn start() -> GitHub {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let state = Arc::new(Mutex::new(State::default()));
        let (of_thread, own_address) = (Arc::clone(&state), address.clone());
        thread::spawn(move || {
            for stream in listener.incoming() {
                answer(stream.unwrap(), &own_address, &of_thread);
            }
        });
        GitHub { address, state }
    }

    fn comment(&self, author: &str, text: &str) {
        self.state.lock().unwrap().comments.push((author.to_owned(), text.to_owned()));
    }

    /// The writes since the last call.
    fn written(&self) -> Vec<(String, usize)> {
        std::mem::take(&mut self.state.lock().unwrap().written)
    }

    fn text(&self, number: usize) -> String {
        self.state.lock().unwrap().comments[number].1.clone()
    }

    fn refuse_with(&self, status: Option<u16>) {
        self.state.lock().unwrap().refuses_with = status.map(|it| (it, "", "no"));
    }

    fn refuse_with_message(&self, status: u16, headers: &'static str, message: &'static str) {
        self.state.lock().unwrap().refuses_with = Some((status, headers, message));
    }

    /// Runs the action with its comment, and with further variables of the workflow.
    fn run(&self, checkout: &Path, known: &[(&str, &str)]) -> (Ran, String) {
        let usual = [
            BINARY,
            ("inputs.comment", "true"),
            ("github.api_url", &self.address),
            ("github.server_url", "https://github.example"),
            ("github.repository", "shops/policies"),
            ("github.run_id", "5"),
            ("github.token", "secret"),
            ("github.workflow", "All \"policies\" -->"),
            ("github.job", "almanac"),
            ("github.event.pull_request.number", "7"),
            ("github.event.pull_request.head.repo.full_name", "shops/policies"),
        ];
        let (mut ran, summary) = Runner::new(checkout, &[&usual[..], known].concat()).run();
        (ran.remove("comment").unwrap(), summary)
    }
}

/// Reads one request of a connection, and sends the response.
fn answer(stream: TcpStream, address: &str, state: &Mutex<State>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        match line.trim_end() {
            "" => break,
            line => lines.push(line.to_owned()),
        }
    }
    let header = |name: &str| {
        let mut fields = lines.iter().filter_map(|line| line.split_once(": "));
        fields.find(|(field, _)| field.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    };
    let mut stream = stream;
    if header("expect").is_some() {
        stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").unwrap();
    }
    let length = header("content-length").map_or(0, |it| it.parse().unwrap());
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    assert_eq!(header("authorization"), Some("Bearer secret"));
    let words: Vec<&str> = lines[0].split(' ').collect();
    let (status, more, body) = state.lock().unwrap().respond(words[0], words[1], &body, address);
    let head =
        format!("HTTP/1.1 {status} -\r\nContent-Length: {}\r\nConnection: close", body.len());
    stream.write_all(format!("{head}{more}\r\n\r\n{body}").as_bytes()).unwrap();
}

impl State {
    /// The status, more headers, and the body.
    fn respond(
        &mut self,
        method: &str,
        path: &str,
        body: &[u8],
        address: &str,
    ) -> (u16, String, String) {
        if let Some((status, headers, message)) = self.refuses_with {
            return (status, headers.to_owned(), format!("{{\"message\": \"{message}\"}}"));
        }
        let text = || {
            let sent: Value = serde_json::from_slice(body).unwrap();
            sent["body"].as_str().unwrap().to_owned()
        };
        let of_pull_request = "/repos/shops/policies/issues/7/comments";
        let (number, status) = match method {
            "POST" => {
                assert_eq!(path, of_pull_request);
                self.comments.push((BOT.to_owned(), text()));
                (self.comments.len() - 1, 201)
            }
            "PATCH" => {
                let number = path.strip_prefix("/repos/shops/policies/issues/comments/").unwrap();
                let number: usize = number.parse().unwrap();
                if self.deletes {
                    return (404, String::new(), "{\"message\": \"Not Found\"}".to_owned());
                }
                self.comments[number].1 = text();
                (number, 200)
            }
            _ => {
                let page = path.strip_prefix(of_pull_request).unwrap();
                let page: usize =
                    page.strip_prefix("?per_page=100&page=").unwrap().parse().unwrap();
                let all = self.comments.iter().enumerate().skip((page - 1) * PAGE).take(PAGE);
                let all: Vec<String> = all.map(|(number, it)| json(number, it, address)).collect();
                let is_last = self.comments.len() <= page * PAGE;
                let more = if is_last { "" } else { "\r\nLink: <http://x>; rel=\"next\"" };
                return (200, more.to_owned(), format!("[{}]", all.join(",")));
            }
        };
        self.written.push((method.to_owned(), number));
        (status, String::new(), "{}".to_owned())
    }
}

/// A comment with the field order of GitHub.
fn json(number: usize, (author, text): &(String, String), address: &str) -> String {
    let url = format!("{address}/repos/shops/policies/issues/comments/{number}");
    let (author, text) = (Value::from(author.as_str()), Value::from(text.as_str()));
    format!(
        "{{\"url\":\"{url}\",\"html_url\":\"{url}\",\"id\":{number},\"user\":{{\"login\":{author},\"url\":\"{address}\"}},\
         \"body\":{text},\"reactions\":{{\"url\":\"{url}/reactions\"}}}}"
    )
}

/// A checkout in which one rule has a new time, so that both rules fire at the same time.
fn changed(name: &str) -> (std::path::PathBuf, String) {
    let before = policy("hours", "shop", 3);
    checkout(name, &before, &before.replace("0 20", "0 8"))
}

#[test]
fn a_pull_request_has_one_comment_that_later_runs_update() {
    let (checkout, base) = changed("comment-once");
    let github = GitHub::start();
    for number in 0..PAGE + 20 {
        github.comment("anna", &format!("\"url\": \"x/issues/comments/{number}\" \\"));
    }
    let compared = ("github.event.pull_request.base.sha", base.as_str());
    let (ran, summary) = github.run(&checkout, &[compared]);
    ran.assert_output(0, &["created a comment"]);
    let number = PAGE + 20;
    assert_eq!(github.written(), [("POST".to_owned(), number)]);
    let text = github.text(number);
    assert!(text.starts_with("<!-- almanac-comment:"), "{text}");
    assert_eq!(text.matches("-->").count(), 1, "{text}");
    for part in ["### Almanac: findings\n", "same-minute", "what this change does\n", "3 → 1 "] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let table = summary.lines().find(|line| line.starts_with("| warning |")).unwrap();
    assert!(text.contains(table), "{text}");
    // A copy by another user is not treated as the comment.
    github.comment("mallory", &text);
    github.state.lock().unwrap().comments.swap(0, number + 1);
    fs::write(checkout.join("shop policies/hours.yaml"), policy("hours", "shop", 3)).unwrap();
    let (ran, _) = github.run(&checkout, &[compared]);
    ran.assert_output(0, &["updated "]);
    assert_eq!(github.written(), [("PATCH".to_owned(), number)]);
    assert!(github.text(number).contains("no problems found"), "{}", github.text(number));
    // Other jobs and other paths have separate comments.
    for other in [("github.job", "other"), ("inputs.paths", "shop policies")] {
        github.run(&checkout, &[compared, other]).0.assert_output(0, &["created a comment"]);
    }
    assert_eq!(github.written().len(), 2);
}

#[test]
fn the_comment_names_parts_that_were_not_compared_or_checked() {
    let (checkout, base) = changed("comment-parts");
    let github = GitHub::start();
    github.run(&checkout, &[]).0.assert_output(0, &["created a comment"]);
    assert!(github.text(0).contains("was not compared; see the [log of the run](https://"));
    github.run(&checkout, &[("inputs.diff", "false")]).0.assert_output(0, &["updated "]);
    assert!(!github.text(0).contains("compared"), "{}", github.text(0));
    let compared = ("github.event.pull_request.base.sha", base.as_str());
    let wrong = [compared, ("inputs.paths", "nowhere")];
    github.run(&checkout, &wrong).0.assert_output(0, &["created a comment"]);
    assert!(github.text(1).contains("could not be checked; see the [log"), "{}", github.text(1));
}

#[test]
fn a_failed_comment_does_not_fail_the_action() {
    let (checkout, _) = changed("comment-refused");
    let github = GitHub::start();
    let run = |known: &[(&str, &str)]| github.run(&checkout, known).0;
    let fork = ("github.event.pull_request.head.repo.full_name", "anna/policies");
    github.refuse_with_message(403, "", "Resource not accessible by integration");
    run(&[fork])
        .assert_output(0, &["::notice title=Almanac::no comment was written: ", "from a fork"]);
    run(&[])
        .assert_output(0, &["::warning title=Almanac::", "the permission pull-requests: write"]);
    github.refuse_with(Some(502));
    run(&[])
        .assert_output(0, &["::warning title=Almanac::", "responded with 502 (no); the summary"]);
    let locked = "Unable to create comment because issue is locked.";
    github.refuse_with_message(403, "", locked);
    run(&[fork]).assert_output(0, &["::warning title=Almanac::", locked]);
    github.refuse_with_message(403, "\r\nX-RateLimit-Remaining: 0", "no");
    run(&[]).assert_output(0, &["::warning title=Almanac::", "limits the requests of this token"]);
    github.refuse_with(None);
    let away = ("github.api_url", "http://127.0.0.1:1");
    run(&[away]).assert_output(0, &["::warning title=Almanac::", "does not respond; the summary"]);
    let push = ("github.event.pull_request.number", "");
    run(&[push]).assert_output(0, &["::notice title=Almanac::", "not about a pull request"]);
    run(&[("inputs.comment", "yes")]).assert_output(2, &["the input comment is true or false"]);
    assert!(github.written().is_empty());
}

#[test]
fn a_comment_that_was_deleted_is_created_again() {
    let (checkout, _) = changed("comment-deleted");
    let github = GitHub::start();
    github.run(&checkout, &[]).0.assert_output(0, &["created a comment"]);
    github.state.lock().unwrap().deletes = true;
    github.run(&checkout, &[]).0.assert_output(0, &["created a comment"]);
    assert_eq!(github.written().len(), 2);
}

#[test]
fn a_rate_limit_causes_no_wait() {
    let (checkout, _) = changed("comment-limit");
    let github = GitHub::start();
    let since = Instant::now();
    github.refuse_with_message(429, "\r\nRetry-After: 3600", "slow down");
    github.run(&checkout, &[]).0.assert_output(0, &["::warning title=Almanac::", "429"]);
    assert!(since.elapsed() < Duration::from_mins(5));
    assert!(github.written().is_empty());
}

#[test]
fn a_long_comment_is_cut_at_a_line_and_names_the_location_of_the_rest() {
    let of = |replicas| -> String {
        let one =
            |number: u32| policy(&format!("hours-{number}"), &format!("shop-{number}"), replicas);
        let all: Vec<String> = (0..700).map(one).collect();
        all.join("---\n").replace("0 20", "0 8")
    };
    let (checkout, base) = checkout("comment-long", &of(3), &of(4));
    let github = GitHub::start();
    let compared = ("github.event.pull_request.base.sha", base.as_str());
    github.run(&checkout, &[compared]).0.assert_output(0, &["created a comment"]);
    let text = github.text(0);
    let length = text.chars().count();
    assert!((50_000..=65_536).contains(&length), "{length} characters");
    let (table, rest) =
        text.split_once("\nThis is shortened; the whole is in the [summary").unwrap();
    assert!(table.ends_with("|\n"), "{}", &table[table.len() - 100..]);
    let run = " of the run](https://github.example/shops/policies/actions/runs/5).\n";
    assert!(rest.starts_with(run), "{rest}");
    assert!(rest.contains("what this change does\n"), "{rest}");
}

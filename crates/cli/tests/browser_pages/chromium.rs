//! The part of a browser's debugging protocol that the tests need.
//!
//! Messages are JSON, each terminated by a zero byte. The browser reads them from its file descriptor 3 and writes them
//! to 4. The shell connects these to the pipes of the child's standard streams.

#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::installing::needs;

const BROWSER: &str = "chromium";
const OPTIONS: &str = "--headless --no-sandbox --disable-gpu --disable-background-networking \
                       --disable-component-update --disable-sync --no-first-run \
                       --window-size=1280,900 --hide-scrollbars --remote-debugging-pipe";

/// A page in a separate browser.
pub(crate) struct Page {
    browser: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    session: String,
    last: u64,
    events: Vec<Value>,
}

impl Drop for Page {
    fn drop(&mut self) {
        // The browser may already have ended; then the error does not matter.
        let _ = self.browser.kill();
        let _ = self.browser.wait();
    }
}

impl Page {
    /// Opens a page and waits until it is drawn.
    pub(crate) fn open(folder: &Path, url: &str) -> Page {
        needs(BROWSER);
        let profile = folder.join("profile");
        let script = format!(
            "exec {BROWSER} {OPTIONS} --user-data-dir='{}' 3<&0 4>&1 </dev/null >/dev/null 2>&1",
            profile.display()
        );
        let mut browser = Command::new("sh")
            .args(["-c", &script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = browser.stdin.take().unwrap();
        let output = BufReader::new(browser.stdout.take().unwrap());
        let (session, last, events) = (String::new(), 0, Vec::new());
        let mut page = Page { browser, input, output, session, last, events };
        let target = page.call("Target.createTarget", &json!({ "url": "about:blank" }));
        let target = &target["targetId"];
        let attach = json!({ "targetId": target, "flatten": true });
        let attached = page.call("Target.attachToTarget", &attach);
        attached["sessionId"].as_str().unwrap().clone_into(&mut page.session);
        for domain in ["Runtime.enable", "Log.enable", "Page.enable", "Network.enable"] {
            page.call(domain, &json!({}));
        }
        page.call("Page.navigate", &json!({ "url": url }));
        page.wait_for_event("Page.loadEventFired");
        page
    }

    /// The value of an expression, once all requested drawing is done.
    pub(crate) fn evaluate(&mut self, expression: &str) -> Value {
        let settled = format!(
            "(async () => {{ const frame = () => new Promise(requestAnimationFrame); \
             const value = () => ({expression}); \
             await frame(); await frame(); const it = await value(); await frame(); await frame(); \
             return it; }})()"
        );
        let request = json!({ "expression": settled, "awaitPromise": true, "returnByValue": true });
        let response = self.call("Runtime.evaluate", &request);
        assert!(response["exceptionDetails"].is_null(), "{expression}: {response}");
        response["result"]["value"].clone()
    }

    /// Sets the color scheme that the user prefers.
    pub(crate) fn prefer(&mut self, scheme: &str) {
        let feature = json!({ "name": "prefers-color-scheme", "value": scheme });
        self.call("Emulation.setEmulatedMedia", &json!({ "features": [feature] }));
    }

    /// Emulates paper or a screen as the medium of the page.
    pub(crate) fn on_medium(&mut self, medium: &str) {
        self.call("Emulation.setEmulatedMedia", &json!({ "media": medium }));
    }

    /// Sets the size of the page in pixels.
    pub(crate) fn resize(&mut self, width: u32, height: u32) {
        let size =
            json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.call("Emulation.setDeviceMetricsOverride", &size);
    }

    /// Emulates a feature of the medium of the page.
    pub(crate) fn with_feature(&mut self, name: &str, value: &str) {
        let feature = json!({ "name": name, "value": value });
        self.call("Emulation.setEmulatedMedia", &json!({ "features": [feature] }));
    }

    /// Presses a key and releases it; with Shift, if the name starts with Shift.
    pub(crate) fn press(&mut self, key: &str) {
        let (modifiers, key) = key.strip_prefix("Shift+").map_or((0, key), |key| (8, key));
        let text = if key.chars().count() == 1 { key } else { "" };
        for what in ["keyDown", "keyUp"] {
            let text = if what == "keyDown" { text } else { "" };
            let event = json!({ "type": what, "key": key, "text": text, "modifiers": modifiers });
            self.call("Input.dispatchKeyEvent", &event);
        }
    }

    /// Presses the mouse button at one position and releases it at another.
    pub(crate) fn drag(&mut self, from: (f64, f64), to: (f64, f64)) {
        let mut mouse = |what: &str, (x, y): (f64, f64), buttons: u32| {
            let event = json!({
                "type": what, "x": x, "y": y, "button": "left", "buttons": buttons, "clickCount": 1,
            });
            self.call("Input.dispatchMouseEvent", &event);
        };
        mouse("mouseMoved", from, 0);
        mouse("mousePressed", from, 1);
        if from != to {
            mouse("mouseMoved", (f64::midpoint(from.0, to.0), to.1), 1);
            mouse("mouseMoved", to, 1);
        }
        mouse("mouseReleased", to, 0);
    }

    pub(crate) fn click(&mut self, at: (f64, f64)) {
        self.drag(at, at);
    }

    /// Turns the wheel by this number of pixels, with Ctrl or without.
    pub(crate) fn wheel(&mut self, (x, y): (f64, f64), by: f64, with_control: bool) {
        let modifiers = if with_control { 2 } else { 0 };
        let event = json!({
            "type": "mouseWheel", "x": x, "y": y, "deltaX": 0, "deltaY": by, "modifiers": modifiers,
        });
        self.call("Input.dispatchMouseEvent", &event);
    }

    /// Puts fingers down, moves them step by step, and lifts them.
    pub(crate) fn touch(&mut self, steps: &[&[(f64, f64)]]) {
        self.call(
            "Emulation.setTouchEmulationEnabled",
            &json!({ "enabled": true, "maxTouchPoints": 2 }),
        );
        for (index, fingers) in steps.iter().enumerate() {
            let points: Vec<Value> = fingers
                .iter()
                .enumerate()
                .map(|(id, (x, y))| json!({ "x": x, "y": y, "id": id }))
                .collect();
            let what = if index == 0 { "touchStart" } else { "touchMove" };
            self.call("Input.dispatchTouchEvent", &json!({ "type": what, "touchPoints": points }));
        }
        self.call("Input.dispatchTouchEvent", &json!({ "type": "touchEnd", "touchPoints": [] }));
    }

    /// Puts a finger down, and keeps it down.
    pub(crate) fn hold(&mut self, (x, y): (f64, f64)) {
        self.call(
            "Emulation.setTouchEmulationEnabled",
            &json!({ "enabled": true, "maxTouchPoints": 2 }),
        );
        let points = json!([{ "x": x, "y": y, "id": 0 }]);
        let event = json!({ "type": "touchStart", "touchPoints": points });
        self.call("Input.dispatchTouchEvent", &event);
    }

    /// Moves the finger that is down, and lifts it.
    pub(crate) fn slide(&mut self, to: &[(f64, f64)]) {
        for (x, y) in to {
            let points = json!([{ "x": x, "y": y, "id": 0 }]);
            let event = json!({ "type": "touchMove", "touchPoints": points });
            self.call("Input.dispatchTouchEvent", &event);
        }
        self.call("Input.dispatchTouchEvent", &json!({ "type": "touchEnd", "touchPoints": [] }));
    }

    /// Runs a script in addition to those of the page, even if its policy forbids scripts.
    pub(crate) fn run(&mut self, script: &str) {
        let response = self.call("Runtime.evaluate", &json!({ "expression": script }));
        assert!(response["exceptionDetails"].is_null(), "{response}");
    }

    pub(crate) fn screenshot(&mut self, path: &Path) {
        let response = self.call("Page.captureScreenshot", &json!({ "format": "png" }));
        let picture = from_base64(response["data"].as_str().unwrap());
        fs::write(path, picture).unwrap();
    }

    /// The errors and exceptions of the page so far.
    pub(crate) fn complaints(&self) -> Vec<String> {
        let is_complaint = |event: &&Value| match event["method"].as_str() {
            Some("Runtime.exceptionThrown") => true,
            Some("Runtime.consoleAPICalled") => event["params"]["type"] == "error",
            Some("Log.entryAdded") => event["params"]["entry"]["level"] == "error",
            _ => false,
        };
        self.events.iter().filter(is_complaint).map(ToString::to_string).collect()
    }

    /// All requests of the page so far.
    pub(crate) fn requests(&self) -> Vec<String> {
        let sent = self.events.iter().filter(|it| it["method"] == "Network.requestWillBeSent");
        sent.filter_map(|it| it["params"]["request"]["url"].as_str().map(str::to_owned)).collect()
    }

    fn call(&mut self, method: &str, parameters: &Value) -> Value {
        self.last += 1;
        let id = self.last;
        let mut message = json!({ "id": id, "method": method, "params": parameters });
        if !self.session.is_empty() {
            message["sessionId"] = Value::from(self.session.as_str());
        }
        self.input.write_all(message.to_string().as_bytes()).unwrap();
        self.input.write_all(&[0]).unwrap();
        self.input.flush().unwrap();
        loop {
            let message = self.read();
            if message["id"] == id {
                assert!(message["error"].is_null(), "{method}: {message}");
                return message["result"].clone();
            }
            self.events.push(message);
        }
    }

    fn wait_for_event(&mut self, method: &str) {
        while !self.events.iter().any(|event| event["method"] == method) {
            let message = self.read();
            self.events.push(message);
        }
    }

    fn read(&mut self) -> Value {
        let mut message = Vec::new();
        let read = self.output.read_until(0, &mut message).unwrap();
        assert!(read > 0, "{BROWSER} has ended");
        message.pop();
        serde_json::from_slice(&message).unwrap()
    }
}

fn from_base64(text: &str) -> Vec<u8> {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let sextet = |letter| LETTERS.iter().position(|it| *it == letter);
    let sextets: Vec<usize> = text.bytes().filter_map(sextet).collect();
    let bytes = sextets.chunks(4).flat_map(|group| {
        let joined = group.iter().fold(0, |joined, sextet| joined << 6 | sextet);
        let joined = joined << (6 * (4 - group.len()));
        let bytes = [joined >> 16, joined >> 8, joined].map(|it| u8::try_from(it & 0xff).unwrap());
        bytes.into_iter().take(group.len() * 3 / 4)
    });
    bytes.collect()
}

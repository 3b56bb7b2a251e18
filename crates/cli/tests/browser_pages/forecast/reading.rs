//! The actions of a user: show reasons, zoom, move, sort, filter and share a link.

use crate::chromium::Page;
use crate::forecast::{assert_quiet, open, page_of_examples, place_in, row, text};

const WHOLE: &str = "Fri 2026-11-20 13:00 +01:00 to Sun 2026-11-29 13:00 +01:00 (Europe/Berlin)";

/// Checks the explanation of the evening of the 20th.
#[track_caller]
fn assert_explains(reason: &str) {
    for words in [
        "Deployment default/shop",
        "1 replicas",
        "Fri 2026-11-20 13:00 +01:00 (the forecast begins)",
        "Sat 2026-11-21 08:00 +01:00",
        "at 11:00 every day (Europe/Berlin): fired",
        "CronFederatedHPA default/shop-morning-peak after-the-rush",
        "examples/cron-scaling/morning-peak.yaml:",
        "30 at Sat 2026-11-21 08:00 +01:00",
    ] {
        assert!(reason.contains(words), "{words:?} is not in: {reason}");
    }
}

#[test]
fn mouse_keyboard_and_touch_open_the_reason_of_a_step() {
    let (_, mut page) = page_of_examples("why", "9d");
    assert_eq!(page.evaluate("document.getElementById('why').hidden"), true);
    let place = place_in(&mut page, "shop", 0.03);
    page.click(place);
    assert_explains(&text(&mut page, "why"));
    page.press("Escape");
    assert_eq!(page.evaluate("document.getElementById('why').hidden"), true);

    let place = place_in(&mut page, "shop", 0.03);
    page.touch(&[&[place]]);
    assert_explains(&text(&mut page, "why"));
    page.press("Escape");

    let shop = row("shop");
    page.evaluate(&format!("{shop}.querySelector('button').focus()"));
    page.press("Home");
    assert_explains(&text(&mut page, "why"));
    page.press("ArrowRight");
    let reason = text(&mut page, "why");
    assert!(
        reason.contains("30 replicas") && reason.contains("since\nSat 2026-11-21 08:00"),
        "{reason}"
    );
    page.press("ArrowLeft");
    assert_explains(&text(&mut page, "why"));
    page.press("ArrowDown");
    let reason = text(&mut page, "why");
    assert!(reason.starts_with("×\nDeployment default/shop-front"), "{reason}");
    assert_quiet(&page);
}

#[test]
fn the_wheel_scrolls_and_zooms_with_control_and_keys_and_fingers_zoom_too() {
    let (_, mut page) = page_of_examples("zoom", "9d");
    let place = place_in(&mut page, "shop", 0.5);
    let length = "(() => { const label = document.getElementById('span').textContent; \
                  const times = [...label.matchAll(/([-0-9]{10}) ([:0-9]+) ([-+:0-9]{6})/g)]; \
                  const [from, to] = times.map(([, day, time, offset]) => Date.parse(day + 'T' + time + offset)); \
                  return (to - from) / 3600e3; })()";
    let hours = |page: &mut Page| page.evaluate(length).as_f64().unwrap();
    assert_eq!(text(&mut page, "span"), WHOLE);
    let top = page.evaluate("scrollY");
    page.wheel(place, 200.0, false);
    assert_eq!(text(&mut page, "span"), WHOLE, "the wheel alone scrolls the page");
    page.evaluate("new Promise((done) => setTimeout(done, 50))");
    assert_ne!(page.evaluate("scrollY"), top);
    let place = place_in(&mut page, "shop", 0.5);
    page.wheel(place, -300.0, true);
    let zoomed = hours(&mut page);
    assert!(zoomed < 9.0 * 24.0, "{zoomed}");
    page.press("0");
    assert_eq!(text(&mut page, "span"), WHOLE);
    page.press("+");
    page.press("+");
    let zoomed = hours(&mut page);
    assert!((zoomed - 54.0).abs() < 0.1, "{zoomed}");
    page.press("Shift+ArrowRight");
    let moved = text(&mut page, "span");
    assert!(moved.starts_with("Tue 2026-11-24 11:30 "), "{moved}");
    let (x, y) = place_in(&mut page, "shop", 0.5);
    page.drag((x, y), (x + 200.0, y));
    assert_ne!(text(&mut page, "span"), moved, "dragging moves");
    assert_eq!(
        page.evaluate("document.getElementById('why').hidden"),
        true,
        "dragging selects nothing"
    );
    let before = hours(&mut page);
    page.touch(&[
        &[(x - 40.0, y), (x + 40.0, y)],
        &[(x - 80.0, y), (x + 80.0, y)],
        &[(x - 160.0, y), (x + 160.0, y)],
    ]);
    let pinched = hours(&mut page);
    assert!(pinched < before / 2.0, "{pinched} of {before}");
    for _ in 0..12 {
        page.press("+");
    }
    let least = hours(&mut page);
    assert!((least - 1.0 / 12.0).abs() < 0.02, "zooming ends at five minutes: {least}");
    assert_quiet(&page);
}

#[test]
fn a_link_opens_exactly_the_view_of_its_creation() {
    let (folder, mut page) = page_of_examples("link", "9d");
    page.press("+");
    page.evaluate(
        "(() => { const it = document.getElementById('filter'); it.value = 'SHOP-morning'; \
         it.dispatchEvent(new Event('input')); })()",
    );
    let place = place_in(&mut page, "shop", 0.4);
    page.click(place);
    let rows = "[...document.querySelectorAll('.row')].map((it) => it.querySelector('.title').textContent)";
    let seen = |page: &mut Page| {
        [text(page, "span"), text(page, "why-body"), page.evaluate(rows).to_string()]
    };
    let before = seen(&mut page);
    assert_eq!(before[2], "[\"shop\"]", "a row is found by the policy that sets it");
    let link = page.evaluate("document.querySelector('#why a').href");
    let content = std::fs::read_to_string(folder.join("forecast.html")).unwrap();
    let mut other = open(&crate::forecast::folder_of("linked"), &content);
    let hash = link.as_str().unwrap().split_once('#').unwrap().1.to_owned();
    other.evaluate(&format!("location.hash = {hash:?}"));
    assert_eq!(seen(&mut other), before.clone());
    assert_quiet(&other);
}

#[test]
fn rows_are_sorted_and_filtered_rows_are_counted() {
    let (_, mut page) = page_of_examples("order", "9d");
    let order = |page: &mut Page, by: &str| {
        page.evaluate(&format!(
            "(() => {{ const it = document.getElementById('order'); it.value = {by:?}; \
             it.dispatchEvent(new Event('change')); }})()"
        ));
        page.evaluate("document.querySelector('.row .title').firstChild.textContent").to_string()
    };
    assert_eq!(order(&mut page, "peak"), "\"FederatedHPA default/checkout\"");
    assert_ne!(order(&mut page, "changes"), "\"booking\"");
    assert_eq!(order(&mut page, "name"), "\"booking\"");
    page.evaluate(
        "(() => { const it = document.getElementById('filter'); it.value = 'nobody has this name'; \
         it.dispatchEvent(new Event('input')); })()",
    );
    assert_eq!(page.evaluate("document.querySelectorAll('.row').length"), 0);
    assert_eq!(page.evaluate("document.getElementById('empty').hidden"), false);
    assert!(text(&mut page, "count").starts_with("0 of "));
    assert_quiet(&page);
}

#[test]
fn a_month_has_a_heat_map_a_sentence_and_its_exceptions() {
    let (_, mut page) = page_of_examples("month", "60d");
    let place = place_in(&mut page, "shop-front", 0.3);
    page.click(place);
    let reason = text(&mut page, "why-body");
    assert!(reason.contains("By weekday and hour"), "{reason}");
    assert!(reason.contains("Fri 2026-11-27: 40"), "Black Friday is no usual Friday: {reason}");
    assert!(reason.contains("else 2"), "{reason}");
    assert_eq!(page.evaluate("document.querySelectorAll('svg.week .cell').length"), 7 * 24);
    let title = "[...document.querySelectorAll('svg.week title')].map((it) => it.textContent)";
    let cells: Vec<String> = serde_json::from_value(page.evaluate(title)).unwrap();
    assert!(
        cells.iter().any(|it| it.starts_with("Fri 12:00 to 13:00: 8, not always")),
        "{cells:?}"
    );
    assert!(cells.contains(&"Sun 12:00 to 13:00: 2".to_owned()), "{cells:?}");
    assert_quiet(&page);
}

#[test]
fn the_tab_key_reaches_visible_rows_and_links_follow_the_zoom() {
    let (_, mut page) = page_of_examples("tabulator", "9d");
    page.resize(800, 400);
    let reached = "(() => { const all = [...document.querySelectorAll('.row .label')].filter((it) => it.tabIndex === 0); \
                   return all.map((it) => it.getBoundingClientRect().top > 0 && it.getBoundingClientRect().top < innerHeight); })()";
    assert_eq!(page.evaluate(reached), serde_json::json!([true]));
    page.evaluate("scrollTo({top: 700, behavior: 'instant'})");
    page.evaluate("new Promise(requestAnimationFrame)");
    assert_eq!(page.evaluate(reached), serde_json::json!([true]));
    page.evaluate("document.querySelector('.row button').click()");
    page.press("+");
    let is_same = "document.querySelector('#why a').href === location.href && location.hash.includes('from=')";
    assert_eq!(page.evaluate(is_same), true);
    assert_quiet(&page);
}

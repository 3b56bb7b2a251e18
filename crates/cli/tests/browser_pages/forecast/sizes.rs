//! From a telephone to a wall screen, from one row over a day to a thousand over a year, on screen and on paper.

use std::fs;

use serde_json::Value;

use crate::chromium::Page;
use crate::forecast::{assert_quiet, axe, folder_of, forecast, open, page_of_examples, text};

const SIZES: [(u32, u32); 6] =
    [(320, 640), (390, 844), (768, 1024), (1280, 900), (1920, 1080), (3840, 2160)];

/// Elements that are clipped, overlap others, or make the page wider than its screen.
fn misplaced(page: &mut Page) -> Value {
    page.evaluate(
        "(() => { const problems = []; \
         const box = (it) => it.getBoundingClientRect(); \
         if (document.documentElement.scrollWidth > innerWidth) problems.push('the page is too wide'); \
         const all = [...document.querySelectorAll('.row, .group')].sort((one, other) => box(one).top - box(other).top); \
         all.forEach((it, index) => { \
           if (index > 0 && box(all[index - 1]).bottom > box(it).top + 0.5) problems.push(it.textContent + ' overlaps'); \
           const [label, drawing] = it.children; \
           if (!drawing) return; \
           if (box(drawing).bottom > box(it).bottom + 0.5 || box(drawing).right > innerWidth + 0.5) problems.push(it.textContent + ' is clipped'); \
           const isBeside = box(label).right <= box(drawing).left + 0.5 || box(label).bottom <= box(drawing).top + 0.5; \
           if (!isBeside) problems.push('the label of ' + it.textContent + ' covers its drawing'); \
           if (box(label).height < 14 || box(drawing).width < 60) problems.push(it.textContent + ' is too small'); }); \
         const bar = box(document.getElementById('bar')); \
         if (bar.height > innerHeight / 3) problems.push('the bar is too high'); \
         return problems; })()",
    )
}

#[test]
fn no_row_is_clipped_or_overlaps_at_six_sizes_in_light_and_dark() {
    let (folder, mut page) = page_of_examples("sizes", "9d");
    for (width, height) in SIZES {
        page.resize(width, height);
        for scheme in ["light", "dark"] {
            page.prefer(scheme);
            for is_explained in [false, true] {
                page.press("Escape");
                if is_explained {
                    page.evaluate("document.querySelector('.row button').click()");
                }
                assert_eq!(misplaced(&mut page), Value::Array(Vec::new()), "{width} in {scheme}");
                let name = format!("{width}-{scheme}-{is_explained}.png");
                page.screenshot(&folder.join(name));
            }
        }
    }
    assert_quiet(&page);
}

#[test]
fn the_page_is_accessible_and_follows_the_preferred_colors() {
    let (_, mut page) = page_of_examples("barriers", "60d");
    let background = "getComputedStyle(document.body).backgroundColor";
    let mut backgrounds = Vec::new();
    for scheme in ["light", "dark"] {
        page.prefer(scheme);
        backgrounds.push(page.evaluate(background));
        for what in [
            "",
            "document.querySelector('.row button').click()",
            "document.getElementById('as-table').click()",
        ] {
            page.evaluate(if what.is_empty() { "null" } else { what });
            assert_eq!(axe::barriers(&mut page), [""; 0], "{scheme} {what}");
        }
        page.evaluate("document.getElementById('as-table').click()");
        page.press("Escape");
    }
    assert_ne!(backgrounds[0], backgrounds[1]);
    // Rules can be distinguished without colors: each has a unique pattern.
    let patterns = "new Set([...document.querySelectorAll('#patterns pattern')].map((it) => it.innerHTML)).size";
    assert_eq!(page.evaluate(patterns), 12);
    page.with_feature("forced-colors", "active");
    let fill = "getComputedStyle(document.querySelector('svg text')).fill";
    let text = "(() => { const it = document.createElement('p'); it.style.color = 'CanvasText'; document.body.append(it); \
                const color = getComputedStyle(it).color; it.remove(); return color; })()";
    assert_eq!(page.evaluate(fill), page.evaluate(text));
    assert_quiet(&page);
}

#[test]
fn on_paper_every_row_is_printed() {
    let (_, mut page) = page_of_examples("paper", "9d");
    page.resize(800, 400);
    let rows = "document.querySelectorAll('.row').length";
    let all: u64 = text(&mut page, "count").split(' ').next().unwrap().parse().unwrap();
    assert!(page.evaluate(rows).as_u64().unwrap() < all, "only what is in view is drawn");
    page.evaluate("dispatchEvent(new Event('beforeprint'))");
    assert_eq!(page.evaluate(rows), all);
    page.resize(703, 1000);
    page.on_medium("print");
    page.evaluate("dispatchEvent(new Event('beforeprint'))");
    let places = "['#axis', '.drawing', '#shade'].map((it) => Math.round(document.querySelector(it).getBoundingClientRect().left / 10))";
    let places: Vec<u32> = serde_json::from_value(page.evaluate(places)).unwrap();
    assert!(
        places.iter().all(|it| it.abs_diff(places[0]) <= 2),
        "the axis and rows differ: {places:?}"
    );
    assert_eq!(misplaced(&mut page), Value::Array(Vec::new()));
    page.on_medium("");
    page.resize(800, 400);
    page.evaluate("dispatchEvent(new Event('afterprint'))");
    assert!(page.evaluate(rows).as_u64().unwrap() < all);
    assert_quiet(&page);
}

/// Policies that each set the replicas of a different workload, on working days and on Black Friday.
fn policies(count: u32) -> String {
    let policy = |number: u32| {
        let (minute, peak) = (number * 7 % 59, 10 + number % 30);
        format!(
            "apiVersion: autoscaling.karmada.io/v1alpha1\nkind: CronFederatedHPA\n\
             metadata: {{name: hours-{number}, namespace: team-{}}}\nspec:\n  \
             scaleTargetRef: {{apiVersion: apps/v1, kind: Deployment, name: web-{number}}}\n  rules:\n  \
             - {{name: up, schedule: '{minute} 8 * * 1-5', targetReplicas: {peak}, timeZone: Europe/Berlin}}\n  \
             - {{name: down, schedule: '0 20 * * 1-5', targetReplicas: 2, timeZone: Europe/Berlin}}\n  \
             - {{name: friday, schedule: '0 6 27 11 *', targetReplicas: 90, timeZone: Europe/Berlin}}\n---\n",
            number % 7
        )
    };
    (0..count).map(policy).collect()
}

#[test]
fn one_fifty_and_a_thousand_rows_open_and_zoom_over_a_day_a_week_and_a_year() {
    let folder = folder_of("amounts");
    for (count, days) in [(1, "1d"), (50, "7d"), (50, "1y"), (1000, "1y")] {
        let files = folder.join("policies.yaml");
        fs::write(&files, policies(count)).unwrap();
        let arguments =
            ["--from", "2026-11-20T12:00:00Z", "--for", days, "--zone", "Europe/Berlin"];
        let content = forecast(&files, &[&arguments[..], &["-o", "html"]].concat());
        assert!(
            content.len() < 10_000_000,
            "{count} rows over {days} take {} bytes",
            content.len()
        );
        let mut page = open(&folder, &content);
        assert_eq!(
            text(&mut page, "count"),
            format!("{count} {}", if count == 1 { "row" } else { "rows" })
        );
        let took = "(async () => { const frame = () => new Promise(requestAnimationFrame); const opened = performance.now(); \
                    document.getElementById('closer').click(); await frame(); await frame(); \
                    return [Math.round(opened), Math.round(performance.now() - opened)]; })()";
        let took = page.evaluate(took);
        eprintln!(
            "{count} rows over {days}: {} bytes, opened and zoomed in {took} ms",
            content.len()
        );
        page.press("0");
        let drawn = page.evaluate("document.querySelectorAll('.row').length").as_u64().unwrap();
        assert!(drawn <= 60, "{drawn} rows are drawn");
        // The last row is reached by scrolling, and drawn when visible.
        page.evaluate("scrollTo({top: document.body.scrollHeight, behavior: 'instant'})");
        page.evaluate("new Promise(requestAnimationFrame)");
        let last = "[...document.querySelectorAll('.row')].map((it) => Number(it.getAttribute('aria-posinset'))).sort((one, other) => one - other).at(-1)";
        assert_eq!(page.evaluate(last), count);
        assert_eq!(misplaced(&mut page), Value::Array(Vec::new()), "{count} rows over {days}");
        // However long the period, a row is few elements.
        let most = "Math.max(...[...document.querySelectorAll('.drawing')].map((it) => it.children.length))";
        let most = page.evaluate(most).as_u64().unwrap();
        assert!(most < 900, "{most} elements in a row");
        assert_quiet(&page);
    }
}

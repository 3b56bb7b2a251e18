//! Recorded boxes and computed styles. Browser updates change pixels, but not these.

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

use serde_json::Value;

use crate::chromium::Page;
use crate::forecast::{assert_quiet, page_of_examples};

#[track_caller]
fn assert_written_down(name: &str, actual: &str) {
    let folder =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/browser_pages/forecast/expected");
    let path = folder.join(name);
    if env::var_os("ALMANAC_UPDATE").is_some() {
        fs::create_dir_all(folder).unwrap();
        fs::write(&path, actual).unwrap();
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    assert!(actual == expected, "{name} differs; ALMANAC_UPDATE=1 rewrites it. Found:\n{actual}");
}

fn lines(page: &mut Page, expression: &str) -> String {
    let lines: Vec<String> = serde_json::from_value(page.evaluate(expression)).unwrap();
    lines.into_iter().fold(String::new(), |all, line| all + &line + "\n")
}

/// The position of each row in the list, and of its parts.
const BOXES: &str = "(() => { \
    const list = document.getElementById('list').getBoundingClientRect(); \
    const describe = (it) => { const box = it.getBoundingClientRect(); \
      return [box.x, box.y - list.y, box.width, box.height].map((number) => Math.round(number)).join(' '); }; \
    return [...document.querySelectorAll('.row, .group')].sort((one, other) => one.getBoundingClientRect().y - other.getBoundingClientRect().y) \
      .map((it) => it.className.replace(' selected', '') + ': ' + [it, ...it.children].filter((it) => it.tagName !== 'H2').map(describe).join(' | ')); })()";

#[test]
fn rows_keep_their_positions() {
    let (_, mut page) = page_of_examples("boxes", "9d");
    let mut actual = String::new();
    for width in [320, 768, 1920] {
        page.resize(width, 3000);
        write!(
            actual,
            "{width} wide: x y width height of the row | its label | its drawing\n{}",
            lines(&mut page, BOXES)
        )
        .unwrap();
    }
    assert_written_down("boxes.txt", &actual);
    assert_quiet(&page);
}

/// The elements to compare, and their properties. Colors of the system have their names.
const STYLES: &str = "(() => { \
    const names = ['Canvas', 'CanvasText', 'LinkText', 'ButtonFace', 'ButtonText', 'ButtonBorder', 'Highlight', 'GrayText']; \
    const probe = document.createElement('p'); document.body.append(probe); \
    const isForced = matchMedia('(forced-colors: active)').matches; \
    const system = new Map(names.map((name) => { probe.style.color = name; return [getComputedStyle(probe).color, name]; }).reverse()); probe.remove(); \
    const resolved = (value) => isForced && system.has(value) ? system.get(value) : value; \
    const all = [['body', 'background-color', 'color'], ['#bar', 'background-color', 'border-bottom-color'], ['.quiet', 'color'], ['#filter', 'background-color', 'border-top-color'], \
      ['.row', 'border-bottom-color'], ['.group h2', 'color', 'background-color'], ['.label', 'color', 'outline-color', 'outline-width'], ['.contested', 'color'], \
      ['#axis .day', 'fill'], ['#axis .time', 'fill'], ['#shade .night', 'fill'], ['#shade .weekend', 'fill'], ['#shade .week', 'stroke'], \
      ['.value', 'fill', 'stroke', 'stroke-opacity'], ...[0, 1, 2].map((rule) => ['.drawing .rule' + rule, 'fill', 'stroke']), ...[0, 1, 2].map((fill) => ['#patterns .fill' + fill, 'fill']), \
      ['.nobody', 'fill', 'stroke', 'stroke-dasharray'], ['.unknown', 'fill', 'stroke', 'stroke-dasharray'], ['.overlap', 'fill'], ['.contested-time', 'fill'], ['.cap', 'stroke', 'stroke-dasharray'], \
      ['.waiting', 'fill', 'stroke'], ['#why', 'background-color', 'transition-duration', 'animation-name'], ['#why a', 'color'], ['html', 'scroll-behavior']]; \
    return all.map(([selector, ...properties]) => { const it = document.querySelector(selector); \
      return selector + ': ' + (it ? properties.map((name) => name + ' ' + resolved(getComputedStyle(it).getPropertyValue(name))).join(', ') : 'is not there'); }); })()";

#[test]
fn light_dark_contrast_forced_colors_and_less_motion_have_their_styles() {
    let (_, mut page) = page_of_examples("styles", "9d");
    page.resize(1920, 3000);
    page.evaluate("document.querySelector('.row .label').click()");
    page.evaluate("document.querySelector('.row .label').focus()");
    let mut actual = String::new();
    for (feature, value) in [
        ("prefers-color-scheme", "light"),
        ("prefers-color-scheme", "dark"),
        ("prefers-contrast", "more"),
        ("forced-colors", "active"),
        ("prefers-reduced-motion", "reduce"),
    ] {
        page.with_feature(feature, value);
        assert_eq!(
            page.evaluate(&format!("matchMedia('({feature}: {value})').matches")),
            Value::Bool(true)
        );
        write!(actual, "{feature}: {value}\n{}\n", lines(&mut page, STYLES)).unwrap();
    }
    assert!(!actual.contains("is not there"), "{actual}");
    assert_written_down("styles.txt", &actual);
    assert_quiet(&page);
}

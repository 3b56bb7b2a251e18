//! The smallest course that shows a difference: removes everything that the difference does not require.

use almanac_second_scheduler::Objects;
use almanac_second_scheduler::generate::{Change, Course};
use serde_json::Value;

use crate::compare::{Difference, Tally, differences};

/// Removes steps, changes, objects, and then their fields, as long as the same kind of difference remains.
pub(crate) fn smallest(mut course: Course, mut difference: Difference) -> (Course, Difference) {
    let mut attempt = |candidate: Course, course: &mut Course| {
        let found = differences(&candidate, &mut Tally::default());
        let Some(found) = found.filter(|it| it.what == difference.what) else { return false };
        (*course, difference) = (candidate, found);
        true
    };
    let mut is_smaller = true;
    while is_smaller {
        is_smaller = false;
        for step in (0..course.steps.len()).rev() {
            let mut without = course.clone();
            without.steps.remove(step);
            is_smaller |= attempt(without, &mut course);
        }
        for step in 0..course.steps.len() {
            for change in (0..course.steps[step].changes.len()).rev() {
                let mut without = course.clone();
                without.steps[step].changes.remove(change);
                is_smaller |= attempt(without, &mut course);
            }
        }
        let mut length = course.objects.all().len();
        // Remove halves first, so that a large hub shrinks fast.
        while length > 0 {
            let mut from = 0;
            while from < course.objects.all().len() {
                let mut objects = course.objects.all().to_vec();
                objects.drain(from..(from + length).min(objects.len()));
                let without = Course { objects: Objects::new(objects), ..course.clone() };
                if attempt(without, &mut course) {
                    is_smaller = true;
                } else {
                    from += length;
                }
            }
            length /= 2;
        }
        for place in 0..places(&course) {
            while let Some(without) = without_any(&course, place, &mut attempt) {
                course = without;
                is_smaller = true;
            }
        }
    }
    (course, difference)
}

/// The number of initial objects and of changes.
fn places(course: &Course) -> usize {
    course.objects.all().len() + course.steps.iter().map(|step| step.changes.len()).sum::<usize>()
}

/// The course without one of the fields or items of an object, if it still shows the difference.
fn without_any(
    course: &Course,
    place: usize,
    attempt: &mut impl FnMut(Course, &mut Course) -> bool,
) -> Option<Course> {
    let mut found = course.clone();
    let mut paths = Vec::new();
    collect(object_at(&mut found, place)?, &mut Vec::new(), &mut paths);
    paths.into_iter().find_map(|path| {
        let mut without = course.clone();
        remove(object_at(&mut without, place)?, &path);
        attempt(without.clone(), &mut found).then_some(without)
    })
}

fn object_at(course: &mut Course, place: usize) -> Option<&mut Value> {
    let count = course.objects.all().len();
    if place < count {
        return course.objects.all_mut().get_mut(place);
    }
    let changes = course.steps.iter_mut().flat_map(|step| &mut step.changes);
    match changes.into_iter().nth(place - count)? {
        Change::Put(object) => Some(object),
        Change::Remove(_) => None,
    }
}

/// Every field and item that can be removed, the outer values first.
fn collect(value: &Value, at: &mut Vec<String>, paths: &mut Vec<Vec<String>>) {
    let inside: Vec<(String, &Value)> = match value {
        Value::Object(fields) => fields.iter().map(|(key, it)| (key.clone(), it)).collect(),
        Value::Array(items) => {
            items.iter().enumerate().map(|(index, it)| (index.to_string(), it)).collect()
        }
        _ => return,
    };
    for (key, it) in inside {
        at.push(key);
        let is_needed = at.len() == 1 && at[0] != "status"
            || (at[0] == "metadata" && matches!(at[1].as_str(), "name" | "namespace"));
        if !is_needed {
            paths.push(at.clone());
        }
        collect(it, at, paths);
        at.pop();
    }
}

fn remove(value: &mut Value, path: &[String]) {
    let Some((last, way)) = path.split_last() else { return };
    let mut holder = Some(value);
    for key in way {
        holder = holder.and_then(|it| match it {
            Value::Object(fields) => fields.get_mut(key),
            Value::Array(items) => items.get_mut(position(key)),
            _ => None,
        });
    }
    match holder {
        Some(Value::Object(fields)) => _ = fields.remove(last),
        Some(Value::Array(items)) => _ = items.remove(position(last)),
        _ => {}
    }
}

fn position(key: &str) -> usize {
    key.parse().expect("the key is an index")
}

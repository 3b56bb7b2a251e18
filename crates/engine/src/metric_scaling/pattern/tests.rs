//! The values that patterns match, the patterns that are refused, and the budget of each pattern.

use super::*;

fn budget(pool: &PatternPool, namespace: &str) -> PatternBudget {
    PatternBudget::new(Some(pool), namespace)
}

/// Keeps one pattern after the other until a pattern is refused.
fn fill(pool: &PatternPool, namespace: &str) -> (Vec<Pattern>, PatternExcess) {
    let mut patterns = Vec::new();
    loop {
        match budget(pool, namespace).keep(&format!("{}.*", patterns.len())) {
            Ok(pattern) => patterns.push(pattern),
            Err(excess) => return (patterns, excess),
        }
    }
}

#[test]
fn equal_patterns_of_a_namespace_are_compiled_once_and_count_once() {
    let pool = PatternPool::default();
    let mut one = budget(&pool, "shop");
    let first = one.keep("a|b").unwrap();
    let again = one.keep("a|b").unwrap();
    let of_other = budget(&pool, "shop").keep("a|b").unwrap();
    assert!(Arc::ptr_eq(&first.0, &again.0) && Arc::ptr_eq(&first.0, &of_other.0));
    assert_eq!((one.patterns, pool.bytes()), (1, one.bytes));
    let elsewhere = budget(&pool, "team").keep("a|b").unwrap();
    assert!(!Arc::ptr_eq(&first.0, &elsewhere.0));
    assert_eq!(pool.bytes(), 2 * one.bytes);
}

#[test]
fn a_pattern_without_an_owner_does_not_count() {
    let pool = PatternPool::default();
    let kept = budget(&pool, "shop").keep("a.*").unwrap();
    let copy = kept.clone();
    drop(kept);
    assert!(pool.bytes() > 0 && copy.is_match("ab"));
    drop(copy);
    assert_eq!((pool.bytes(), pool.lock().by_namespace.len()), (0, 0));
}

#[test]
fn a_namespace_has_a_quarter_of_the_pool_and_the_others_keep_theirs() {
    let pool = PatternPool::with_max_bytes(400_000);
    let (kept, excess) = fill(&pool, "shop");
    assert_eq!(excess, PatternExcess::Namespace);
    assert!(pool.bytes() <= 100_000 && kept.len() > 1);
    let full = pool.fullness("shop");
    assert!(budget(&pool, "shop").keep("0.*").is_ok(), "a pattern that counts already");
    assert!(budget(&pool, "team").keep("0.*").is_ok());
    assert!(!full.has_more_room(pool.fullness("shop")));
    drop(kept);
    assert!(full.has_more_room(pool.fullness("shop")));
    assert!(budget(&pool, "shop").keep("new").is_ok());
}

#[test]
fn a_full_pool_refuses_new_patterns_until_capacity_is_free() {
    let pool = PatternPool::with_max_bytes(400_000);
    let full: Vec<_> = (0..SHARES).map(|it| fill(&pool, &it.to_string()).0).collect();
    let (few, excess) = fill(&pool, "late");
    assert_eq!(excess, PatternExcess::Process);
    let refused = pool.fullness("late");
    assert!(pool.bytes() <= 400_000);
    drop((few, full));
    assert!(pool.bytes() == 0 && refused.has_more_room(pool.fullness("late")));
}

#[test]
fn an_object_has_a_maximum_of_patterns_and_bytes() {
    let mut budget = PatternBudget::default();
    for number in 0..MAX_OBJECT_PATTERNS {
        budget.keep(&format!("{number}.")).unwrap();
    }
    assert!(budget.keep("1.").is_ok(), "the pattern is kept already");
    assert_eq!(budget.keep("one more").err(), Some(PatternExcess::Object));
    let mut budget = PatternBudget::default();
    while budget.keep(&format!("[a-b]{{900}}{}", budget.patterns)).is_ok() {}
    assert!(budget.bytes <= MAX_OBJECT_PATTERN_BYTES && budget.steps <= MAX_OBJECT_STEPS);
    assert_eq!(budget.matches_empty("(a{1000}){1000}"), None, "not a valid pattern in Go");
}

#[test]
fn a_pattern_with_a_large_table_is_refused_and_nothing_is_compiled_after_it() {
    for pattern in ["(a|b)*a[ab]{20}", "(?i)(a|b)*a[ab]{19}", "(a?b?){450}|c|e|g|i|k|m|o|q|s"] {
        let mut budget = PatternBudget::default();
        assert!(budget.keep("a").is_ok());
        assert_eq!(
            budget.matches_empty(pattern),
            Some(Some(pattern.contains('?') && pattern.contains("b?")))
        );
        assert_eq!(budget.keep(pattern).err(), Some(PatternExcess::Pattern), "{pattern}");
        assert_eq!(budget.keep("b").err(), Some(PatternExcess::Earlier));
        assert!(
            matches!(budget.cached("b"), CachedPattern::Read { .. }),
            "the pattern is read and not kept"
        );
    }
}

#[test]
fn hundreds_of_names_are_a_pattern() {
    let name = |number: usize| format!("team-{}-shop-{number:04}-v2", number % 7);
    let names = (0..150).map(name).collect::<Vec<_>>().join("|");
    let pattern_of_names = Pattern::parse(&names).unwrap();
    assert!(pattern_of_names.is_match(&name(149)) && !pattern_of_names.is_match(&name(150)));
    assert!(
        pattern_of_names.0.compiled.bytes < MAX_PATTERN_BYTES / 4,
        "{}",
        pattern_of_names.0.compiled.bytes
    );
}

#[test]
fn a_pattern_matches_whole_values_as_in_prometheus() {
    for (pattern, matching, others) in [
        ("a|b", &["a", "b"][..], &["", "ab", "c"][..]),
        ("web-.*", &["web-", "web-1", "web-\n", "web-ü"], &["web", "a web-1"]),
        ("", &[""], &["a"]),
        ("(?i)shop", &["SHOP", "shop"], &["shops"]),
        ("[^a]+", &["b", "ж語"], &["", "ba"]),
        (r"\bshop\b.?", &["shop", "shop."], &["shops"]),
        ("a$|^b", &["a", "b"], &["ab"]),
    ] {
        let known = Pattern::parse(pattern).unwrap();
        assert!(matching.iter().all(|it| known.is_match(it)), "{pattern}");
        assert!(!others.iter().any(|it| known.is_match(it)), "{pattern}");
    }
}

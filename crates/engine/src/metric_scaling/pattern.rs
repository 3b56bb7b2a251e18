//! Regular expressions of label matchers: compiled once, shared when equal, within budgets for an object and for all
//! objects of a process. Which query has which of them is up to `query`.
//!
//! A pattern is compiled to an automaton without tables of its states, so its size is known and does not grow with
//! what it is compared with.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use regex_automata::nfa::thompson::{Config, WhichCaptures, pikevm::PikeVM};

/// How many patterns an object has at most, of those that Almanac evaluates, equal ones counted once.
pub const MAX_OBJECT_PATTERNS: usize = 100;
/// How large the patterns of an object are at most that Almanac evaluates, compiled, in bytes.
pub const MAX_OBJECT_PATTERN_BYTES: usize = 1 << 20;
/// How large the patterns of all objects of a process are at most, compiled, in bytes.
pub const MAX_PROCESS_PATTERN_BYTES: usize = 16 << 20;

/// How large a pattern is at most, compiled, in bytes: enough for hundreds of alternatives.
const MAX_PATTERN_BYTES: usize = 1 << 18;
/// How many steps all patterns of an object take at most to compile: some milliseconds.
const MAX_OBJECT_STEPS: usize = 1 << 17;
/// What a pattern takes besides its automaton and its text.
const BYTES_PER_PATTERN: usize = 512;

/// A regular expression that a whole value must match, as in Prometheus.
#[derive(Clone, Debug)]
pub struct Pattern(Arc<Counted>);

/// A pattern that counts in a pool, if there is one, until nothing has it any more.
#[derive(Debug)]
struct Counted {
    compiled: Compiled,
    pool: Option<PatternPool>,
}

/// A pattern that does not count yet.
#[derive(Debug)]
struct Compiled {
    text: Box<str>,
    automaton: PikeVM,
    bytes: usize,
}

/// Why a pattern is not kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PatternExcess {
    /// The patterns of the object are too many or too large.
    Object,
    /// Those of all objects of the process are too large with it. It may be kept later.
    Process,
}

/// What is known of a text.
enum Known {
    /// Not a pattern in Go.
    Invalid,
    /// It was too much to compile.
    TooLarge,
    Compiled(Compiled),
    Kept(Pattern),
}

/// The budget for the patterns of one object. Each text is compiled once.
#[derive(Default)]
pub struct PatternBudget<'p> {
    pool: Option<&'p PatternPool>,
    known: BTreeMap<Box<str>, Known>,
    steps: usize,
    patterns: usize,
    bytes: usize,
}

impl<'p> PatternBudget<'p> {
    /// A budget within that of a process, if there is one.
    #[must_use]
    pub fn new(pool: Option<&'p PatternPool>) -> PatternBudget<'p> {
        PatternBudget { pool, ..PatternBudget::default() }
    }

    /// Whether a pattern matches an empty value: `Some(None)` if it is too large to find out, `None` for a text that is
    /// not a pattern.
    pub fn matches_empty(&mut self, text: &str) -> Option<Option<bool>> {
        match self.known(text) {
            Known::Invalid => None,
            Known::TooLarge => Some(None),
            Known::Compiled(compiled) => Some(Some(compiled.is_match(""))),
            Known::Kept(pattern) => Some(Some(pattern.is_match(""))),
        }
    }

    /// A pattern to keep. A text that is not one is refused as if it were too large.
    ///
    /// # Errors
    ///
    /// If a budget is exceeded.
    pub fn keep(&mut self, text: &str) -> Result<Pattern, PatternExcess> {
        let bytes = match self.known(text) {
            Known::Invalid | Known::TooLarge => return Err(PatternExcess::Object),
            Known::Kept(pattern) => return Ok(pattern.clone()),
            Known::Compiled(compiled) => compiled.bytes,
        };
        if self.patterns == MAX_OBJECT_PATTERNS || self.bytes + bytes > MAX_OBJECT_PATTERN_BYTES {
            return Err(PatternExcess::Object);
        }
        let Some(Known::Compiled(compiled)) = self.known.remove(text) else {
            return Err(PatternExcess::Object);
        };
        let kept = match self.pool {
            Some(pool) => pool.count(compiled).ok_or(PatternExcess::Process)?,
            None => Pattern(Arc::new(Counted { compiled, pool: None })),
        };
        self.patterns += 1;
        self.bytes += bytes;
        self.known.insert(text.into(), Known::Kept(kept.clone()));
        Ok(kept)
    }

    fn known(&mut self, text: &str) -> &Known {
        if !self.known.contains_key(text) {
            let known = self.compiled(text);
            self.known.insert(text.into(), known);
        }
        self.known.get(text).unwrap_or(&Known::Invalid)
    }

    fn compiled(&mut self, text: &str) -> Known {
        // With the group around it, as Prometheus has it: what ends that group early, or never, is up to Go.
        let whole = format!("^(?s:{text})$");
        let Some((translated, steps)) = almanac_expressions::pattern_from_go(&whole) else {
            return Known::Invalid;
        };
        if self.steps.saturating_add(steps) > MAX_OBJECT_STEPS {
            return Known::TooLarge;
        }
        self.steps += steps;
        Known::of(text, &translated)
    }
}

impl Known {
    fn of(text: &str, translated: &str) -> Known {
        let config = Config::new()
            .nfa_size_limit(Some(MAX_PATTERN_BYTES))
            .which_captures(WhichCaptures::Implicit);
        match PikeVM::builder().thompson(config).build(translated) {
            Ok(automaton) => {
                let size = automaton.get_nfa().memory_usage();
                let bytes = size + 2 * text.len() + BYTES_PER_PATTERN;
                Known::Compiled(Compiled { text: text.into(), automaton, bytes })
            }
            Err(error) if error.size_limit().is_some() => Known::TooLarge,
            Err(_) => Known::Invalid,
        }
    }
}

impl Compiled {
    fn is_match(&self, value: &str) -> bool {
        self.automaton.is_match(&mut self.automaton.create_cache(), value)
    }
}

impl Pattern {
    /// A pattern outside of every budget; `None` for a text that is not a pattern in Go, or is too large.
    #[must_use]
    pub fn parse(text: &str) -> Option<Pattern> {
        PatternBudget::default().keep(text).ok()
    }

    pub(super) fn is_match(&self, value: &str) -> bool {
        self.0.compiled.is_match(value)
    }
}

/// The patterns of all objects of a process, and the budget for them. A copy is the same pool.
#[derive(Clone, Debug)]
pub struct PatternPool(Arc<Pool>);

#[derive(Debug)]
struct Pool {
    most: usize,
    kept: Mutex<Kept>,
}

#[derive(Default, Debug)]
struct Kept {
    bytes: usize,
    by_text: BTreeMap<Box<str>, Weak<Counted>>,
}

impl Default for PatternPool {
    fn default() -> PatternPool {
        PatternPool::of_bytes(MAX_PROCESS_PATTERN_BYTES)
    }
}

impl PatternPool {
    /// A pool of a size.
    #[must_use]
    pub fn of_bytes(most: usize) -> PatternPool {
        PatternPool(Arc::new(Pool { most, kept: Mutex::default() }))
    }

    /// How large all patterns are that something has, compiled, in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.lock().bytes
    }

    /// Whether there is room again for the patterns of an object.
    #[must_use]
    pub fn has_room(&self) -> bool {
        self.bytes() + self.0.most / 16 <= self.0.most
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.0.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a pattern, or takes the same one that counts already. `None` if there is no room.
    fn count(&self, compiled: Compiled) -> Option<Pattern> {
        let mut kept = self.lock();
        if let Some(same) = kept.by_text.get(&compiled.text).and_then(Weak::upgrade) {
            return Some(Pattern(same));
        }
        let bytes = kept.bytes + compiled.bytes;
        if bytes > self.0.most {
            return None;
        }
        kept.bytes = bytes;
        let text = compiled.text.clone();
        let counted = Arc::new(Counted { compiled, pool: Some(self.clone()) });
        kept.by_text.insert(text, Arc::downgrade(&counted));
        Some(Pattern(counted))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let Some(pool) = &self.pool else { return };
        let mut kept = pool.lock();
        kept.bytes = kept.bytes.saturating_sub(self.compiled.bytes);
        // An equal one may have come since nothing had this one any more.
        let text = &self.compiled.text;
        if kept.by_text.get(text).is_some_and(|it| it.strong_count() == 0) {
            kept.by_text.remove(text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_patterns_are_compiled_once_and_count_once() {
        let pool = PatternPool::default();
        let mut one = PatternBudget::new(Some(&pool));
        let first = one.keep("a|b").unwrap();
        let again = one.keep("a|b").unwrap();
        let of_other = PatternBudget::new(Some(&pool)).keep("a|b").unwrap();
        assert!(Arc::ptr_eq(&first.0, &again.0) && Arc::ptr_eq(&first.0, &of_other.0));
        assert_eq!((one.patterns, pool.bytes()), (1, one.bytes));
    }

    #[test]
    fn what_nothing_has_any_more_does_not_count() {
        let pool = PatternPool::default();
        let kept = PatternBudget::new(Some(&pool)).keep("a.*").unwrap();
        let copy = kept.clone();
        drop(kept);
        assert!(pool.bytes() > 0 && copy.is_match("ab"));
        drop(copy);
        assert_eq!((pool.bytes(), pool.lock().by_text.len()), (0, 0));
    }

    #[test]
    fn a_full_pool_refuses_new_patterns_until_there_is_room() {
        let pool = PatternPool::of_bytes(100_000);
        let mut kept = Vec::new();
        let excess = loop {
            let text = format!("{}.*", kept.len());
            match PatternBudget::new(Some(&pool)).keep(&text) {
                Ok(pattern) => kept.push(pattern),
                Err(excess) => break excess,
            }
        };
        assert_eq!(excess, PatternExcess::Process);
        assert!(pool.bytes() <= 100_000 && kept.len() > 1 && !pool.has_room());
        assert!(PatternBudget::new(Some(&pool)).keep("0.*").is_ok(), "one that counts already");
        kept.clear();
        assert!(pool.has_room() && PatternBudget::new(Some(&pool)).keep("new").is_ok());
    }

    #[test]
    fn an_object_has_so_many_patterns_and_so_many_bytes() {
        let mut budget = PatternBudget::default();
        for number in 0..MAX_OBJECT_PATTERNS {
            budget.keep(&format!("{number}.")).unwrap();
        }
        assert_eq!(budget.keep("one more").err(), Some(PatternExcess::Object));
        assert!(budget.keep("1.").is_ok(), "it is there already");
        let mut budget = PatternBudget::default();
        while budget.keep(&format!("[a-b]{{900}}{}", budget.patterns)).is_ok() {}
        assert!(budget.bytes <= MAX_OBJECT_PATTERN_BYTES && budget.steps <= MAX_OBJECT_STEPS);
        assert_eq!(budget.matches_empty("[a-c]{1000}"), Some(None), "it is not compiled any more");
        assert_eq!(budget.matches_empty("(a{1000}){1000}"), None, "Go does not know it");
    }
}

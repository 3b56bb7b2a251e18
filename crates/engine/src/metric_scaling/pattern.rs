//! Regular expressions of label matchers: compiled once, shared when equal, within budgets for an object, a namespace
//! and a process. `query` assigns them to queries.
//!
//! The table of a kept pattern contains the states of its automaton, so a comparison reads each byte once, for any
//! pattern. The size of a table is known, and a pattern with a large table is refused.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use regex_automata::dfa::{Automaton, StartKind, dense, sparse};
use regex_automata::nfa::thompson::{Config, NFA, pikevm::PikeVM};
use regex_automata::{Anchored, Input};

/// The maximum number of patterns of an object that Almanac evaluates, equal ones counted once.
pub const MAX_OBJECT_PATTERNS: usize = 100;
/// The maximum size of the patterns of an object that Almanac evaluates, compiled, in bytes.
pub const MAX_OBJECT_PATTERN_BYTES: usize = 1 << 20;
/// The maximum size of a pattern, compiled, in bytes: enough for hundreds of alternatives.
pub const MAX_PATTERN_BYTES: usize = 1 << 18;
/// The maximum number of conditions for the queries of an object that the schedules of a cluster are compared with.
pub const MAX_OBJECT_COMPARISONS: usize = 256;
/// The maximum size of the patterns of all objects of a namespace, compiled, in bytes.
pub const MAX_NAMESPACE_PATTERN_BYTES: usize = MAX_PROCESS_PATTERN_BYTES / SHARES;
/// The maximum size of the patterns of all objects of a process, compiled, in bytes.
pub const MAX_PROCESS_PATTERN_BYTES: usize = 16 << 20;

/// The number of namespaces that can fill a pool.
const SHARES: usize = 4;
/// The maximum number of steps to read all patterns of an object: some milliseconds.
const MAX_OBJECT_STEPS: usize = 1 << 17;
/// The maximum memory to build a table, before it is minimized.
const MAX_BYTES_TO_COMPILE: usize = 4 * MAX_PATTERN_BYTES;
/// The maximum work for a table: the memory of the states. Each state is visited once for each class of bytes.
const MAX_WORK_TO_COMPILE: usize = 8 << 20;
/// The memory of a pattern in addition to its table and its string: entries of maps, and allocations.
const BYTES_PER_PATTERN: usize = size_of::<Counted>() + 256;

/// A regular expression that a whole value must match, as in Prometheus.
#[derive(Clone, Debug)]
pub struct Pattern(Arc<Counted>);

/// A pattern that counts in its pool until its last owner drops it.
#[derive(Debug)]
struct Counted {
    compiled: Compiled,
    pool: Option<Share>,
}

/// A pattern that does not count in a pool yet.
#[derive(Debug)]
struct Compiled {
    text: Box<str>,
    table: sparse::DFA<Vec<u8>>,
    bytes: usize,
}

/// The reason that a pattern is refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PatternExcess {
    /// The pattern is too large by itself.
    Pattern,
    /// The pattern was not evaluated, because the object is refused for an earlier pattern.
    Earlier,
    /// The object has too many patterns, or their total size is too large.
    Object,
    /// The object has too many conditions to compare with the schedules.
    Comparisons,
    /// With the pattern, the patterns of all objects of the namespace are too large. The pattern may be kept later.
    Namespace,
    /// With the pattern, the patterns of all objects of the process are too large. The pattern may be kept later.
    Process,
}

/// The state of a pattern string.
enum CachedPattern {
    /// The string is not a valid pattern in Go.
    Invalid,
    /// The pattern is too large, by itself or after the other patterns of the object.
    TooLarge(PatternExcess),
    /// The pattern was read, and its table is not kept yet.
    Read {
        automaton: NFA,
        matches_empty: bool,
    },
    Kept {
        pattern: Pattern,
        matches_empty: bool,
    },
}

/// The budget for the patterns of one object. Each string is compiled once.
#[derive(Default)]
pub struct PatternBudget {
    pool: Option<Share>,
    known: BTreeMap<Box<str>, CachedPattern>,
    steps: usize,
    patterns: usize,
    bytes: usize,
    comparisons: usize,
    /// Whether the object is refused in any case, so that no further pattern is kept.
    is_refused: bool,
}

impl PatternBudget {
    /// Creates a budget within the share of a namespace in a pool.
    #[must_use]
    pub fn new(pool: Option<&PatternPool>, namespace: &str) -> PatternBudget {
        let share = |pool: &PatternPool| Share { pool: pool.clone(), namespace: namespace.into() };
        PatternBudget { pool: pool.map(share), ..PatternBudget::default() }
    }

    /// Whether a pattern matches an empty value: `Some(None)` if the pattern is too large to evaluate, `None` for a
    /// string that is not a pattern.
    pub fn matches_empty(&mut self, text: &str) -> Option<Option<bool>> {
        match self.cached(text) {
            CachedPattern::Invalid => None,
            CachedPattern::TooLarge(_) => Some(None),
            CachedPattern::Read { matches_empty, .. }
            | CachedPattern::Kept { matches_empty, .. } => Some(Some(*matches_empty)),
        }
    }

    /// Keeps a pattern. A string that is not a pattern is refused as too large.
    ///
    /// # Errors
    ///
    /// If a budget is exceeded.
    pub fn keep(&mut self, text: &str) -> Result<Pattern, PatternExcess> {
        if self.is_refused {
            return Err(PatternExcess::Earlier);
        }
        let result = self.keep_another(text);
        // No pattern is compiled for a refused object.
        self.is_refused = result.is_err();
        result
    }

    fn keep_another(&mut self, text: &str) -> Result<Pattern, PatternExcess> {
        let (automaton, matches_empty) = match self.cached(text) {
            CachedPattern::Invalid => return Err(PatternExcess::Pattern),
            CachedPattern::TooLarge(excess) => return Err(*excess),
            CachedPattern::Kept { pattern, .. } => return Ok(pattern.clone()),
            CachedPattern::Read { automaton, matches_empty } => (automaton.clone(), *matches_empty),
        };
        let known = self.pool.as_ref().and_then(|share| share.cached(text));
        let pattern = match known {
            Some(pattern) => pattern,
            None if self.patterns == MAX_OBJECT_PATTERNS => return Err(PatternExcess::Object),
            None => {
                let table = table(&automaton).ok_or(PatternExcess::Pattern)?;
                let compiled = Compiled::new(text, table);
                match &self.pool {
                    Some(share) => share.count(compiled)?,
                    None => Pattern(Arc::new(Counted { compiled, pool: None })),
                }
            }
        };
        let bytes = self.bytes + pattern.0.compiled.bytes;
        if self.patterns == MAX_OBJECT_PATTERNS || bytes > MAX_OBJECT_PATTERN_BYTES {
            return Err(PatternExcess::Object);
        }
        self.patterns += 1;
        self.bytes = bytes;
        self.known
            .insert(text.into(), CachedPattern::Kept { pattern: pattern.clone(), matches_empty });
        Ok(pattern)
    }

    /// Counts the comparisons of the schedules with `conditions` more conditions.
    ///
    /// # Errors
    ///
    /// If the budget is exceeded.
    pub fn compare(&mut self, conditions: usize) -> Result<(), PatternExcess> {
        self.comparisons = self.comparisons.saturating_add(conditions);
        if self.comparisons > MAX_OBJECT_COMPARISONS {
            return Err(PatternExcess::Comparisons);
        }
        Ok(())
    }

    fn cached(&mut self, text: &str) -> &CachedPattern {
        if !self.known.contains_key(text) {
            let pattern = self.read(text);
            self.known.insert(text.into(), pattern);
        }
        self.known.get(text).unwrap_or(&CachedPattern::Invalid)
    }

    fn read(&mut self, text: &str) -> CachedPattern {
        // With the group around it, as in Prometheus: Go defines whether and where the group ends.
        let whole = format!("^(?s:{text})$");
        let Some((translated, steps)) = almanac_expressions::pattern_from_go(&whole) else {
            return CachedPattern::Invalid;
        };
        if steps > MAX_OBJECT_STEPS {
            return CachedPattern::TooLarge(PatternExcess::Pattern);
        }
        if self.steps + steps > MAX_OBJECT_STEPS {
            return CachedPattern::TooLarge(PatternExcess::Object);
        }
        self.steps += steps;
        let config = Config::new().nfa_size_limit(Some(MAX_PATTERN_BYTES));
        match NFA::compiler().configure(config).build(&translated) {
            Ok(automaton) => match PikeVM::new_from_nfa(automaton.clone()) {
                Ok(machine) => {
                    let matches_empty = machine.is_match(&mut machine.create_cache(), "");
                    CachedPattern::Read { automaton, matches_empty }
                }
                Err(_) => CachedPattern::Invalid,
            },
            Err(error) if error.size_limit().is_some() => {
                CachedPattern::TooLarge(PatternExcess::Pattern)
            }
            Err(_) => CachedPattern::Invalid,
        }
    }
}

/// The table of an automaton; `None` if it is too large.
fn table(automaton: &NFA) -> Option<sparse::DFA<Vec<u8>>> {
    let work = MAX_WORK_TO_COMPILE / automaton.byte_classes().alphabet_len();
    let config = dense::Config::new()
        .start_kind(StartKind::Anchored)
        .accelerate(false)
        .dfa_size_limit(Some(MAX_BYTES_TO_COMPILE))
        .determinize_size_limit(Some(work.min(MAX_BYTES_TO_COMPILE)));
    let table = dense::Builder::new().configure(config).build_from_nfa(automaton).ok()?;
    table.to_sparse().ok().filter(|table| table.memory_usage() <= MAX_PATTERN_BYTES)
}

impl Compiled {
    fn new(text: &str, table: sparse::DFA<Vec<u8>>) -> Compiled {
        let bytes = table.memory_usage() + 2 * text.len() + BYTES_PER_PATTERN;
        Compiled { text: text.into(), table, bytes }
    }
}

impl Pattern {
    /// A pattern outside every budget; `None` for a string that is not a pattern in Go, or is too large.
    #[must_use]
    pub fn parse(text: &str) -> Option<Pattern> {
        PatternBudget::default().keep(text).ok()
    }

    pub(super) fn is_match(&self, value: &str) -> bool {
        let input = Input::new(value).anchored(Anchored::Yes).earliest(true);
        // No byte makes a search in such a table fail.
        self.0.compiled.table.try_search_fwd(&input).is_ok_and(|found| found.is_some())
    }
}

/// The patterns of all objects of a process, and their budget. Each namespace may use at most a quarter of the budget.
/// Equal patterns count once in each namespace. A clone shares the same pool.
#[derive(Clone, Debug)]
pub struct PatternPool(Arc<Pool>);

#[derive(Debug)]
struct Pool {
    most: usize,
    kept: Mutex<PoolContent>,
}

#[derive(Default, Debug)]
struct PoolContent {
    bytes: usize,
    by_namespace: BTreeMap<Arc<str>, NamespaceContent>,
}

#[derive(Default, Debug)]
struct NamespaceContent {
    bytes: usize,
    by_text: BTreeMap<Box<str>, Weak<Counted>>,
}

/// The usage of a pool, in bytes, when an object was refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PatternFullness {
    of_namespace: usize,
    of_process: usize,
    /// Whether the process, and not only the namespace, may lack the capacity.
    is_nearly_full: bool,
}

impl PatternFullness {
    /// Whether more capacity exists now, so that the object may fit.
    #[must_use]
    pub fn has_more_room(self, now: PatternFullness) -> bool {
        now.of_namespace < self.of_namespace
            || (self.is_nearly_full && now.of_process < self.of_process)
    }
}

/// The share of a namespace in a pool.
#[derive(Clone, Debug)]
struct Share {
    pool: PatternPool,
    namespace: Arc<str>,
}

impl Default for PatternPool {
    fn default() -> PatternPool {
        PatternPool::with_max_bytes(MAX_PROCESS_PATTERN_BYTES)
    }
}

impl PatternPool {
    /// Creates a pool of a size.
    #[must_use]
    pub fn with_max_bytes(max: usize) -> PatternPool {
        PatternPool(Arc::new(Pool { most: max, kept: Mutex::default() }))
    }

    /// The total size of all patterns with an owner, compiled, in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.lock().bytes
    }

    /// The usage of the pool for a namespace.
    #[must_use]
    pub fn fullness(&self, namespace: &str) -> PatternFullness {
        let content = self.lock();
        let of_namespace = content.by_namespace.get(namespace).map_or(0, |it| it.bytes);
        let is_nearly_full = self.0.most.saturating_sub(content.bytes) < MAX_OBJECT_PATTERN_BYTES;
        PatternFullness { of_namespace, of_process: content.bytes, is_nearly_full }
    }

    fn lock(&self) -> MutexGuard<'_, PoolContent> {
        self.0.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Share {
    /// The equal pattern in the pool; `None` if the pool does not contain it.
    fn cached(&self, text: &str) -> Option<Pattern> {
        let content = self.pool.lock();
        let own = content.by_namespace.get(&self.namespace)?;
        own.by_text.get(text).and_then(Weak::upgrade).map(Pattern)
    }

    /// Adds a pattern to the pool, or returns the equal pattern in it.
    fn count(&self, compiled: Compiled) -> Result<Pattern, PatternExcess> {
        let most = self.pool.0.most;
        let mut content = self.pool.lock();
        let bytes = content.bytes + compiled.bytes;
        let own = content.by_namespace.get(&self.namespace);
        let same = own.and_then(|own| own.by_text.get(&compiled.text)).and_then(Weak::upgrade);
        if let Some(same) = same {
            return Ok(Pattern(same));
        }
        let of_namespace = own.map_or(0, |own| own.bytes) + compiled.bytes;
        if of_namespace > most / SHARES {
            return Err(PatternExcess::Namespace);
        }
        if bytes > most {
            return Err(PatternExcess::Process);
        }
        let own = content.by_namespace.entry(self.namespace.clone()).or_default();
        own.bytes = of_namespace;
        let text = compiled.text.clone();
        let counted = Arc::new(Counted { compiled, pool: Some(self.clone()) });
        own.by_text.insert(text, Arc::downgrade(&counted));
        content.bytes = bytes;
        Ok(Pattern(counted))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let Some(Share { pool, namespace }) = &self.pool else { return };
        let mut content = pool.lock();
        content.bytes = content.bytes.saturating_sub(self.compiled.bytes);
        let Some(own) = content.by_namespace.get_mut(namespace) else { return };
        own.bytes = own.bytes.saturating_sub(self.compiled.bytes);
        // An equal pattern may have been added since this one lost its last owner.
        let text = &self.compiled.text;
        if own.by_text.get(text).is_some_and(|it| it.strong_count() == 0) {
            own.by_text.remove(text);
        }
        // A different pattern of the namespace may be about to be removed, too.
        if own.by_text.is_empty() && own.bytes == 0 {
            content.by_namespace.remove(namespace);
        }
    }
}

#[cfg(test)]
mod tests;

//! A lane for each target kind: a kind that does not respond delays only its own targets.
//!
//! A turn that sends a request to the API server takes one of the few permits of the kind's lane. While the kind
//! responds, turns wait for a permit. If the lane makes no progress for one second, the turn stops waiting and retries
//! as after any failure. After a request has timed out, the lane admits one request at a time until the next response.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use almanac_engine::Identity;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use super::TargetError;

/// The maximum number of concurrent reads of one kind.
const MAX_READS_PER_KIND: usize = 32;

/// The maximum number of concurrent turns with requests, for all kinds. It is half of all turns, so that the other half
/// is left to targets whose state is known.
const MAX_CONCURRENT_READS: usize = 128;

/// The time to wait in a full lane without a response.
const STALL_TIMEOUT: Duration = Duration::from_secs(1);

/// The maximum number of kinds with lanes. Beyond that, unused lanes are dropped, those of kinds that do not respond
/// last.
const MAX_KINDS: usize = 1_000;

/// The minimum interval between warnings that a kind does not respond.
const WARN_INTERVAL: Duration = Duration::from_mins(1);

/// The lanes of all kinds.
pub(super) struct Lanes {
    all: Arc<Lane>,
    /// By group and kind.
    kinds: Mutex<BTreeMap<(String, String), Arc<KindLanes>>>,
}

/// The lanes of a kind.
pub(super) struct KindLanes {
    /// Discovery: one request for all.
    discovery: Lane,
    /// Reads of its objects.
    reads: Lane,
    all: Arc<Lane>,
}

impl Lanes {
    pub(super) fn new() -> Self {
        let all = Arc::new(Lane::new("target".to_owned(), MAX_CONCURRENT_READS));
        Self { all, kinds: Mutex::default() }
    }

    /// The lanes of a target's kind.
    pub(super) fn for_target(&self, target: &Identity) -> Arc<KindLanes> {
        let kind = (target.group().to_owned(), target.kind().to_owned());
        let mut kinds = self.kinds.lock().unwrap_or_else(PoisonError::into_inner);
        if !kinds.contains_key(&kind) {
            make_room(&mut kinds);
        }
        let lanes = kinds.entry(kind).or_insert_with(|| {
            let name = match target.group() {
                "" => target.kind().to_owned(),
                group => format!("{}.{group}", target.kind()),
            };
            Arc::new(KindLanes {
                discovery: Lane::new(name.clone(), 1),
                reads: Lane::new(name, MAX_READS_PER_KIND),
                all: Arc::clone(&self.all),
            })
        });
        Arc::clone(lanes)
    }
}

/// Drops lanes beyond the maximum.
fn make_room(kinds: &mut BTreeMap<(String, String), Arc<KindLanes>>) {
    for keeps_hanging in [true, false] {
        if kinds.len() >= MAX_KINDS {
            kinds.retain(|_, lanes| {
                Arc::strong_count(lanes) > 1 || (keeps_hanging && lanes.is_hanging())
            });
        }
    }
}

impl KindLanes {
    /// Whether the last request of one of the lanes timed out.
    fn is_hanging(&self) -> bool {
        [&self.discovery, &self.reads].into_iter().any(|lane| lane.lock().is_hanging)
    }

    /// Waits for a permit to discover the kind.
    pub(super) async fn discover(&self) -> Result<RequestPermit<'_>, TargetError> {
        self.enter(&self.discovery).await
    }

    /// Waits for a permit to read an object of the kind.
    pub(super) async fn read(&self) -> Result<RequestPermit<'_>, TargetError> {
        self.enter(&self.reads).await
    }

    async fn enter<'a>(&'a self, lane: &'a Lane) -> Result<RequestPermit<'a>, TargetError> {
        let own = lane.enter().await?;
        let all = self.all.enter().await?;
        Ok(RequestPermit { own, _all: all })
    }
}

/// A permit of the lane of a kind, and a permit of all requests. Both are kept until all waiting turns have the
/// response, so that the request is not repeated.
pub(super) struct RequestPermit<'a> {
    own: LanePermit<'a>,
    _all: LanePermit<'a>,
}

impl RequestPermit<'_> {
    /// Records whether there was any response, or a timeout.
    pub(super) fn note(&self, has_response: bool) {
        if has_response {
            self.own.lane.lock().is_hanging = false;
        } else {
            self.own.lane.hangs();
        }
    }
}

/// The permits of a lane, and the state of its progress.
struct Lane {
    /// The name of the lane, for messages.
    name: String,
    at_once: usize,
    permits: Arc<Semaphore>,
    state: Mutex<State>,
}

struct State {
    /// The instant at which a permit was last released, or an empty lane was entered.
    moved_at: Instant,
    /// The last request timed out.
    is_hanging: bool,
    warned_at: Option<Instant>,
}

/// A permit of a lane. Releasing a permit is progress.
struct LanePermit<'a> {
    lane: &'a Lane,
    _permit: OwnedSemaphorePermit,
}

impl Drop for LanePermit<'_> {
    fn drop(&mut self) {
        let mut state = self.lane.lock();
        if !state.is_hanging {
            state.moved_at = Instant::now();
        }
    }
}

impl Lane {
    fn new(name: String, at_once: usize) -> Self {
        let state = State { moved_at: Instant::now(), is_hanging: false, warned_at: None };
        Self { name, at_once, permits: Arc::new(Semaphore::new(at_once)), state: Mutex::new(state) }
    }

    async fn enter(&self) -> Result<LanePermit<'_>, TargetError> {
        let entering = Arc::clone(&self.permits).acquire_owned();
        tokio::pin!(entering);
        loop {
            let gives_up_at = {
                let mut state = self.lock();
                if self.permits.available_permits() == self.at_once {
                    state.moved_at = Instant::now();
                } else if state.is_hanging {
                    return Err(self.too_slow());
                }
                state.moved_at + STALL_TIMEOUT
            };
            match tokio::time::timeout_at(gives_up_at, &mut entering).await {
                Ok(Ok(permit)) => return Ok(LanePermit { lane: self, _permit: permit }),
                Err(_) if self.lock().moved_at + STALL_TIMEOUT > Instant::now() => {}
                // The semaphore is never closed, so both cases mean too slow.
                Ok(Err(_)) | Err(_) => return Err(self.too_slow()),
            }
        }
    }

    fn too_slow(&self) -> TargetError {
        TargetError::Transient(format!("the API server responds too slowly for {}", self.name))
    }

    /// Records a timeout; returns whether to log it.
    fn hangs(&self) -> bool {
        let mut state = self.lock();
        state.is_hanging = true;
        let should_warn = state.warned_at.is_none_or(|at| at.elapsed() >= WARN_INTERVAL);
        if should_warn {
            state.warned_at = Some(Instant::now());
            tracing::warn!(
                kind = self.name,
                "the API server does not respond for this kind; its targets are retried later"
            );
        }
        should_warn
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lanes() -> Arc<KindLanes> {
        Lanes::new().for_target(&Identity::new("example.com", "Hung", "default", "any"))
    }

    #[tokio::test(start_paused = true)]
    async fn a_turn_waits_for_a_full_lane_as_long_as_it_makes_progress() {
        let lanes = lanes();
        let mut full = Vec::new();
        for _ in 0..MAX_READS_PER_KIND {
            full.push(lanes.read().await.expect("a permit is free"));
        }
        let moves = async {
            for _ in 0..4 {
                tokio::time::sleep(STALL_TIMEOUT / 2).await;
                full.pop();
            }
        };
        let waiting = futures::future::join_all([(); 4].map(|()| lanes.read()));
        let (entered, ()) = tokio::join!(waiting, moves);
        assert!(entered.iter().all(Result::is_ok));
    }

    #[tokio::test(start_paused = true)]
    async fn a_turn_gives_up_immediately_on_a_full_lane_that_is_stuck() {
        let lanes = lanes();
        let mut full = Vec::new();
        for _ in 0..MAX_READS_PER_KIND {
            full.push(lanes.read().await.expect("a permit is free"));
        }
        assert!(lanes.read().await.is_err());
        let before = Instant::now();
        assert!(lanes.read().await.is_err());
        assert_eq!(before.elapsed(), Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn a_stuck_lane_admits_one_probe_until_there_is_a_response() {
        let lanes = lanes();
        let first = lanes.read().await.expect("a permit is free");
        first.note(false);
        drop(first);
        let one = lanes.read().await.expect("one request is admitted");
        assert!(lanes.read().await.is_err());
        one.note(true);
        assert!(lanes.read().await.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn lanes_are_dropped_beyond_a_number_and_those_in_use_or_hanging_last() {
        let lanes = Lanes::new();
        let name = |number: usize| format!("Kind{number}");
        let lanes_of = |number| {
            lanes.for_target(&Identity::new("example.com", name(number), "default", "any"))
        };
        let _used = lanes_of(0);
        lanes_of(1).reads.hangs();
        for number in 2..=MAX_KINDS {
            drop(lanes_of(number));
        }
        let known = || {
            let kinds = lanes.kinds.lock().expect("lock is not poisoned");
            let has = |number| kinds.contains_key(&("example.com".to_owned(), name(number)));
            ([0, 1, 2, MAX_KINDS].map(has), kinds.len())
        };
        assert_eq!(known(), ([true, true, false, true], 3));
        for number in 2..MAX_KINDS {
            lanes_of(number).reads.hangs();
        }
        drop(lanes_of(MAX_KINDS));
        assert_eq!(known(), ([true, false, false, true], 2));
    }

    #[tokio::test(start_paused = true)]
    async fn a_hanging_kind_is_logged_once_a_minute() {
        let lane = Lane::new("Hung".to_owned(), 1);
        let mut reported = 0;
        for _ in 0..13 {
            reported += usize::from(lane.hangs());
            tokio::time::sleep(Duration::from_secs(10)).await;
        }
        assert_eq!(reported, 3, "immediately, and after each of two minutes");
    }
}

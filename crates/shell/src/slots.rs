//! Slots for connections: their limit, and their holders.
//!
//! No new connection waits, because an unbounded queue would only be another way to run out of memory. When all slots
//! are taken, the oldest connection without a request is closed. If all have a request, the oldest one whose client is
//! slow to read the response is closed. A client that sends its request and reads the response immediately, as the
//! kubelet does, ends before that, so other clients cannot starve it, independent of the number of their addresses. No
//! address may have all the slots, so a single address only displaces itself.
//!
//! A request that changes something is never displaced, and for a moment its response is not either. The new connection
//! is refused if all other connections are protected in this way.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// All slots of a listener.
pub(crate) struct Slots {
    taken: OpenConnections,
    all: usize,
    of_one_address: usize,
}

/// The connections with a slot, in order of arrival.
type OpenConnections = Arc<Mutex<BTreeMap<u64, Arc<Holder>>>>;

struct Holder {
    address: IpAddr,
    phase: Mutex<Phase>,
    makes_way: CancellationToken,
}

/// The progress of a connection.
#[derive(Clone, Copy)]
enum Phase {
    /// No request has arrived.
    Silent,
    /// The body of a request has yet to arrive.
    Arriving,
    /// A request has its response or gets it immediately, and the client has yet to read it.
    Read,
    /// The response to a request is computed, and must not be cut off.
    Kept,
    /// The instant of the response.
    Answered(Instant),
}

/// The time in which a client must read a response that must not be lost.
const READ_WITHIN: Duration = Duration::from_secs(1);

/// One slot, until it is dropped.
pub(crate) struct Slot {
    taken: OpenConnections,
    number: u64,
    holder: Arc<Holder>,
}

impl Slots {
    pub(crate) fn new(all: usize, of_one_address: usize) -> Self {
        Self { taken: Arc::default(), all, of_one_address }
    }

    /// A slot for a connection from this address, if necessary that of another connection. `None` if no other
    /// connection can be closed.
    pub(crate) fn take(&self, address: IpAddr) -> Option<Slot> {
        // A machine has one address, in any notation that the listener shows.
        let address = address.to_canonical();
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let own = taken.values().filter(|holder| holder.address == address).count();
        if own >= self.of_one_address {
            make_way(&mut taken, |holder| holder.address == address)?;
        } else if taken.len() >= self.all {
            make_way(&mut taken, |_| true)?;
        }
        let number = taken.last_key_value().map_or(0, |(last, _)| last + 1);
        let phase = Mutex::new(Phase::Silent);
        let holder = Arc::new(Holder { address, phase, makes_way: CancellationToken::new() });
        taken.insert(number, Arc::clone(&holder));
        Some(Slot { taken: Arc::clone(&self.taken), number, holder })
    }
}

/// Closes the connection whose loss matters least; `None` if no connection can be closed.
fn make_way(
    taken: &mut BTreeMap<u64, Arc<Holder>>,
    is_meant: impl Fn(&Holder) -> bool,
) -> Option<()> {
    let now = Instant::now();
    let matching = taken.iter().filter(|(_, holder)| is_meant(holder));
    let ranked = matching.filter_map(|(number, holder)| Some((holder.phase().rank(now)?, *number)));
    let (_, number) = ranked.min()?;
    taken.remove(&number)?.makes_way.cancel();
    Some(())
}

impl Phase {
    /// The rank of a connection: the lowest is closed first. `None` for a connection that is never closed for another.
    fn rank(self, now: Instant) -> Option<u8> {
        match self {
            Phase::Silent | Phase::Arriving => Some(0),
            Phase::Read => Some(1),
            Phase::Kept => None,
            Phase::Answered(at) => (now.saturating_duration_since(at) >= READ_WITHIN).then_some(0),
        }
    }
}

impl Holder {
    fn phase(&self) -> Phase {
        *self.phase.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Slot {
    fn note(&self, phase: Phase) {
        *self.holder.phase.lock().unwrap_or_else(PoisonError::into_inner) = phase;
    }

    /// Records that the client has sent a request with an immediate response, which may be cut off.
    pub(crate) fn answer_at_once(&self) {
        self.note(Phase::Read);
    }

    /// Records that a request has started to arrive.
    pub(crate) fn await_body(&self) {
        self.note(Phase::Arriving);
    }

    /// Records that the client has sent a whole request, which must not be cut off. Returns whether the connection
    /// still has the slot: without the slot, the request must not be handled.
    pub(crate) fn begin_request(&self) -> bool {
        let taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let is_taken =
            taken.get(&self.number).is_some_and(|holder| Arc::ptr_eq(holder, &self.holder));
        if is_taken {
            self.note(Phase::Kept);
        }
        is_taken
    }

    /// Records that the response is complete, and that the connection may be kept for another request.
    pub(crate) fn end_request(&self) {
        let was_kept = matches!(self.holder.phase(), Phase::Kept);
        self.note(if was_kept { Phase::Answered(Instant::now()) } else { Phase::Silent });
    }

    /// Whether shutdown still waits for the client after this time, which limits the time for a body.
    pub(crate) fn is_waited_for(&self, since_end: Duration, body: Duration) -> bool {
        match self.holder.phase() {
            Phase::Silent => since_end < READ_WITHIN,
            Phase::Arriving => since_end < body,
            Phase::Read | Phase::Kept => true,
            Phase::Answered(at) => at.elapsed() < READ_WITHIN,
        }
    }

    /// Whether the client has sent a request.
    pub(crate) fn has_request(&self) -> bool {
        !matches!(self.holder.phase(), Phase::Silent | Phase::Arriving)
    }

    /// Waits until another connection takes the slot.
    pub(crate) async fn is_lost(&self) {
        self.holder.makes_way.cancelled().await;
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if taken.get(&self.number).is_some_and(|holder| Arc::ptr_eq(holder, &self.holder)) {
            taken.remove(&self.number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(last: u8) -> IpAddr {
        IpAddr::from([10, 0, 0, last])
    }

    fn taken(slots: &Slots, last: u8) -> Slot {
        slots.take(address(last)).expect("a slot of another connection")
    }

    fn lost(slots: &[Slot]) -> Vec<bool> {
        slots.iter().map(|slot| slot.holder.makes_way.is_cancelled()).collect()
    }

    #[test]
    fn one_address_never_takes_all_slots() {
        let slots = Slots::new(3, 2);
        let other_slots = [1, 1, 1].map(|last| taken(&slots, last));
        assert_eq!(lost(&other_slots), [true, false, false]);
        let _kubelet = taken(&slots, 2);
        assert_eq!(lost(&other_slots), [true, false, false], "a slot is left for other addresses");
    }

    #[test]
    fn silent_connections_are_closed_before_active_ones_and_the_oldest_first() {
        let slots = Slots::new(3, 3);
        let held = [1, 2, 3].map(|last| taken(&slots, last));
        held[0].answer_at_once();
        let fourth = taken(&slots, 4);
        assert_eq!(lost(&held), [false, true, false]);
        fourth.answer_at_once();
        held[2].answer_at_once();
        let _fifth = taken(&slots, 5);
        assert_eq!(lost(&held), [true, true, false], "all have sent a request");
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_in_progress_and_its_response_are_never_cut_off() {
        let slots = Slots::new(2, 2);
        let held = [1, 2].map(|last| taken(&slots, last));
        assert!(held.iter().all(Slot::begin_request));
        assert!(slots.take(address(3)).is_none(), "the new one is refused");
        held[1].end_request();
        assert!(slots.take(address(3)).is_none(), "its response may be in flight");
        tokio::time::advance(READ_WITHIN).await;
        let _third = taken(&slots, 3);
        assert_eq!(lost(&held), [false, true]);
        assert!(!held[1].begin_request(), "the connection has lost its slot");
    }

    #[test]
    fn a_released_slot_can_be_taken_again() {
        let slots = Slots::new(1, 1);
        for _ in 0..3 {
            let slot = taken(&slots, 1);
            drop(slot);
        }
        let (lost, kept) = (taken(&slots, 1), taken(&slots, 1));
        drop(lost);
        assert!(!kept.holder.makes_way.is_cancelled());
        assert_eq!(
            slots.taken.lock().expect("the lock is not poisoned").len(),
            1,
            "only one slot was returned"
        );
        drop(kept);
        assert!(
            slots.taken.lock().expect("the lock is not poisoned").is_empty(),
            "addresses are not kept"
        );
    }

    #[test]
    fn an_ipv4_mapped_ipv6_address_is_the_same_address() {
        let slots = Slots::new(2, 1);
        let first = taken(&slots, 1);
        let _mapped = slots.take("::ffff:10.0.0.1".parse().expect("an address"));
        assert!(first.holder.makes_way.is_cancelled());
    }
}

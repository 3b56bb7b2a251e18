//! Slots for connections: how many there are, and who has them.
//!
//! Every new connection gets one, and none waits, because an unbounded queue would only be another way to run
//! out of memory. When all slots are taken, the oldest connection without a request is closed; if
//! all have one, the oldest one, whose client is slow to read the response. A client that sends its request and
//! reads the response at once, as the kubelet does, is gone before that, so others cannot starve it, from
//! however many addresses they connect. No address may have all the slots, so a single one only displaces itself.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio_util::sync::CancellationToken;

/// All slots of a listener.
pub(crate) struct Slots {
    taken: Taken,
    all: usize,
    of_one_address: usize,
}

/// The connections with a slot, in order of arrival.
type Taken = Arc<Mutex<BTreeMap<u64, Arc<Holder>>>>;

struct Holder {
    address: IpAddr,
    has_request: AtomicBool,
    makes_way: CancellationToken,
}

/// One slot, until it is dropped.
pub(crate) struct Slot {
    taken: Taken,
    number: u64,
    holder: Arc<Holder>,
}

impl Slots {
    pub(crate) fn new(all: usize, of_one_address: usize) -> Self {
        Self { taken: Arc::default(), all, of_one_address }
    }

    /// A slot for a connection from this address, if need be that of another one.
    pub(crate) fn take(&self, address: IpAddr) -> Slot {
        // A machine has one address, in whichever notation the listener shows it.
        let address = address.to_canonical();
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let own = taken.values().filter(|holder| holder.address == address).count();
        if own >= self.of_one_address {
            make_way(&mut taken, |holder| holder.address == address);
        } else if taken.len() >= self.all {
            make_way(&mut taken, |_| true);
        }
        let number = taken.last_key_value().map_or(0, |(last, _)| last + 1);
        let has_request = AtomicBool::new(false);
        let holder = Arc::new(Holder { address, has_request, makes_way: CancellationToken::new() });
        taken.insert(number, Arc::clone(&holder));
        Slot { taken: Arc::clone(&self.taken), number, holder }
    }
}

fn make_way(taken: &mut BTreeMap<u64, Arc<Holder>>, is_meant: impl Fn(&Holder) -> bool) {
    let meant = || taken.iter().filter(|(_, holder)| is_meant(holder));
    let silent = meant().find(|(_, holder)| !holder.has_request.load(Ordering::SeqCst));
    let Some(number) = silent.or_else(|| meant().next()).map(|(number, _)| *number) else { return };
    if let Some(holder) = taken.remove(&number) {
        holder.makes_way.cancel();
    }
}

impl Slot {
    /// Notes that the client has sent a request.
    pub(crate) fn begin_request(&self) {
        self.holder.has_request.store(true, Ordering::SeqCst);
    }

    /// Notes that the request has been answered, and that the connection may be kept for another one.
    pub(crate) fn end_request(&self) {
        self.holder.has_request.store(false, Ordering::SeqCst);
    }

    /// Whether the client has sent a request that is not answered yet.
    pub(crate) fn has_request(&self) -> bool {
        self.holder.has_request.load(Ordering::SeqCst)
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

    fn lost(slots: &[Slot]) -> Vec<bool> {
        slots.iter().map(|slot| slot.holder.makes_way.is_cancelled()).collect()
    }

    #[test]
    fn one_address_never_takes_all_slots() {
        let slots = Slots::new(3, 2);
        let stranger = [1, 1, 1].map(|last| slots.take(address(last)));
        assert_eq!(lost(&stranger), [true, false, false]);
        let _kubelet = slots.take(address(2));
        assert_eq!(lost(&stranger), [true, false, false], "a slot was left for others");
    }

    #[test]
    fn silent_connections_make_way_before_active_ones_and_the_oldest_first() {
        let slots = Slots::new(3, 3);
        let held = [1, 2, 3].map(|last| slots.take(address(last)));
        held[0].begin_request();
        let fourth = slots.take(address(4));
        assert_eq!(lost(&held), [false, true, false]);
        fourth.begin_request();
        held[2].begin_request();
        let _fifth = slots.take(address(5));
        assert_eq!(lost(&held), [true, true, false], "all have sent a request");
    }

    #[test]
    fn a_released_slot_can_be_taken_again() {
        let slots = Slots::new(1, 1);
        for _ in 0..3 {
            let slot = slots.take(address(1));
            drop(slot);
        }
        let (lost, kept) = (slots.take(address(1)), slots.take(address(1)));
        drop(lost);
        assert!(!kept.holder.makes_way.is_cancelled());
        assert_eq!(slots.taken.lock().expect("whole").len(), 1, "only its own was given back");
        drop(kept);
        assert!(slots.taken.lock().expect("whole").is_empty(), "addresses are not kept");
    }

    #[test]
    fn an_ipv4_mapped_ipv6_address_is_the_same_address() {
        let slots = Slots::new(2, 1);
        let first = slots.take(address(1));
        let _mapped = slots.take("::ffff:10.0.0.1".parse().expect("it is an address"));
        assert!(first.holder.makes_way.is_cancelled());
    }
}

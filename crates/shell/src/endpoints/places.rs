//! Places for connections: how many there are, and who has them.
//!
//! Whoever finds none is turned away and not queued: a queue without end would only be another way to
//! run out of memory. No address gets all of them, so that a stranger who takes what he can does not
//! keep the kubelet from asking whether the process is well, which would have it killed. Several
//! addresses together can; keeping those from connecting is left to a `NetworkPolicy`.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

/// All places of a listener.
pub(super) struct Places {
    taken: Arc<Mutex<BTreeMap<IpAddr, usize>>>,
    all: usize,
    of_one_address: usize,
}

/// One place, until it is dropped.
pub(super) struct Place {
    taken: Arc<Mutex<BTreeMap<IpAddr, usize>>>,
    address: IpAddr,
}

impl Places {
    pub(super) fn new(all: usize, of_one_address: usize) -> Self {
        Self { taken: Arc::default(), all, of_one_address }
    }

    /// A place for somebody from this address, if there is one left.
    pub(super) fn take(&self, address: IpAddr) -> Option<Place> {
        // One machine has one address, whichever way the listener shows it.
        let address = address.to_canonical();
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if taken.values().sum::<usize>() >= self.all {
            return None;
        }
        let own = taken.entry(address).or_default();
        if *own >= self.of_one_address {
            return None;
        }
        *own += 1;
        Some(Place { taken: Arc::clone(&self.taken), address })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(own) = taken.get_mut(&self.address) {
            *own = own.saturating_sub(1);
            if *own == 0 {
                taken.remove(&self.address);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(last: u8) -> IpAddr {
        IpAddr::from([10, 0, 0, last])
    }

    #[test]
    fn one_address_never_has_all_places() {
        let places = Places::new(3, 2);
        let stranger = [places.take(address(1)), places.take(address(1))];
        assert!(stranger.iter().all(Option::is_some));
        assert!(places.take(address(1)).is_none());
        let _kubelet = places.take(address(2)).expect("a place is left for others");
        assert!(places.take(address(3)).is_none(), "there are three in all");
    }

    #[test]
    fn a_place_that_is_given_back_can_be_taken_again() {
        let places = Places::new(1, 1);
        for _ in 0..3 {
            let place = places.take(address(1)).expect("it was given back");
            assert!(places.take(address(1)).is_none());
            drop(place);
        }
        assert!(places.taken.lock().expect("whole").is_empty(), "addresses are not kept");
    }

    #[test]
    fn an_address_written_as_one_of_the_other_protocol_is_the_same_one() {
        let places = Places::new(2, 1);
        let _first = places.take(address(1));
        let mapped = "::ffff:10.0.0.1".parse().expect("it is an address");
        assert!(places.take(mapped).is_none());
    }
}

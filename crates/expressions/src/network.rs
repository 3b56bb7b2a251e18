//! Networks and addresses on the web, as Kubernetes reads them in expressions.

use std::net::IpAddr;

/// A network: an address, and the length of its prefix in bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Network {
    pub(crate) address: IpAddr,
    pub(crate) prefix: u8,
}

/// An address, but not one of IPv4 written as one of IPv6.
pub(crate) fn parse_address(text: &str) -> Option<IpAddr> {
    let address = text.parse().ok()?;
    match address {
        IpAddr::V6(v6) if v6.to_ipv4_mapped().is_some() => None,
        IpAddr::V4(_) | IpAddr::V6(_) => Some(address),
    }
}

/// Whether an address can be reached from elsewhere in its network or beyond.
pub(crate) fn is_global_unicast(address: IpAddr) -> bool {
    let is_broadcast = matches!(address, IpAddr::V4(v4) if v4.is_broadcast());
    !is_broadcast
        && !address.is_unspecified()
        && !address.is_loopback()
        && !address.is_multicast()
        && !is_link_local_unicast(address)
}

pub(crate) fn is_link_local_unicast(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => v4.is_link_local(),
        IpAddr::V6(v6) => v6.is_unicast_link_local(),
    }
}

pub(crate) fn is_link_local_multicast(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => v4.octets()[..3] == [224, 0, 0],
        IpAddr::V6(v6) => v6.segments()[0] & 0xff0f == 0xff02,
    }
}

impl Network {
    pub(crate) fn parse(text: &str) -> Option<Network> {
        let (address, prefix) = text.rsplit_once('/')?;
        let address = parse_address(address)?;
        let is_number = prefix == "0" || prefix.starts_with(|it: char| ('1'..='9').contains(&it));
        let prefix: u8 = prefix.parse().ok().filter(|_| is_number)?;
        (prefix <= bits(address)).then_some(Network { address, prefix })
    }

    /// The network of the address, with zeros after the prefix.
    pub(crate) fn masked(self) -> Network {
        let address = match self.address {
            IpAddr::V4(v4) => {
                let mask = u32::MAX.checked_shl(u32::from(32 - self.prefix)).unwrap_or_default();
                IpAddr::V4((u32::from(v4) & mask).into())
            }
            IpAddr::V6(v6) => {
                let mask = u128::MAX.checked_shl(u32::from(128 - self.prefix)).unwrap_or_default();
                IpAddr::V6((u128::from(v6) & mask).into())
            }
        };
        Network { address, prefix: self.prefix }
    }

    pub(crate) fn contains(self, address: IpAddr) -> bool {
        bits(address) == bits(self.address)
            && Network { address, prefix: self.prefix }.masked() == self.masked()
    }

    pub(crate) fn contains_network(self, other: Network) -> bool {
        self.prefix <= other.prefix && self.contains(other.address)
    }
}

impl std::fmt::Display for Network {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}/{}", self.address, self.prefix)
    }
}

fn bits(address: IpAddr) -> u8 {
    match address {
        IpAddr::V4(_) => 32,
        IpAddr::V6(_) => 128,
    }
}

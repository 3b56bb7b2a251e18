//! Loopback ports that stay reserved for the lifetime of a control plane.
//!
//! A port that the kernel assigned and got back may be taken by another process before the
//! component binds it, or while a killed component is down. So the socket is kept, bound and never
//! listening, with `SO_REUSEPORT`. The component may bind next to it, as the same user with the
//! same option. No other process gets the port, and connections go to the listening socket.

use std::net::{Ipv4Addr, SocketAddr};

use anyhow::{Context as _, Result};
use socket2::{Domain, Socket, Type};

use crate::component::Component;

/// A port on 127.0.0.1 that no other process receives.
#[derive(Debug)]
pub struct ReservedPort {
    number: u16,
    _socket: Socket,
}

impl ReservedPort {
    /// Reserves a port that the kernel selects.
    pub fn take() -> Result<Self> {
        Self::bound(0).context("failed to reserve a port on 127.0.0.1")
    }

    /// Reserves this port; if it is in use, another port.
    pub fn take_preferably(number: u16) -> Result<Self> {
        let is_free = || -> Result<()> {
            // Without port sharing. Otherwise, the bind could succeed next to another program with port sharing.
            let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
            // Closed connections in TIME_WAIT do not block the port.
            socket.set_reuse_address(true)?;
            Ok(socket.bind(&SocketAddr::from((Ipv4Addr::LOCALHOST, number)).into())?)
        };
        match is_free().and_then(|()| Self::bound(number)) {
            Ok(port) => Ok(port),
            Err(_) => Self::take(),
        }
    }

    fn bound(number: u16) -> Result<Self> {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
        socket.set_reuse_port(true)?;
        socket.bind(&SocketAddr::from((Ipv4Addr::LOCALHOST, number)).into())?;
        let bound = socket.local_addr()?.as_socket().context("the socket has no address")?;
        Ok(Self { number: bound.port(), _socket: socket })
    }

    /// The number of the port.
    #[must_use]
    pub fn number(&self) -> u16 {
        self.number
    }
}

/// The ports of a control plane, reserved even while a component is down.
#[derive(Debug)]
pub(crate) struct Ports {
    pub(crate) etcd: ReservedPort,
    pub(crate) etcd_peers: ReservedPort,
    pub(crate) api_server: ReservedPort,
    pub(crate) controller_manager: ReservedPort,
    pub(crate) scheduler: ReservedPort,
}

impl Ports {
    pub(crate) fn reserve(api_server: Option<u16>) -> Result<Self> {
        Ok(Self {
            etcd: ReservedPort::take()?,
            etcd_peers: ReservedPort::take()?,
            api_server: match api_server {
                Some(number) => ReservedPort::take_preferably(number)?,
                None => ReservedPort::take()?,
            },
            controller_manager: ReservedPort::take()?,
            scheduler: ReservedPort::take()?,
        })
    }

    pub(crate) fn url(&self, component: Component) -> String {
        let port = match component {
            Component::Etcd => &self.etcd,
            Component::ApiServer => &self.api_server,
            Component::ControllerManager => &self.controller_manager,
            Component::Scheduler => &self.scheduler,
        };
        format!("https://127.0.0.1:{}", port.number())
    }
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn a_taken_port_is_replaced_and_not_shared() {
        let taken = ReservedPort::take().expect("a port");
        let other = ReservedPort::take_preferably(taken.number()).expect("a port");
        assert_ne!(other.number(), taken.number());
        let listening = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a listener");
        let number = listening.local_addr().expect("an address").port();
        assert_ne!(ReservedPort::take_preferably(number).expect("a port").number(), number);
    }

    #[test]
    fn only_a_socket_with_port_sharing_can_bind_a_reserved_port() {
        let port = ReservedPort::take().expect("a port");
        let refused = TcpListener::bind((Ipv4Addr::LOCALHOST, port.number()));
        assert_eq!(refused.err().map(|it| it.kind()), Some(ErrorKind::AddrInUse));
    }
}

//! A port on loopback for a program under test. The program binds the port without `SO_REUSEPORT`, so
//! no socket can reserve the port for the program.
//!
//! The port is below the ephemeral ports of the kernel, and a lock file keeps other tests away:
//! the port belongs to the program while the program runs and while it is down.

use std::fs::{self, File};
use std::net::{Ipv4Addr, TcpListener};

use anyhow::{Context as _, Result, bail};

use crate::environment;

/// The first port: below the ephemeral ports of Linux, from 32768, and above the well-known ports.
const FIRST: u16 = 21_000;
const LAST: u16 = 29_999;

/// A port that no other test receives while this value exists.
#[derive(Debug)]
pub struct ProgramPort {
    number: u16,
    _lock: File,
}

impl ProgramPort {
    /// Reserves a free port.
    pub fn take() -> Result<Self> {
        let folder = environment::cache_folder()?.join("ports");
        fs::create_dir_all(&folder)
            .with_context(|| format!("failed to create {}", folder.display()))?;
        for number in FIRST..=LAST {
            let lock = File::create(folder.join(number.to_string()))?;
            if lock.try_lock().is_ok() && TcpListener::bind((Ipv4Addr::LOCALHOST, number)).is_ok() {
                return Ok(Self { number, _lock: lock });
            }
        }
        bail!("no port from {FIRST} to {LAST} is free on 127.0.0.1")
    }

    /// The number of the port.
    #[must_use]
    pub fn number(&self) -> u16 {
        self.number
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn a_port_is_given_once_while_it_is_reserved_and_can_be_bound_without_sharing() {
        let first = ProgramPort::take().expect("a port");
        let second = ProgramPort::take().expect("a port");
        assert_ne!(first.number(), second.number());
        // A program that another test is about to start may still hold the socket of the probe.
        let can_be_bound = || TcpListener::bind((Ipv4Addr::LOCALHOST, first.number())).is_ok();
        let begun = Instant::now();
        while !can_be_bound() {
            assert!(begun.elapsed() < Duration::from_secs(10), "port {} is in use", first.number());
            std::thread::yield_now();
        }
    }
}

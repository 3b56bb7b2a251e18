//! A real terminal for a program under test, and a model of its screen.

#![allow(dead_code, unused_imports, reason = "every test program uses a part of it")]

mod screen;

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

pub(crate) use screen::{Rows, Screen};

/// Opens a terminal with this number of columns: the side of the test, and that of the program.
pub(crate) fn open(columns: u16) -> io::Result<(File, OwnedFd)> {
    // Programs of other tests must not inherit the terminal: reading ends once all have closed their side.
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let outer = File::from(openpt(flags)?);
    grantpt(&outer)?;
    unlockpt(&outer)?;
    let name = ptsname(&outer, Vec::<u8>::new())?;
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    let inner = rustix::fs::open(name.as_c_str(), flags, Mode::empty())?;
    resize(&inner, columns)?;
    Ok((outer, inner))
}

/// Changes the width of a terminal.
pub(crate) fn resize(terminal: impl AsFd, columns: u16) -> io::Result<()> {
    let size = Winsize { ws_row: 50, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    Ok(tcsetwinsize(terminal, size)?)
}

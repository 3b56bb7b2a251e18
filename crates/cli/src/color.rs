//! The use of colors: as `--color` requires, or else on a terminal unless `NO_COLOR` is set.

use std::ffi::{OsStr, OsString};
use std::io::{self, Write};

use anstream::adapter::StripBytes;
use clap::{Args, ColorChoice, ValueEnum as _};

#[derive(Args)]
pub(crate) struct ColorArguments {
    /// When to show colors; auto shows them on a terminal only
    // After a command's own options.
    #[arg(
        long,
        global = true,
        display_order = 100,
        value_name = "WHEN",
        value_enum,
        default_value_t = ColorChoice::Auto
    )]
    color: ColorChoice,
}

impl ColorArguments {
    /// Applies the choice to all later output.
    pub(crate) fn apply(&self) {
        let choice = match self.color {
            ColorChoice::Auto => anstream::ColorChoice::Auto,
            ColorChoice::Always => anstream::ColorChoice::Always,
            ColorChoice::Never => anstream::ColorChoice::Never,
        };
        choice.write_global();
    }
}

/// The choice on an unparsed command line, because help and errors have colors, too.
pub(crate) fn choice_in(words: &[OsString]) -> ColorChoice {
    let mut words = words.iter().map(OsString::as_os_str).take_while(|word| *word != "--");
    let mut choice = ColorChoice::Auto;
    while let Some(word) = words.next() {
        let name = if word == "--color" {
            words.next().and_then(OsStr::to_str)
        } else {
            word.to_str().and_then(|word| word.strip_prefix("--color="))
        };
        choice = name.and_then(|it| ColorChoice::from_str(it, false).ok()).unwrap_or(choice);
    }
    choice
}

/// An output without colors. Text that never has colors, such as gigabytes of JSON, is passed on unchanged: checking
/// each character takes longer than rendering it.
pub(crate) struct Plain<W> {
    output: W,
    stripper: StripBytes,
    has_colors: bool,
}

/// The first byte of sequences that change colors.
const ESCAPE: u8 = 0x1b;

impl<W: Write> Plain<W> {
    pub(crate) fn new(output: W) -> Plain<W> {
        Plain { output, stripper: StripBytes::new(), has_colors: false }
    }
}

impl<W: Write> Write for Plain<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.has_colors |= bytes.contains(&ESCAPE);
        if !self.has_colors {
            return self.output.write(bytes);
        }
        for printable in self.stripper.strip_next(bytes) {
            self.output.write_all(printable)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.output.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colors_are_removed_wherever_an_output_is_cut() {
        let colored = b"plain \x1b[1mbold\x1b[0m\nand \x1b[31mred\x1b[0m";
        for cut in 0..colored.len() {
            let mut printed = Vec::new();
            let mut plain = Plain::new(&mut printed);
            plain.write_all(&colored[..cut]).unwrap();
            plain.write_all(&colored[cut..]).unwrap();
            assert_eq!(String::from_utf8(printed).unwrap(), "plain bold\nand red", "{cut}");
        }
    }

    #[test]
    fn the_color_option_is_found_before_the_command_line_is_parsed() {
        let choice =
            |line: &str| choice_in(&line.split(' ').map(OsString::from).collect::<Vec<_>>());
        assert_eq!(choice("almanac --color never"), ColorChoice::Never);
        assert_eq!(choice("almanac next --color=always --help"), ColorChoice::Always);
        for line in ["almanac", "almanac --color", "almanac --color=x", "almanac -- --color=never"]
        {
            assert_eq!(choice(line), ColorChoice::Auto, "{line}");
        }
    }
}

//! The order of the options in the help of a command: the options of daily use come first, and the other options
//! follow as declared.

use clap::Command;

/// The options of daily use, by command.
const DAILY: [(&str, [&str; 5]); 8] = [
    ("forecast", ["file", "namespace", "from", "period", "output"]),
    ("explain", ["file", "namespace", "at", "zone", "output"]),
    ("next", ["file", "namespace", "from", "count", "output"]),
    ("diff", ["git", "from", "period", "fail_on_change", "output"]),
    ("when", ["cron", "zone", "from", "count", "file"]),
    ("lint", ["file", "fix", "ignore", "fail_on", "output"]),
    ("validate", ["file", "exclude", "namespace", "fail_on", "output"]),
    ("up", ["demo", "file", "cluster", "at", "speed"]),
];

/// The command line with the options of each command in their order.
pub(crate) fn ordered(command: Command) -> Command {
    command.mut_subcommands(|command| {
        let daily = DAILY.iter().find(|(name, _)| *name == command.get_name());
        let Some((_, daily)) = daily else { return command };
        command.mut_args(|argument| {
            let rank = daily.iter().position(|id| argument.get_id() == *id);
            let declared = argument.get_display_order() + daily.len();
            argument.display_order(rank.unwrap_or(declared))
        })
    })
}

#[cfg(test)]
mod tests {
    use clap::{Arg, CommandFactory as _};

    use super::*;
    use crate::Arguments;

    #[test]
    fn the_options_of_daily_use_come_first() {
        let command = ordered(Arguments::command());
        for (name, daily) in DAILY {
            let command = command.find_subcommand(name).expect(name);
            // A build for files only hides `up`, and accepts any words after it.
            if command.is_hide_set() {
                continue;
            }
            let arguments = command.get_arguments();
            let mut options: Vec<&Arg> = arguments.filter(|it| !it.is_positional()).collect();
            options.sort_by_key(|option| option.get_display_order());
            let first: Vec<&str> =
                options.iter().take(daily.len()).map(|option| option.get_id().as_str()).collect();
            assert_eq!(first, daily, "{name}");
        }
    }
}

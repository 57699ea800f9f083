//! The list of commands in `cotter --help`, by what they are for.

use clap::Command;
use std::fmt::Write;

/// A command that this build does not have is left out.
const GROUPS: [(&str, &[&str]); 5] = [
    ("Locks", &["run", "list", "show", "evict", "acquire", "renew", "release", "dashboard"]),
    ("Elections and latches", &["elect", "latch"]),
    ("Scheduled jobs", &["schedule", "jobs", "cron"]),
    ("Stores", &["doctor", "migrate", "prune", "bench"]),
    ("Other commands", &["verify", "demo", "completions", "man", "help"]),
];

/// The command line with its commands in groups, for its help only: in `cotter` itself they are hidden.
pub(crate) fn grouped(mut cotter: Command) -> Command {
    // Afterwards it has the command `help` as well.
    cotter.build();
    let list = list(&cotter);
    let template = "{before-help}{about-with-newline}\n{usage-heading} {usage}\n\nLIST{all-args}{after-help}";
    let cotter = cotter.mut_subcommands(|command| command.hide(true));
    cotter.override_usage("cotter [OPTIONS] <COMMAND>").help_template(template.replace("LIST", &list))
}

fn list(cotter: &Command) -> String {
    let width = cotter.get_subcommands().map(|command| command.get_name().len()).max().unwrap_or_default();
    let styles = cotter.get_styles();
    let (header, literal) = (styles.get_header(), styles.get_literal());
    let mut list = String::new();
    for (group, names) in GROUPS {
        let _ = writeln!(list, "{header}{group}:{header:#}");
        for command in names.iter().filter_map(|name| cotter.find_subcommand(name)) {
            let (name, about) = (command.get_name(), about(command));
            let _ =
                writeln!(list, "  {literal}{name}{literal:#}{:pad$}  {about}", "", pad = width - name.len());
        }
        list.push('\n');
    }
    list
}

/// What it does, and its other name.
fn about(command: &Command) -> String {
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let aliases: Vec<_> = command.get_visible_aliases().map(|alias| format!(" [alias: {alias}]")).collect();
    about + &aliases.concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::for_help;

    fn help() -> String {
        for_help().render_help().to_string()
    }

    #[test]
    fn every_command_is_in_one_group() {
        let help = help();
        for command in for_help().get_subcommands() {
            let (name, about) = (command.get_name(), command.get_about().expect("it says what it does"));
            let lines = help.lines().filter(|line| line.split_whitespace().next() == Some(name)).count();
            assert_eq!(lines, 1, "{name} in {help}");
            assert!(help.contains(&about.to_string()), "{name}");
        }
        assert!(GROUPS.iter().all(|(group, _)| help.contains(&format!("\n\n{group}:\n  "))), "{help}");
        assert!(help.contains("\n\nOptions:\n") && !help.contains("Commands:"), "{help}");
    }

    #[test]
    fn the_list_fits_into_80_columns() {
        let help = help();
        let list = help.split("\nOptions:").next().expect("the list comes first");
        assert!(list.lines().all(|line| line.len() <= 80), "{list}");
    }

    /// Wherever it is asked for, and for whatever command.
    #[test]
    fn the_help_of_every_command_is_found() {
        for line in [
            "cotter -h",
            "cotter --help",
            "cotter help",
            "cotter run -h",
            "cotter help run",
            "cotter help jobs list",
        ] {
            let error = for_help().try_get_matches_from(line.split(' ')).expect_err(line);
            assert_eq!(error.kind(), clap::error::ErrorKind::DisplayHelp, "{line}: {error}");
        }
    }
}

//! `cotter cron`: the instants and the meaning of an expression.

use cotter_console::Exit;
use cotter_scheduler::{Cron as Expression, UnixTime, Zone};
use serde_json::json;
use std::io::{self, Write};

/// Print when a cron expression fires
///
/// The dialect is that of Quartz: `seconds minutes hours day-of-month month day-of-week [year]`; with --crontab it is that
/// of cron(8), `minute hour day-of-month month day-of-week`. Prints the next instants
/// in RFC 3339 and UTC, one per line; nothing if there are none. With --json prints one object per line, with `at` and,
/// if a time zone is given, `local`.
#[derive(clap::Args, Debug)]
pub(crate) struct Cron {
    /// `seconds minutes hours day-of-month month day-of-week [year]`, as one argument; with --crontab, the five fields of a
    /// crontab or a nickname such as `@daily`
    #[arg(value_name = "EXPR", allow_hyphen_values = true)]
    expression: String,

    /// Read EXPR as a crontab does
    #[arg(long)]
    crontab: bool,

    /// The time zone of the expression, an IANA name; adds a column with local time
    #[arg(long, value_name = "ZONE")]
    tz: Option<String>,

    /// Print instants strictly after this one [default: now]
    #[arg(long, value_name = "RFC3339", allow_hyphen_values = true)]
    after: Option<String>,

    /// The number of instants
    #[arg(short = 'n', long = "count", value_name = "N", default_value = "5", allow_hyphen_values = true)]
    count: String,

    /// Describe the expression in English instead
    #[arg(long)]
    explain: bool,
}

/// The parsed arguments.
struct Question {
    cron: Expression,
    zone: Option<Zone>,
    after: UnixTime,
    count: usize,
}

impl Cron {
    /// Prints the result to `out`, and mistakes to `err`.
    ///
    /// # Errors
    ///
    /// Only errors of writing to `out` or `err`.
    pub(crate) fn run(&self, json: bool, out: &mut impl Write, err: &mut impl Write) -> io::Result<Exit> {
        match self.question(json) {
            Ok(question) => self.answer(&question, json, out).map(|()| Exit::Done),
            Err(mistake) => writeln!(err, "cotter: {mistake}").map(|()| Exit::Usage),
        }
    }

    /// What may not be meant.
    pub(crate) fn doubt(&self) -> Option<String> {
        if self.crontab { None } else { Expression::doubt(&self.expression) }
    }

    fn question(&self, json: bool) -> Result<Question, String> {
        if json && self.explain {
            return Err("--explain and --json cannot be combined; leave one of them out".into());
        }
        let read = if self.crontab { Expression::from_crontab } else { str::parse };
        let cron = read(&self.expression).map_err(|error| format!("{error}\n{}", error.with_caret()))?;
        let zone =
            self.tz.as_deref().map(Zone::named).transpose().map_err(|error| format!("--tz: {error}"))?;
        let after = self.after.as_deref().map(str::parse).transpose();
        let after = after.map_err(|error: cotter_scheduler::TimeError| format!("--after: {error}"))?;
        let count = self.count.parse().ok().filter(|&count| count > 0);
        let count =
            count.ok_or_else(|| format!("-n: {:?} is not a valid number; write 1 or more", self.count))?;
        Ok(Question { cron, zone, after: after.unwrap_or_else(UnixTime::now), count })
    }

    fn answer(&self, question: &Question, as_json: bool, out: &mut impl Write) -> io::Result<()> {
        let utc = Zone::utc();
        let zone = question.zone.as_ref();
        if self.explain {
            let clock = zone.map(|zone| format!(" ({zone} time)")).unwrap_or_default();
            return writeln!(out, "{}{clock}", question.cron.describe());
        }
        let instants = question.cron.after(question.after, zone.unwrap_or(&utc)).take(question.count);
        if as_json { json(instants, zone, out) } else { lines(instants, zone, out) }
    }
}

fn json(
    instants: impl Iterator<Item = UnixTime>,
    zone: Option<&Zone>,
    out: &mut impl Write,
) -> io::Result<()> {
    for at in instants {
        match zone {
            Some(zone) => {
                let local = zone.local(at).to_string();
                writeln!(out, "{}", json!({ "at": at.to_string(), "local": local }))?;
            }
            None => writeln!(out, "{}", json!({ "at": at.to_string() }))?,
        }
    }
    Ok(())
}

fn lines(
    instants: impl Iterator<Item = UnixTime>,
    zone: Option<&Zone>,
    out: &mut impl Write,
) -> io::Result<()> {
    for at in instants {
        match zone {
            Some(zone) => writeln!(out, "{at}\t{}", zone.local(at))?,
            None => writeln!(out, "{at}")?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        cron: Cron,
        #[arg(long)]
        json: bool,
    }

    /// Exit code, what goes to stdout, what goes to stderr.
    fn cotter_cron(args: &[&str]) -> (u8, String, String) {
        let command = Command::try_parse_from([&["cron"], args].concat()).unwrap();
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let exit = command.cron.run(command.json, &mut out, &mut err).unwrap();
        (exit.code(), String::from_utf8(out).unwrap(), String::from_utf8(err).unwrap())
    }

    fn answer(args: &[&str]) -> String {
        let (code, out, err) = cotter_cron(args);
        assert_eq!((code, err.as_str()), (0, ""), "{args:?}");
        out
    }

    fn refusal(args: &[&str]) -> String {
        let (code, out, err) = cotter_cron(args);
        assert_eq!((code, out.as_str()), (64, ""), "{args:?}");
        err
    }

    const LEAP_DAY: &str = "0 0 0 29 2 ?";

    #[test]
    fn five_instants_in_utc() {
        let out = answer(&["0 0 2 1 * ? *", "--after", "2024-01-15T00:00:00Z"]);
        assert_eq!(out.lines().count(), 5);
        assert!(out.starts_with("2024-02-01T02:00:00Z\n2024-03-01T02:00:00Z\n"), "{out}");
        assert_eq!(answer(&["* * * * * ?"]).lines().count(), 5, "from now on");
    }

    #[test]
    fn local_time_beside_it() {
        let args =
            ["0 30 2 * * ?", "--tz", "america/new_york", "--after", "2024-03-09T12:00:00-05:00", "-n", "2"];
        let lines = "2024-03-10T07:00:00Z\t2024-03-10T03:00:00-04:00\n2024-03-11T06:30:00Z\t2024-03-11T02:30:00-04:00\n";
        assert_eq!(answer(&args), lines);
        let json = answer(&[&args[..], &["--json"]].concat());
        let first = json.lines().next().unwrap();
        assert_eq!(first, r#"{"at":"2024-03-10T07:00:00Z","local":"2024-03-10T03:00:00-04:00"}"#);
        assert_eq!(json.lines().count(), 2);
        let utc = answer(&["0 30 2 * * ?", "--after", "2024-03-09T12:00:00Z", "-n", "1", "--json"]);
        assert_eq!(utc, "{\"at\":\"2024-03-10T02:30:00Z\"}\n");
    }

    #[test]
    fn nothing_when_there_is_nothing() {
        assert_eq!(answer(&["0 0 0 30 2 ?"]), "");
        assert_eq!(answer(&["0 0 0 30 2 ?", "--json"]), "");
        assert_eq!(answer(&[LEAP_DAY, "--after", "2095-01-01T00:00:00Z"]), "2096-02-29T00:00:00Z\n");
    }

    #[test]
    fn in_words() {
        assert_eq!(answer(&["0 15 10 ? * MON-FRI", "--explain"]), "At 10:15:00, Monday through Friday\n");
        let zoned = answer(&["0 0 * * * ?", "--explain", "--tz", "Europe/London"]);
        assert_eq!(zoned, "Every hour (Europe/London time)\n");
        assert!(refusal(&[LEAP_DAY, "--explain", "--json"]).contains("leave one of them out"));
    }

    #[test]
    fn a_line_of_a_crontab() {
        let args = ["--crontab", "30 9 13 * 5", "--after", "2024-06-08T00:00:00Z", "-n", "2"];
        assert_eq!(answer(&args), "2024-06-13T09:30:00Z\n2024-06-14T09:30:00Z\n");
        let text = answer(&["--crontab", "0 9 * * 1-5", "--explain"]);
        assert_eq!(text, "At 09:00:00, Monday through Friday\n");
        let text =
            "cotter: hours, column 3: 24 is out of range; write a number from 0 to 23\n0 24 * * *\n  ^\n";
        assert_eq!(refusal(&["--crontab", "0 24 * * *"]), text);
    }

    #[test]
    fn mistakes() {
        let text =
            "cotter: minutes, column 3: 60 is out of range; write a number from 0 to 59\n0 60 * * * ?\n  ^\n";
        assert_eq!(refusal(&["0 60 * * * ?"]), text);
        assert!(refusal(&["-1 * * * * ?", "--explain"]).contains("the range has no start"));
        let zone = "cotter: --tz: unknown time zone \"Europe/Lodon\"; did you mean Europe/London?\n";
        assert_eq!(refusal(&[LEAP_DAY, "--tz", "Europe/Lodon"]), zone);
        assert!(
            refusal(&[LEAP_DAY, "--after", "yesterday"]).starts_with("cotter: --after: \"yesterday\" is not")
        );
        for count in ["0", "-1", "many", ""] {
            let text = format!("cotter: -n: {count:?} is not a valid number; write 1 or more\n");
            assert_eq!(refusal(&[LEAP_DAY, "-n", count]), text);
        }
    }
}

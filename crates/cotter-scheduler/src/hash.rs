//! The hash of a definition.
//!
//! It is compared by replicas of different versions, so the text that is hashed is fixed: a setting that is added later is
//! written only if it differs from its default, and nothing that is written now ever changes.

use crate::job::Policy;
use crate::{Busy, Concurrency, Misfire, OnCrash, OnStop, Trigger, label};
use cotter::Lease;
use sha2::{Digest, Sha256};
use std::fmt::{self, Display, Write};
use std::time::Duration;

/// The hash of a job's trigger, settings and further data. The generation decides between definitions and is not part of
/// them.
pub(crate) fn hash(trigger: &Trigger, policy: &Policy, extra: &[u8]) -> String {
    let mut sha = Sha256::new();
    sha.update(format!("{trigger} {} ", settings(policy)));
    sha.update(extra);
    hex(&sha.finalize()[..8])
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    let mut hex = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        write!(hex, "{byte:02x}").expect("a string takes it");
    }
    hex
}

fn settings(policy: &Policy) -> String {
    let mut list: Vec<String> = usual(policy).iter().map(|(key, value)| format!("{key}: {value}")).collect();
    list.extend(later(policy).iter().map(|(key, value)| format!("{key}: {value}")));
    format!("Policy {{ {} }}", list.join(", "))
}

/// The settings that are always written.
pub(crate) fn usual(policy: &Policy) -> [(&'static str, String); 16] {
    let fields: [(&str, &dyn Display); 16] = [
        ("initial_delay", &Length(policy.initial_delay)),
        ("max_run", &Maybe(policy.max_run.map(Length))),
        ("stop_within", &Length(policy.stop_within)),
        ("misfire", &misfire(policy.misfire)),
        ("late_within", &Length(policy.late_within)),
        ("misfire_window", &Length(policy.misfire_window)),
        ("max_backlog", &policy.max_backlog),
        ("on_crash", &on_crash(policy.on_crash)),
        ("retries", &policy.retries),
        ("retry_delay", &Length(policy.retry_delay)),
        ("jitter", &Length(policy.jitter)),
        ("at_least", &Length(policy.at_least)),
        ("busy", &busy(policy.busy)),
        ("generation", &0),
        ("enabled", &policy.enabled),
        ("lease", &Maybe(policy.lease.map(lease))),
    ];
    fields.map(|(key, value)| (key, value.to_string()))
}

/// The name of the labels that a job needs.
pub(crate) const ON: &str = "on";

/// The name of the jobs that a job follows.
pub(crate) const AFTER: &str = "after";

/// The names in the text of such a setting. No name contains what is between them.
pub(crate) fn names_in(text: &str) -> Vec<String> {
    text.split('/').map(str::to_owned).collect()
}

/// The settings that were added later, as far as they are not the default ones.
pub(crate) fn later(policy: &Policy) -> Vec<(&'static str, String)> {
    let mut list = Vec::new();
    list.extend(policy.max_retry_delay.map(|max| ("max_retry_delay", Length(max).to_string())));
    if policy.concurrency == Concurrency::Replace {
        list.push(("concurrency", "replace".to_owned()));
    }
    list.extend(policy.on_stop.map(|on_stop| ("on_stop", self::on_stop(on_stop).to_owned())));
    list.extend(policy.grace.map(|grace| ("grace", Length(grace).to_string())));
    if !policy.on.is_empty() {
        list.push((ON, label::join(&policy.on)));
    }
    if !policy.after.is_empty() {
        list.push((AFTER, policy.after.iter().map(|job| &**job).collect::<Vec<_>>().join("/")));
    }
    list.extend(policy.lock.as_ref().map(|name| ("lock", Quoted(name).to_string())));
    list.extend(policy.limit.as_ref().map(|(name, of)| ("limit", format!("{of} of {}", Quoted(name)))));
    list
}

fn misfire(misfire: Misfire) -> &'static str {
    match misfire {
        Misfire::Skip => "Skip",
        Misfire::Once => "Once",
        Misfire::All => "All",
    }
}

fn on_crash(on_crash: OnCrash) -> &'static str {
    match on_crash {
        OnCrash::Skip => "Skip",
        OnCrash::Rerun => "Rerun",
    }
}

fn on_stop(on_stop: OnStop) -> &'static str {
    match on_stop {
        OnStop::Skip => "Skip",
        OnStop::Rerun => "Rerun",
    }
}

fn busy(busy: Busy) -> &'static str {
    match busy {
        Busy::Wait => "Wait",
        Busy::Skip => "Skip",
    }
}

fn lease(lease: Lease) -> String {
    let (ttl, longest) = (Length(lease.ttl()), Maybe(lease.longest_hold().map(Length)));
    format!("Lease {{ ttl: {ttl}, renewed: {}, max_hold: {longest} }}", lease.is_renewed())
}

struct Maybe<T>(Option<T>);

impl<T: Display> Display for Maybe<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(value) => write!(f, "Some({value})"),
            None => f.write_str("None"),
        }
    }
}

/// A name in quotes. Of what a name can contain, the quote and the backslash need an escape. `Debug` writes ordinary names in the
/// same way, but is no format that stays: what else it escapes changes with the compiler.
struct Quoted<'a>(&'a str);

impl Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        for c in self.0.chars() {
            if matches!(c, '"' | '\\') {
                f.write_char('\\')?;
            }
            f.write_char(c)?;
        }
        f.write_char('"')
    }
}

/// A length of time in its largest unit, with all its digits: `1.5s`, `300ms`, `0ns`. The notes of jobs contain it as well.
pub(crate) struct Length(pub(crate) Duration);

impl Length {
    /// The length that `Display` wrote.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let at = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, unit) = text.split_at(at);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let (_, digits, _) = UNITS.into_iter().find(|(.., name)| *name == unit)?;
        let nanos = format!("{whole}{fraction:0<digits$}").parse().ok()?;
        (fraction.len() <= digits).then_some(Self(Duration::from_nanos(nanos)))
    }
}

/// Units with their nanoseconds, and how many digits these have.
const UNITS: [(u128, usize, &str); 4] =
    [(1_000_000_000, 9, "s"), (1_000_000, 6, "ms"), (1_000, 3, "µs"), (1, 0, "ns")];

impl Display for Length {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = self.0.as_nanos();
        let (unit, digits, name) = UNITS.into_iter().find(|(unit, ..)| nanos >= *unit).unwrap_or(UNITS[3]);
        let (whole, rest) = (nanos / unit, nanos % unit);
        write!(f, "{whole}")?;
        if rest > 0 {
            let fraction = format!("{rest:0digits$}");
            write!(f, ".{}", fraction.trim_end_matches('0'))?;
        }
        f.write_str(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Job, Zone};

    fn seconds(n: u64) -> Duration {
        Duration::from_secs(n)
    }

    fn job(trigger: Trigger) -> Job {
        Job::new("a", trigger, |_| async {})
    }

    #[test]
    fn hashes_are_those_of_earlier_versions() {
        let weekdays = Trigger::cron("0 30 2 ? * MON-FRI").unwrap();
        let all = job(weekdays.zone(Zone::named("Asia/Shanghai").unwrap()))
            .initial_delay(Duration::from_millis(1500))
            .max_run(seconds(600))
            .stop_within(Duration::from_millis(6))
            .misfire(Misfire::All)
            .late_within(seconds(5))
            .misfire_window(seconds(7))
            .max_backlog(3)
            .on_crash(OnCrash::Rerun)
            .retries(2)
            .retry_delay(Duration::from_micros(1_050))
            .jitter(Duration::from_nanos(1_000_000_001))
            .at_least(seconds(9))
            .busy(Busy::Skip)
            .generation(7)
            .enabled(false)
            .lease(Lease::fixed(Duration::from_millis(300)).max_hold(seconds(3600)))
            .definition("ls -l");
        let delay = job(Trigger::fixed_delay(Duration::from_millis(1234)).unwrap());
        let some = delay.misfire(Misfire::Once).ttl(seconds(30)).stop_within(Duration::from_nanos(12));
        let rate = job(Trigger::fixed_rate(seconds(1)).unwrap());
        let once = job(Trigger::once_at("2031-05-02T10:00:00Z".parse().unwrap()).unwrap());
        let hourly = || job(Trigger::fixed_rate(seconds(3600)).unwrap());
        let gated = hourly().lock("orders-database").limit("reports/a'b", 3);
        let later = hourly().concurrency(Concurrency::Replace).retries(2).max_retry_delay(seconds(60));
        let both = hourly().concurrency(Concurrency::Replace).lock("Größe 数据").max_retry_delay(seconds(61));
        let label = |text| crate::Label::new(text).unwrap();
        let quoted = hourly().lock(r#"a "b" \c"#).limit(r"d\e", 1);
        let cases = [
            (hourly().lock("orders-database"), "ffbcecb9afc65673"),
            (hourly().limit("reports", 3), "ff98eb3531604a26"),
            (gated, "54ef21d9f50f354e"),
            (later, "d2fd1c1664852da3"),
            (both, "9fcf6d2f8e891ff5"),
            (quoted, "b7fec799370a2864"),
            (hourly().on_stop(OnStop::Rerun), "844daabb2bf53fbb"),
            (hourly().grace(seconds(90)), "ce5b046fbfc849a6"),
            (hourly().on(label("zone=a")).on(label("role=db")), "bcd71aec9f4f4b3c"),
            (job(Trigger::on_demand()).after("c").after("a"), "eb60389a047e7c00"),
            (rate, "8cbf3a4d07fe4164"),
            (all, "48b7b3fed89feb2b"),
            (some, "78e3fd8a81109feb"),
            (once, "7dcea68c289d0f9a"),
        ];
        for (job, hash) in cases {
            assert_eq!(job.hash(), hash, "{job:?}");
        }
    }

    /// `Debug` escapes these, and which ones it escapes changes with the compiler.
    #[test]
    fn only_quotes_and_backslashes_of_a_name_are_escaped() {
        let hourly = job(Trigger::fixed_rate(seconds(3600)).unwrap());
        assert_eq!(hourly.lock("e\u{301}\u{a0}\u{200b}").hash(), "9a4152e5b2b69e81");
    }

    #[test]
    fn a_setting_of_a_later_version_counts_unless_it_is_the_default() {
        let job = || job(Trigger::fixed_rate(seconds(1)).unwrap());
        assert_ne!(job().max_retry_delay(seconds(60)).hash(), job().hash());
        assert_ne!(job().max_retry_delay(seconds(60)).hash(), job().max_retry_delay(seconds(61)).hash());
    }

    #[test]
    fn the_generation_is_not_part_of_the_definition() {
        let job = || job(Trigger::fixed_rate(seconds(1)).unwrap());
        assert_eq!(job().generation(9).hash(), job().hash());
    }

    #[test]
    fn a_length_has_all_its_digits() {
        let cases =
            [(0, "0ns"), (12, "12ns"), (1_050, "1.05µs"), (300_000_000, "300ms"), (90_000_000_000, "90s")];
        for (nanos, text) in cases {
            assert_eq!(Length(Duration::from_nanos(nanos)).to_string(), text);
        }
    }
}

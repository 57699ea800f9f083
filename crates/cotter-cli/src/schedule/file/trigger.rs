//! The trigger of a job.

use super::section::{Mistakes, Section};
use super::value;
use cotter_scheduler::{Trigger, Zone};
use std::time::Duration;
use toml::de::DeValue;

/// The trigger keys, of which exactly one is required.
pub(super) const TRIGGERS: &[&str] =
    &["cron", "crontab", "fixed_rate", "fixed_delay", "once_at", "on_demand", "after"];

/// The trigger with the restrictions of its slots; `None` after a mistake in the trigger itself.
pub(super) fn read(section: &Section<'_>, zone: &Zone, mistakes: &mut Mistakes) -> Option<Trigger> {
    unrestricted(section, zone, mistakes).map(|trigger| restricted(trigger, section, mistakes))
}

/// The trigger, without its restrictions.
fn unrestricted(section: &Section<'_>, zone: &Zone, mistakes: &mut Mistakes) -> Option<Trigger> {
    let text = |e: cotter_scheduler::Error| e.to_string();
    let every = |value: &DeValue<'_>, make: fn(Duration) -> cotter_scheduler::Result<Trigger>| {
        make(value::positive(value)?).map_err(text)
    };
    match section.exactly_one(TRIGGERS, mistakes)? {
        key @ ("cron" | "crontab") => section.get(key, mistakes, |value| {
            let read = if key == "cron" { Trigger::cron } else { Trigger::crontab };
            Ok(read(&value::text(value)?).map_err(text)?.zone(zone.clone()))
        }),
        key @ "fixed_rate" => section.get(key, mistakes, |v| every(v, Trigger::fixed_rate)),
        key @ "fixed_delay" => section.get(key, mistakes, |v| every(v, Trigger::fixed_delay)),
        // Which jobs these are is a setting.
        "after" => Some(Trigger::on_demand()),
        key @ "on_demand" => section.get(key, mistakes, |v| value::yes(v).map(|()| Trigger::on_demand())),
        key => section.get(key, mistakes, |value| Trigger::once_at(value::instant(value)?).map_err(text)),
    }
}

/// The trigger, with the restrictions of its slots.
fn restricted(mut trigger: Trigger, section: &Section<'_>, mistakes: &mut Mistakes) -> Trigger {
    let (starts, ends) =
        (section.get("starts", mistakes, value::instant), section.get("ends", mistakes, value::instant));
    trigger = starts.into_iter().fold(trigger, Trigger::starting);
    trigger = ends.into_iter().fold(trigger, Trigger::ending);
    section.get("exclude", mistakes, |value| value::except(trigger.clone(), value)).unwrap_or(trigger)
}

/// The expressions in the Quartz dialect as they are written, each with its key, for warnings.
pub(super) fn expressions(section: &Section<'_>, mistakes: &mut Mistakes) -> Vec<(&'static str, String)> {
    let cron = section.has("cron").then(|| section.get("cron", mistakes, value::text)).flatten();
    let exclude = section.get("exclude", mistakes, value::excluded).unwrap_or_default();
    let exclude = exclude.into_iter().filter(|text| value::is_expression(text));
    cron.into_iter().map(|text| ("cron", text)).chain(exclude.map(|text| ("exclude", text))).collect()
}

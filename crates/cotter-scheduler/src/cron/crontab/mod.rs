//! The times of crontab lines, as cron(8) of Debian reads them, which is Vixie's.
//!
//! | file | concept |
//! |---|---|
//! | `entry` | from the text of one field to items |
//! | `mistake` | the mistakes and their texts |
//! | `advice` | what a crontab is in the Quartz dialect, and what numbers of days mean in each |

mod advice;
mod entry;
mod mistake;

pub(super) use advice::{advice, numbers};

use super::cursor::{Cursor, Fault};
use super::error::CronError;
use super::field::Field;
use super::item::{Base, Days, Dialect, Item, Items};
use super::mistake::Mistake;
use super::{parse as quartz, split};
use entry::list;

/// The fields of a line, in order.
const FIELDS: [Field; 5] = [Field::Minutes, Field::Hours, Field::DayOfMonth, Field::Month, Field::DayOfWeek];

pub(super) fn parse(text: &str) -> Result<Items, CronError> {
    let chars: Vec<char> = text.chars().collect();
    let is_quartz = || quartz::parse(text).is_ok();
    read(&chars, is_quartz).map_err(|fault| CronError::new(text, fault.field, fault.at, fault.mistake))
}

fn read(chars: &[char], is_quartz: impl Fn() -> bool) -> Result<Items, Fault> {
    let words = split::words(chars);
    let Some(&(at, first)) = words.first() else { return whole(0, mistake::empty()) };
    if first[0] == '@' {
        let name: String = first.iter().collect();
        let line = nickname(&name).or_else(|mistake| whole(at, mistake))?;
        ends_before(words.get(1), chars)?;
        return read(&line.chars().collect::<Vec<_>>(), is_quartz);
    }
    if words.len() > FIELDS.len() && is_quartz() {
        return whole(words[FIELDS.len()].0, mistake::quartz());
    }
    let fields = FIELDS.into_iter().zip(&words).map(|(field, (at, word))| Cursor::new(field, *at, word));
    let lists = fields.map(|mut field| list(&mut field)).collect::<Result<Vec<_>, _>>()?;
    let [minutes, hours, of_month, months, of_week] =
        lists.try_into().or_else(|found: Vec<_>| too_few(chars, found.len()))?;
    ends_before(words.get(FIELDS.len()), chars)?;
    let (days, seconds, years) = (days(of_month, of_week), vec![Item::Value(0)], vec![Item::All]);
    Ok(Items { dialect: Dialect::Crontab, seconds, minutes, hours, days, months, years })
}

fn whole<T>(at: usize, mistake: Mistake) -> Result<T, Fault> {
    Err(Fault { field: None, at, mistake })
}

fn too_few<T>(chars: &[char], found: usize) -> Result<T, Fault> {
    let missing = FIELDS[found];
    Err(Fault { field: Some(missing), at: split::end(chars), mistake: mistake::too_few(found, missing) })
}

/// Checks that no word follows the fields: in a crontab it would be the command.
fn ends_before(word: Option<&(usize, &[char])>, chars: &[char]) -> Result<(), Fault> {
    word.map_or(Ok(()), |(at, _)| whole(*at, mistake::command(chars[*at..].contains(&'%'))))
}

fn nickname(name: &str) -> Result<&'static str, Mistake> {
    Ok(match name.to_ascii_lowercase().as_str() {
        "@yearly" | "@annually" => "0 0 1 1 *",
        "@monthly" => "0 0 1 * *",
        "@weekly" => "0 0 * * 0",
        "@daily" | "@midnight" => "0 0 * * *",
        "@hourly" => "0 * * * *",
        "@reboot" => return Err(mistake::reboot()),
        other => return Err(mistake::unknown_nickname(other)),
    })
}

/// Either of two restricted day fields is enough, and a field that begins with `*` is not restricted, whatever follows: then both
/// have to match.
fn days(of_month: Vec<Item>, of_week: Vec<Item>) -> Days {
    let begins_with_star = |items: &[Item]| matches!(items[0], Item::All | Item::Step(Base::All, _));
    let is_every = |items: &[Item]| items.contains(&Item::All);
    if !begins_with_star(&of_month) && !begins_with_star(&of_week) {
        return Days::Either(of_month, of_week);
    }
    match (is_every(&of_month), is_every(&of_week)) {
        (true, true) => Days::Every,
        (true, false) => Days::OfWeek(of_week),
        (false, true) => Days::OfMonth(of_month),
        (false, false) => Days::Both(of_month, of_week),
    }
}

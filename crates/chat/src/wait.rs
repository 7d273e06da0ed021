//! When a wait is over.

use std::cmp::Ordering;

use croner::errors::CronError;
use croner::parser::{CronParser, Seconds, Year};
use croner::{CivilDate, CivilDateTime, CivilTime, CronDateTime, Resolution, Weekday};
use time::{Date, Month, OffsetDateTime, PrimitiveDateTime, Time, UtcOffset};

use crate::{Wait, cut};

/// The longest question that is passed on, in bytes.
const MAX_QUESTION_BYTES: usize = 4 * 1024;

/// The time that a wait is over by itself, in milliseconds since the Unix epoch, and the question
/// that it asks.
///
/// # Errors
/// What is wrong with the wait.
pub(crate) fn resolve(wait: &Wait, now_ms: u64) -> Result<(Option<u64>, String), String> {
    match wait {
        Wait::Sleep(duration) => {
            let sleep_ms = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
            Ok((Some(now_ms.saturating_add(sleep_ms)), String::new()))
        }
        Wait::Until(until_ms) => Ok((Some(*until_ms), String::new())),
        Wait::Cron { expression, timezone } => {
            let next_ms = next(expression, timezone.as_deref().unwrap_or("UTC"), now_ms)?;
            Ok((Some(next_ms), String::new()))
        }
        Wait::Runs(_) => Ok((None, String::new())),
        Wait::Answer { question } => {
            Ok((None, cut::at_the_end(question, MAX_QUESTION_BYTES).into_owned()))
        }
    }
}

fn next(expression: &str, zone: &str, now_ms: u64) -> Result<u64, String> {
    let bad = |detail: String| {
        let expression = cut::at_the_end(expression, 80).into_owned();
        format!("the cron expression `{expression}` cannot be used: {detail}")
    };
    let parser = CronParser::builder().seconds(Seconds::Disallowed).year(Year::Disallowed).build();
    let cron = parser.parse(expression).map_err(|error| bad(error.to_string()))?;
    let offset = offset(zone)?;
    let now_s = i64::try_from(now_ms / 1000).map_err(|_| bad("it is too late".to_owned()))?;
    let now = OffsetDateTime::from_unix_timestamp(now_s).map_err(|error| bad(error.to_string()))?;
    let now = now.checked_to_offset(offset).ok_or_else(|| bad("it is too late".to_owned()))?;
    let found = cron.find_next_occurrence(&Local { at: now, last: now.year() + SPAN_YEARS }, false);
    let found = found.map_err(|_| bad("it names no time of the next years".to_owned()))?;
    u64::try_from(found.at.unix_timestamp())
        .map(|seconds| seconds.saturating_mul(1000))
        .map_err(|error| bad(error.to_string()))
}

/// How far ahead an expression is searched: far enough for every 29 February on a given weekday.
const SPAN_YEARS: i32 = 40;

/// `UTC`, or an offset such as `+02:00`.
fn offset(zone: &str) -> Result<UtcOffset, String> {
    if matches!(zone, "UTC" | "Etc/UTC" | "Z" | "GMT") {
        return Ok(UtcOffset::UTC);
    }
    fixed(zone).ok_or_else(|| {
        format!(
            "the time zone `{}` is not known here; write `UTC` or an offset such as `+02:00`",
            cut::at_the_end(zone, 80)
        )
    })
}

fn fixed(zone: &str) -> Option<UtcOffset> {
    let (sign, digits) = match zone.split_at_checked(1)? {
        ("+", digits) => (1, digits),
        ("-", digits) => (-1, digits),
        _ => return None,
    };
    let (hours, minutes) = digits.split_once(':')?;
    if hours.len() != 2 || minutes.len() != 2 {
        return None;
    }
    let (hours, minutes): (i8, i8) = (hours.parse().ok()?, minutes.parse().ok()?);
    if !(0..=14).contains(&hours) || !(0..=59).contains(&minutes) {
        return None;
    }
    UtcOffset::from_hms(sign * hours, sign * minutes, 0).ok()
}

/// A time at a fixed offset. Past the year `last` there is none, which ends the search for an
/// expression that names no time at all.
#[derive(Clone)]
struct Local {
    at: OffsetDateTime,
    last: i32,
}

impl CronDateTime for Local {
    fn to_civil(&self) -> CivilDateTime {
        let (year, month, day) = self.at.to_calendar_date();
        let (hour, minute, second) = self.at.to_hms();
        CivilDateTime::new(
            CivilDate::from_parts_unchecked(year, u32::from(u8::from(month)), u32::from(day)),
            CivilTime::from_parts_unchecked(u32::from(hour), u32::from(minute), u32::from(second)),
        )
    }

    fn civil_weekday(&self) -> Weekday {
        Weekday::from_days_from_sunday(u32::from(self.at.weekday().number_days_from_sunday()))
    }

    fn resolve_civil(&self, civil: CivilDateTime) -> Result<Resolution<Self>, CronError> {
        let (date, time) = (civil.date(), civil.time());
        if date.year() > self.last {
            return Err(CronError::TimeSearchLimitExceeded);
        }
        let part = |n: u32| u8::try_from(n).ok();
        let at = || {
            let month = Month::try_from(part(date.month())?).ok()?;
            let date = Date::from_calendar_date(date.year(), month, part(date.day())?).ok()?;
            let (hour, minute) = (part(time.hour())?, part(time.minute())?);
            let time = Time::from_hms(hour, minute, part(time.second())?).ok()?;
            Some(PrimitiveDateTime::new(date, time).assume_offset(self.at.offset()))
        };
        let at = at().ok_or(CronError::InvalidDate)?;
        Ok(Resolution::Single(Self { at, last: self.last }))
    }

    fn checked_add_seconds(&self, seconds: i64) -> Option<Self> {
        let at = self.at.checked_add(time::Duration::seconds(seconds))?;
        Some(Self { at, last: self.last })
    }

    fn cmp_instant(&self, other: &Self) -> Ordering {
        self.at.cmp(&other.at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sunday, 22 November 2026, 09:30:20 UTC.
    const NOW_MS: u64 = 1_795_339_820_000;

    fn cron(expression: &str, zone: Option<&str>) -> Result<u64, String> {
        let (expression, timezone) = (expression.to_owned(), zone.map(str::to_owned));
        resolve(&Wait::Cron { expression, timezone }, NOW_MS).map(|(until_ms, _)| until_ms.unwrap())
    }

    #[test]
    fn cron_names_the_next_time_in_its_zone() {
        let minute = 60_000;
        let on_the_minute = NOW_MS - 20_000;
        for (expression, zone, after) in [
            ("* * * * *", None, 1),
            ("30 9 * * *", None, 24 * 60),
            ("0 10 * * *", Some("UTC"), 30),
            ("0 12 * * *", Some("+02:00"), 30),
            ("0 4 * * *", Some("-05:30"), 0),
            ("0 9 * * MON", None, 23 * 60 + 30),
        ] {
            let expected = match after {
                0 => on_the_minute + 24 * 60 * minute,
                after => on_the_minute + after * minute,
            };
            assert_eq!(cron(expression, zone), Ok(expected), "{expression} {zone:?}");
        }
    }

    #[test]
    fn what_names_no_time_is_refused_in_words() {
        for (expression, zone, words) in [
            ("0 0 30 2 *", None, "names no time"),
            ("* * * *", None, "cannot be used"),
            ("* * * * * *", None, "cannot be used"),
            ("99 * * * *", None, "cannot be used"),
            ("* * * * *", Some("Europe/Berlin"), "write `UTC` or an offset such as `+02:00`"),
            ("* * * * *", Some("+2:00"), "write `UTC`"),
            ("* * * * *", Some("+ä:00"), "write `UTC`"),
        ] {
            let error = cron(expression, zone).unwrap_err();
            assert!(error.contains(words), "{expression} {zone:?}: {error}");
        }
    }
}

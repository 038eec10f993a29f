//! Date functions of other dialects. Values with a zone are converted to UTC, as `date()` of SQLite does.

use std::sync::Arc;

use portion_text::column_form::{ColumnForm, DateOrder, code_number, read_time};
use portion_text::timestamp::{CivilDate, Timestamp};
use rusqlite::Result;
use rusqlite::functions::Context;
use rusqlite::types::{Value, ValueRef};

use super::conversions::{is_unit, number_value, unit_months, unit_name, unit_seconds, unknown_unit};
use super::values::{Registry, add, function_error, number_argument, owned_value, text_value};
use crate::dialect::ComparedType;
use crate::usage::StatementUsage;

/// Parts of a date that are functions of their own.
const PARTS: [&str; 8] = ["year", "quarter", "month", "week", "day", "hour", "minute", "second"];

pub(super) fn register(registry: Registry<'_>, usage: &Arc<StatementUsage>) -> Result<()> {
    let dates = DateFunctions { registry, usage };
    for part in PARTS {
        dates.add(part, 1, move |call| Ok(part_of(part, call.moment(0))))?;
    }
    dates.add("date_trunc datetrunc timestamp_trunc datetime_trunc", 2, truncate)?;
    for arguments in [2, 3] {
        dates.add("time_bucket date_bin", arguments, bucket)?;
        dates
            .add("datediff date_diff datetime_diff", arguments, |call| difference(call, count_boundaries))?;
    }
    dates.add("date_part datepart", 2, date_part)?;
    dates.add("timestampdiff timestamp_diff", 3, |call| difference(call, count_units))?;
    dates.add("date_minus", 2, |call| date_sum(call, -1))?;
    dates.add("date_plus", 2, |call| date_sum(call, 1))?;
    dates.add("date_shift date_add adddate", 2, |call| shift_by_text(call, 1))?;
    dates.add("date_sub subdate", 2, |call| shift_by_text(call, -1))?;
    dates.add("date_sub", 3, |call| difference(call, count_units))?;
    dates.add("dateadd timestampadd date_add", 3, shift_by_unit)?;
    dates.add("timezone", 2, |call| {
        let (Some(zone), Some(moment)) = (text_value(call.get_raw(0)), call.moment(1)) else {
            return Ok(None);
        };
        let moved = moment.in_zone(&zone).ok_or_else(|| function_error(format!("unknown zone {zone}")))?;
        Ok(Some(moved.write()))
    })?;
    dates.add("last_day", 1, |call| {
        let last = |moment: Timestamp| {
            let date = moment.date();
            Timestamp::from_days(CivilDate { day: date.days_of_month(), ..date }.days()).write()
        };
        Ok(call.moment(0).map(last))
    })?;
    dates.add("read_as", 2, |call| {
        let (value, name) = (call.get_raw(0), text_value(call.get_raw(1)).unwrap_or_default());
        let read = |text: &str| match ComparedType::by_name(&name)? {
            ComparedType::Form(ColumnForm::Time(order)) => {
                Some(Value::Text(time_in(text.trim(), order)?.write()))
            }
            ComparedType::Codes { .. } => {
                code_number(text).and_then(|code| i64::try_from(code).ok()).map(Value::Integer)
            }
            of => of.number(text).map(number_value),
        };
        // Of numbers, years are dates.
        let text = match value {
            ValueRef::Text(_) | ValueRef::Integer(1_900..=2_100) => text_value(value),
            _ => None,
        };
        Ok(text.and_then(|text| read(&text)).unwrap_or_else(|| owned_value(value)))
    })?;
    Ok(())
}

/// A connection that gets functions of dates.
#[derive(Clone, Copy)]
pub(super) struct DateFunctions<'a> {
    pub(super) registry: Registry<'a>,
    pub(super) usage: &'a Arc<StatementUsage>,
}

impl DateFunctions<'_> {
    /// Adds a function under each of its names.
    pub(super) fn add<T: Into<Value>>(
        self,
        names: &str,
        arguments: i32,
        function: impl Fn(&DateCall<'_>) -> Result<T> + Copy + Send + 'static,
    ) -> Result<()> {
        let usage = Arc::clone(self.usage);
        add(self.registry, names, arguments, move |context| function(&DateCall { context, usage: &usage }))
    }
}

/// A call of a function of dates.
pub(super) struct DateCall<'a> {
    context: &'a Context<'a>,
    usage: &'a StatementUsage,
}

impl<'a> std::ops::Deref for DateCall<'a> {
    type Target = Context<'a>;

    fn deref(&self) -> &Context<'a> {
        self.context
    }
}

impl DateCall<'_> {
    /// Reads a date; numeric ones in the order of the columns. A text that is no date is NULL, as for `date()`, and is recorded.
    pub(super) fn moment(&self, at: usize) -> Option<Timestamp> {
        let moment = match self.get_raw(at) {
            ValueRef::Integer(n) => {
                Timestamp::parse_digits(&n.to_string()).or_else(|| Timestamp::from_epoch(n as f64))
            }
            ValueRef::Real(n) => Timestamp::from_epoch(n),
            ValueRef::Text(bytes) => {
                let text = std::str::from_utf8(bytes).ok()?.trim();
                let read = time_in(text, self.usage.date_order());
                if read.is_none() {
                    self.usage.unread_dates.record(text);
                }
                read
            }
            ValueRef::Null | ValueRef::Blob(_) => None,
        };
        moment.filter(|moment| moment.is_in_range())
    }
}

/// Reads a time of any form, digits included.
fn time_in(text: &str, order: DateOrder) -> Option<Timestamp> {
    let digits = || text.parse().ok().filter(|n: &u64| *n >= MIN_EPOCH_DIGITS);
    read_time(text, order)
        .or_else(|| Timestamp::parse_digits(text))
        .or_else(|| Timestamp::from_epoch(digits()? as f64))
}

/// Smallest number in a text that is a time since 1970 in some unit: in 2001.
const MIN_EPOCH_DIGITS: u64 = 1_000_000_000;

/// A date plus or minus another one, a number of days or an interval; of numbers, their sum or difference.
fn date_sum(call: &DateCall<'_>, sign: i64) -> Result<Value> {
    let integer = |at: usize| match call.get_raw(at) {
        ValueRef::Integer(n) => Some(n),
        ValueRef::Text(text) => std::str::from_utf8(text).ok()?.trim().parse().ok(),
        _ => None,
    };
    let text_of = |at: usize| text_value(call.get_raw(at)).unwrap_or_default();
    match (number_argument(call, 0), number_argument(call, 1)) {
        (Some(a), Some(b)) => {
            let sum = integer(0).zip(integer(1)).map(|(a, b)| a.checked_add(b.checked_mul(sign)?));
            Ok(sum.flatten().map_or_else(|| Value::Real(a + sign as f64 * b), Value::Integer))
        }
        // A number of more days than dates have is a time itself.
        (None, Some(days)) if days.abs() < MAX_DAYS => {
            Ok(call.moment(0).and_then(|date| shift_days(date, sign as f64 * days)).into())
        }
        (Some(days), None) if sign > 0 && days.abs() < MAX_DAYS => {
            Ok(call.moment(1).and_then(|date| shift_days(date, days)).into())
        }
        _ => match (call.moment(0), call.moment(1)) {
            (Some(a), Some(b)) if sign < 0 && a.is_date && b.is_date => {
                Ok(Value::Integer(a.days() - b.days()))
            }
            (Some(a), Some(b)) if sign < 0 => {
                let nanos = f64::from(a.nanos) - f64::from(b.nanos);
                Ok(Value::Real(((a.seconds - b.seconds) as f64 + nanos / 1e9) / 86_400.0))
            }
            (Some(_), Some(_)) => Err(function_error("a sum of two dates")),
            (Some(_), None) if text_of(1).contains(' ') => Ok(shift_by_text(call, sign)?.into()),
            _ => Ok(Value::Null),
        },
    }
}

/// Days in 10,000 years.
const MAX_DAYS: f64 = 3_652_500.0;

fn shift_days(date: Timestamp, days: f64) -> Option<String> {
    let is_whole = days.fract() == 0.0;
    let (unit, count) = if is_whole { ("day", days) } else { ("second", days * 86_400.0) };
    if count.abs() > 1e15 {
        return None;
    }
    shift(date, unit, count.round() as i64).map(Timestamp::write)
}

/// `date_trunc(unit, time)`, or with the arguments exchanged.
fn truncate(call: &DateCall<'_>) -> Result<Option<String>> {
    let unit_at = |at: usize| text_value(call.get_raw(at)).map(|text| unit_name(&text));
    let Some(first) = unit_at(0) else { return Ok(None) };
    let second = unit_at(1).filter(|second| !is_unit(&first) && is_unit(second));
    let (unit, at) = second.map_or((first, 1), |second| (second, 0));
    let Some(moment) = call.moment(at) else { return Ok(None) };
    if let Some(months) = unit_months(&unit) {
        let date = moment.date();
        let month = (date.year * 12 + date.month - 1).div_euclid(months) * months;
        let first = CivilDate { year: month.div_euclid(12), month: month.rem_euclid(12) + 1, day: 1 };
        return Ok(Some(Timestamp::from_days(first.days()).write()));
    }
    let start = match (unit.as_str(), unit_seconds(&unit)) {
        ("week", _) => Timestamp::from_days(moment.days() - (weekday(moment) + 6) % 7),
        ("day", _) => Timestamp::from_days(moment.days()),
        (_, Some(step)) => {
            let seconds = moment.seconds.div_euclid(step) * step;
            Timestamp { seconds, nanos: 0, is_date: false, ..moment }
        }
        _ => return Err(unknown_unit(&unit)),
    };
    Ok(Some(start.write()))
}

/// Begin of the intervals of `time_bucket`, a Monday, in seconds since 1970: 2000-01-03.
const BUCKET_ORIGIN: i64 = 946_857_600;

/// `time_bucket('15 minutes', time)`, or with a third argument at which an interval begins.
fn bucket(call: &DateCall<'_>) -> Result<Option<String>> {
    let Some(interval) = text_value(call.get_raw(0)) else { return Ok(None) };
    let step = interval
        .trim()
        .split_once(' ')
        .and_then(|(count, unit)| count.parse::<i64>().ok()?.checked_mul(unit_seconds(&unit_name(unit))?));
    let step = step.filter(|step| *step > 0).ok_or_else(|| {
        function_error(format!(
            "{} is no interval of weeks or less; for others use date_trunc('month', t)",
            interval.chars().take(40).collect::<String>()
        ))
    })?;
    let origin =
        if call.len() == 3 { call.moment(2).map(|moment| moment.seconds) } else { Some(BUCKET_ORIGIN) };
    let start = |moment: Timestamp, origin: i64| {
        let seconds = moment.seconds.checked_sub((moment.seconds - origin).rem_euclid(step))?;
        let start = Timestamp { seconds, nanos: 0, is_date: false, ..moment };
        start.is_in_range().then(|| start.write())
    };
    Ok(call.moment(1).zip(origin).and_then(|(moment, origin)| start(moment, origin)))
}

fn date_part(call: &DateCall<'_>) -> Result<Value> {
    let Some(part) = text_value(call.get_raw(0)) else { return Ok(Value::Null) };
    let part = unit_name(&part);
    if part_of(&part, Some(Timestamp::from_days(0))) == Value::Null {
        return Err(function_error(format!(
            "{} is not a part of a date; use year, quarter, month, week, day, dow, doy, hour, minute, second, epoch",
            part.chars().take(40).collect::<String>()
        )));
    }
    Ok(part_of(&part, call.moment(1)))
}

fn part_of(part: &str, moment: Option<Timestamp>) -> Value {
    let Some(moment) = moment else { return Value::Null };
    let (date, second) = (moment.date(), moment.second_of_day());
    let number = match part {
        "year" => date.year,
        "quarter" => (date.month - 1) / 3 + 1,
        "month" => date.month,
        "week" => iso_week(moment.days()).1,
        "isoyear" => iso_week(moment.days()).0,
        "day" => date.day,
        "dow" => weekday(moment),
        "isodow" => (weekday(moment) + 6) % 7 + 1,
        "dayofweek" => weekday(moment) + 1,
        "doy" => moment.days() - CivilDate { month: 1, day: 1, ..date }.days() + 1,
        "hour" => second / 3_600,
        "minute" => second / 60 % 60,
        "second" => second % 60,
        "millisecond" => second % 60 * 1_000 + i64::from(moment.nanos / 1_000_000),
        "decade" => date.year / 10,
        "century" => (date.year + 99) / 100,
        "epoch" if moment.nanos > 0 => {
            return Value::Real(moment.seconds as f64 + f64::from(moment.nanos) / 1e9);
        }
        "epoch" => moment.seconds,
        _ => return Value::Null,
    };
    Value::Integer(number)
}

/// Returns the day of the week; 0 is Sunday.
pub(super) fn weekday(moment: Timestamp) -> i64 {
    (moment.days() + 4).rem_euclid(7)
}

/// Returns the year and the number of the ISO week of a day.
pub(super) fn iso_week(days: i64) -> (i64, i64) {
    // The week belongs to the year of its Thursday.
    let thursday = days - (days + 3).rem_euclid(7) + 3;
    let year = CivilDate::from_days(thursday).year;
    (year, (thursday - CivilDate { year, month: 1, day: 1 }.days()) / 7 + 1)
}

/// Counts units between two moments.
type CountUnits = fn(&str, Timestamp, Timestamp) -> Option<i64>;

/// `datediff(a, b)` is `a - b` in days; `datediff(unit, a, b)` is `b - a`; `date_diff(a, b, unit)` is `a - b`.
fn difference(call: &DateCall<'_>, count: CountUnits) -> Result<Option<i64>> {
    let unit_at = |at: usize| match call.get_raw(at) {
        ValueRef::Text(_) => text_value(call.get_raw(at)).map(|text| unit_name(&text)),
        _ => None,
    };
    let (unit, from, to) = match call.len() {
        2 => ("day".to_owned(), 1, 0),
        _ => match (unit_at(0), unit_at(2)) {
            (Some(unit), _) if is_unit(&unit) => (unit, 1, 2),
            (_, Some(unit)) if is_unit(&unit) => (unit, 1, 0),
            (Some(unit), _) => return Err(unknown_unit(&unit)),
            _ => return Ok(None),
        },
    };
    let both = call.moment(from).zip(call.moment(to));
    Ok(both.and_then(|(from, to)| count(&unit, from, to)))
}

/// Counts the beginnings of units between two moments.
fn count_boundaries(unit: &str, from: Timestamp, to: Timestamp) -> Option<i64> {
    if let Some(months) = unit_months(unit) {
        let index =
            |moment: Timestamp| (moment.date().year * 12 + moment.date().month - 1).div_euclid(months);
        return Some(index(to) - index(from));
    }
    // Weeks begin on Monday; 1970-01-01 was a Thursday.
    let offset = if unit == "week" { 3 * 86_400 } else { 0 };
    let step = unit_seconds(unit)?;
    Some((to.seconds + offset).div_euclid(step) - (from.seconds + offset).div_euclid(step))
}

/// Counts the whole units that passed between two moments.
fn count_units(unit: &str, from: Timestamp, to: Timestamp) -> Option<i64> {
    if let Some(step) = unit_seconds(unit) {
        return Some((to.seconds - from.seconds) / step);
    }
    let per_unit = unit_months(unit)?;
    let key = |moment: Timestamp| (moment.date().day, moment.second_of_day());
    let (start, end) = (from.date(), to.date());
    let mut months = (end.year - start.year) * 12 + end.month - start.month;
    if months > 0 && key(to) < key(from) {
        months -= 1;
    } else if months < 0 && key(to) > key(from) {
        months += 1;
    }
    Some(months / per_unit)
}

/// `date_add(time, '7 days')`; a number is a number of days.
fn shift_by_text(call: &DateCall<'_>, sign: i64) -> Result<Option<String>> {
    let (Some(mut shifted), Some(text)) = (call.moment(0), text_value(call.get_raw(1))) else {
        return Ok(None);
    };
    let text = text.trim();
    if let Ok(days) = text.parse::<i64>() {
        return Ok(shift(shifted, "day", days.saturating_mul(sign)).map(Timestamp::write));
    }
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    for pair in words.chunks(2) {
        let [count, unit] = pair else { return Err(unknown_interval(text)) };
        let count: i64 = count.parse().map_err(|_| unknown_interval(text))?;
        let unit = unit_name(unit);
        if !is_unit(&unit) {
            return Err(unknown_unit(&unit));
        }
        let Some(next) = shift(shifted, &unit, count.saturating_mul(sign)) else { return Ok(None) };
        shifted = next;
    }
    Ok(Some(shifted.write()))
}

fn unknown_interval(text: &str) -> rusqlite::Error {
    let text: String = text.chars().take(40).collect();
    function_error(format!("{text} is not an interval; write it as '7 days' or '1 month'"))
}

/// `dateadd(unit, count, time)`.
fn shift_by_unit(call: &DateCall<'_>) -> Result<Option<String>> {
    let Some(unit) = text_value(call.get_raw(0)) else { return Ok(None) };
    let unit = unit_name(&unit);
    if !is_unit(&unit) {
        return Err(unknown_unit(&unit));
    }
    let (Some(count), Some(moment)) = (number_argument(call, 1), call.moment(2)) else {
        return Ok(None);
    };
    Ok(shift(moment, &unit, count as i64).map(Timestamp::write))
}

fn shift(moment: Timestamp, unit: &str, count: i64) -> Option<Timestamp> {
    let shifted = if let Some(months) = unit_months(unit) {
        moment.with_date(moment.date().add_months(count.checked_mul(months)?)?)
    } else {
        let step = unit_seconds(unit)?;
        let seconds = moment.seconds.checked_add(count.checked_mul(step)?)?;
        Timestamp { seconds, is_date: moment.is_date && step >= 86_400, ..moment }
    };
    Some(shifted).filter(|shifted| shifted.is_in_range())
}

//! Formats of dates: those of Postgres (`YYYY-MM-DD HH24:MI`), Java (`yyyy-MM-dd HH:mm`), and with `%`.

use std::sync::Arc;

use portion_text::timestamp::{CivilDate, MONTHS, Timestamp, WEEKDAYS, digits, month_number};
use rusqlite::Result;
use rusqlite::types::ValueRef;

use super::dates::{DateCall, DateFunctions, iso_week, weekday};
use super::values::{Registry, function_error, text_value};
use crate::usage::StatementUsage;

/// Maximum bytes of a format.
const MAX_FORMAT_BYTES: usize = 200;

/// Patterns of Postgres, which ignore case, and their names with `%`. Longer ones precede their beginnings.
const POSTGRES: &str = "IYYY=%G YYYY=%Y YY=%y MONTH=%B MON=%b MM=%m DDD=%j DD=%d DAY=%A DY=%a HH24=%H HH12=%I HH=%I MI=%i \
    SS=%S MS=%f AM=%p PM=%p IW=%V Q=%q FM= T=T";
/// Patterns of Java, and those of Postgres that are not among them.
const JAVA: &str = "YYYY=%Y yyyy=%Y YY=%y yy=%y y=%Y MMMM=%B MMM=%b MM=%m MI=%i Month=%B Mon=%b M=%c DDD=%j DD=%d Day=%A \
    Dy=%a D=%j dd=%d d=%e EEEE=%A EEE=%a E=%a HH24=%H HH=%H H=%k hh=%I h=%l mm=%i SSS=%f SS=%S ss=%S \
    a=%p Q=%q";
const PERCENT: &str = "YymcdeHkhIlisSpMbBWaAjTfqVG";

/// The dialect of a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Dialect {
    /// Of `to_char`, `to_date` and `to_timestamp`.
    Postgres,
    /// Of `date_format`: `%M` is the name of a month, as in `MySQL`; without `%` as in Java.
    Java,
    /// Of `strptime` and `strftime`: `%M` are minutes.
    Strptime,
}

/// A part of a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FormatPart {
    /// A letter after `%`, in one meaning for all dialects, and true if it was written in upper case.
    Field(char, bool),
    Literal(char),
}

pub(super) fn register(registry: Registry<'_>, usage: &Arc<StatementUsage>) -> Result<()> {
    let dates = DateFunctions { registry, usage };
    for (names, dialect) in [("to_date to_timestamp", Dialect::Postgres), ("strptime", Dialect::Strptime)] {
        dates.add(names, 2, move |call| {
            let (text, format) = (text_value(call.get_raw(0)), text_value(call.get_raw(1)));
            let Some((text, format)) = text.zip(format) else { return Ok(None) };
            Ok(parse_with(&text, &parse_format(&format, dialect)?).map(Timestamp::write))
        })?;
    }
    let writers =
        [("to_char", Dialect::Postgres), ("date_format", Dialect::Java), ("time_format", Dialect::Strptime)];
    for (name, dialect) in writers {
        dates.add(name, 2, move |call| write(call, dialect))?;
    }
    Ok(())
}

fn write(context: &DateCall<'_>, dialect: Dialect) -> Result<Option<String>> {
    let Some(format) = text_value(context.get_raw(1)) else { return Ok(None) };
    let is_number = matches!(context.get_raw(0), ValueRef::Integer(_) | ValueRef::Real(_));
    if is_number && format.contains(['9', '0']) {
        return Err(function_error(
            "to_char does not write numbers; use printf('%.2f', x), or printf('%,d', x)",
        ));
    }
    let parts = parse_format(&format, dialect)?;
    Ok(context.moment(0).map(|moment| write_with(moment, &parts)))
}

fn parse_format(format: &str, dialect: Dialect) -> Result<Vec<FormatPart>> {
    if format.len() > MAX_FORMAT_BYTES {
        return Err(function_error("the format of a date is too long"));
    }
    let (mut parts, mut rest) = (Vec::new(), format);
    let has_percent = format.contains('%');
    while let Some(first) = rest.chars().next() {
        let after = &rest[first.len_utf8()..];
        match first {
            '%' => {
                let Some(letter) = after.chars().next().filter(|c| PERCENT.contains(*c)) else {
                    return Err(unknown(format, rest, dialect));
                };
                push_percent(letter, dialect, &mut parts);
                rest = &after[1..];
            }
            '"' | '\'' if !has_percent => {
                let end = after.find(first).unwrap_or(after.len());
                parts.extend(after[..end].chars().map(FormatPart::Literal));
                rest = after.get(end + 1..).unwrap_or_default();
            }
            c if !has_percent && c.is_ascii_alphabetic() => {
                let is_java = dialect == Dialect::Java;
                let patterns = if is_java { JAVA } else { POSTGRES };
                let mut patterns = patterns.split(' ').filter_map(|pattern| pattern.split_once('='));
                let begins = |name: &str| {
                    rest.get(..name.len()).is_some_and(|start| {
                        if is_java { start == name } else { start.eq_ignore_ascii_case(name) }
                    })
                };
                match patterns.find(|(name, _)| begins(name)) {
                    Some((name, field)) => {
                        let is_upper = rest[..name.len()].bytes().all(|b| b.is_ascii_uppercase());
                        if let Some(letter) = field.strip_prefix('%').and_then(|letter| letter.chars().next())
                        {
                            parts.push(FormatPart::Field(letter, is_upper && !is_java));
                        } else if !field.is_empty() {
                            parts.push(FormatPart::Literal(c));
                        }
                        rest = &rest[name.len()..];
                    }
                    None if matches!(c, 'T' | 'Z') => {
                        parts.push(FormatPart::Literal(c));
                        rest = after;
                    }
                    None => return Err(unknown(format, rest, dialect)),
                }
            }
            c => {
                parts.push(FormatPart::Literal(c));
                rest = after;
            }
        }
    }
    Ok(parts)
}

/// Adds `%x`, with the meaning that it has in a dialect.
fn push_percent(letter: char, dialect: Dialect, parts: &mut Vec<FormatPart>) {
    let letters = match (letter, dialect) {
        ('M', Dialect::Java) => "B",
        ('M', _) => "i",
        ('W', Dialect::Java) => "A",
        ('W', _) => "V",
        ('s', _) => "S",
        ('h', _) => "I",
        ('T', _) => "H:i:S",
        _ => {
            parts.push(FormatPart::Field(letter, false));
            return;
        }
    };
    parts.extend(
        letters.chars().map(|c| if c == ':' { FormatPart::Literal(c) } else { FormatPart::Field(c, false) }),
    );
}

fn unknown(format: &str, rest: &str, dialect: Dialect) -> rusqlite::Error {
    let length = rest.chars().skip(1).take_while(char::is_ascii_alphabetic).count() + 1;
    let length = if rest.starts_with('%') { 2 } else { length };
    let pattern: String = rest.chars().take(length).collect();
    let known = match dialect {
        Dialect::Postgres => "YYYY MM DD HH24 MI SS Mon Month",
        Dialect::Java => "yyyy MM dd HH mm ss, or %Y %m %d %H %i %s",
        Dialect::Strptime => "%Y %m %d %H %M %S %b",
    };
    function_error(format!(
        "{pattern} in the format {format} is not known: use {known}; quote other letters; or strftime('%Y-%m', d)"
    ))
}

fn write_with(moment: Timestamp, parts: &[FormatPart]) -> String {
    let mut out = String::new();
    let (CivilDate { year, month, day }, second) = (moment.date(), moment.second_of_day());
    let name_of = |names: &[&str], at: i64| names.get(at as usize).copied().unwrap_or_default().to_owned();
    let weekday = weekday(moment);
    let (hour, minute) = (second / 3_600, second / 60 % 60);
    let hour_of_12 = (hour + 11) % 12 + 1;
    for part in parts {
        let (letter, is_upper) = match part {
            FormatPart::Literal(c) => {
                out.push(*c);
                continue;
            }
            FormatPart::Field(letter, is_upper) => (*letter, *is_upper),
        };
        let text = match letter {
            'Y' => format!("{year:04}"),
            'y' => format!("{:02}", year % 100),
            'G' => format!("{:04}", iso_week(moment.days()).0),
            'm' => format!("{month:02}"),
            'c' => month.to_string(),
            'd' => format!("{day:02}"),
            'e' => day.to_string(),
            'H' => format!("{hour:02}"),
            'k' => hour.to_string(),
            'I' => format!("{hour_of_12:02}"),
            'l' => hour_of_12.to_string(),
            'i' => format!("{minute:02}"),
            'S' => format!("{:02}", second % 60),
            'f' => format!("{:03}", moment.nanos / 1_000_000),
            'p' => if hour < 12 { "AM" } else { "PM" }.to_owned(),
            'b' => name_of(&MONTHS, month - 1).chars().take(3).collect(),
            'B' => name_of(&MONTHS, month - 1),
            'a' => name_of(&WEEKDAYS, weekday).chars().take(3).collect(),
            'A' => name_of(&WEEKDAYS, weekday),
            'j' => format!("{:03}", moment.days() - CivilDate { year, month: 1, day: 1 }.days() + 1),
            'V' => format!("{:02}", iso_week(moment.days()).1),
            'q' => ((month - 1) / 3 + 1).to_string(),
            _ => String::new(),
        };
        let is_name = is_upper && matches!(letter, 'b' | 'B' | 'a' | 'A');
        out.push_str(&if is_name { text.to_uppercase() } else { text });
    }
    out
}

/// Parses a date by a format. A text of another form is `None`.
fn parse_with(text: &str, parts: &[FormatPart]) -> Option<Timestamp> {
    let (mut year, mut month, mut day) = (1970, 1, 1);
    let (mut hour, mut minute, mut second, mut is_date, mut is_pm) = (0, 0, 0, true, None);
    let mut text = text.trim();
    for part in parts {
        let letter = match part {
            FormatPart::Literal(c) => {
                text = text.strip_prefix(*c)?;
                continue;
            }
            FormatPart::Field(letter, _) => *letter,
        };
        if matches!(letter, 'b' | 'B' | 'a' | 'A' | 'p') {
            let end = text.find(|c: char| !c.is_alphabetic()).unwrap_or(text.len());
            let word = &text[..end];
            match letter {
                'b' | 'B' => month = month_number(word)?,
                'p' => is_pm = Some(word.eq_ignore_ascii_case("pm")),
                _ => {}
            }
            text = &text[end..];
            continue;
        }
        let width = match letter {
            'Y' => 4,
            'f' => 9,
            _ => 2,
        };
        let length = text.bytes().take(width).take_while(u8::is_ascii_digit).count();
        let (number, left) = digits(text, length).filter(|_| length > 0)?;
        text = left;
        match letter {
            'Y' => year = number,
            'y' => year = if number < 70 { 2_000 + number } else { 1_900 + number },
            'm' | 'c' => month = number,
            'd' | 'e' => day = number,
            'H' | 'k' | 'I' | 'l' => (hour, is_date) = (number, false),
            'i' => minute = number,
            'S' => second = number,
            'f' => {}
            _ => return None,
        }
    }
    hour = is_pm.map_or(hour, |is_pm| hour % 12 + if is_pm { 12 } else { 0 });
    let date = CivilDate { year, month, day };
    let is_valid = (1..=12).contains(&month)
        && (1..=date.days_of_month()).contains(&day)
        && hour < 24
        && minute < 60
        && second <= 60;
    let moment = Timestamp::from_days(date.days());
    let seconds = moment.seconds + hour * 3_600 + minute * 60 + second;
    is_valid.then_some(Timestamp { seconds, is_date, ..moment })
}

//! Requests of callers, validated as far as possible without the payload.

use portion_json::projection::{quote_name, split_names};
use portion_json::scan::{JsonKind, JsonReader, unescape};

use super::controls::CONTROLS;
use super::error::ViewError;
use super::order;
use super::query::Query;
use crate::policy::{MIN_BUDGET, Policy};

/// Controls of one call, validated but not yet resolved against a payload.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// Cursor of an earlier reply.
    pub cursor: Option<String>,
    /// Number of items, rows, matches or lines.
    pub limit: Option<u32>,
    /// First page, from 1.
    pub page: Option<u32>,
    /// Number of pages, from `pages=1-3`.
    pub page_count: Option<u32>,
    /// Number of items, rows or lines to skip.
    pub offset: Option<u32>,
    /// Fields: comma-separated paths, those with commas in double quotes, or `all`.
    pub fields: Option<String>,
    /// A heading, or a name from `detailsAvailable`.
    pub section: Option<String>,
    /// A JSON Pointer or a dotted path.
    pub path: Option<String>,
    /// First line, from 1; negative values count from the end.
    pub start_line: Option<i64>,
    /// Last line, inclusive; negative values count from the end.
    pub end_line: Option<i64>,
    /// A field, followed by `desc` for the largest first.
    pub sort: Option<String>,
    /// True if the reply has the bytes that the upstream wrote.
    pub raw: bool,
    /// True if the reply has all of them that the operator allows a program: `raw`, within another limit.
    pub all: bool,
    /// Tokens that the reply may cost.
    pub max_tokens: Option<usize>,
    /// Query whose answer is served in place of the content. The other controls are for the answer, but cursor, path and
    /// section select the queried content.
    pub query: Query,
}

impl Request {
    /// Returns the request without what selects a page.
    #[must_use]
    pub fn without_paging(self) -> Self {
        Self { limit: None, page: None, page_count: None, offset: None, ..self }
    }

    /// Sets one control from a JSON value (MCP arguments) or a JSON string (a query string). Numbers may be
    /// strings, because models write them so. `null` and an empty string leave a control unset.
    ///
    /// Returns `false` if the name is not a control.
    ///
    /// # Errors
    /// Returns an error if the value has the wrong type or exceeds the policy's limits.
    pub fn set_control(&mut self, name: &str, json: &str, policy: &Policy) -> Result<bool, ViewError> {
        if !CONTROLS.contains(&name) {
            return Ok(false);
        }
        let value = ControlValue { name, json };
        if is_absent(json) {
            return Ok(true);
        }
        match name {
            "cursor" => self.cursor = Some(value.parse_text()?),
            "limit" => self.limit = Some(parse_limit(&value, policy)?),
            "page" => {
                self.page = Some(value.parse_unsigned(1, |given| ViewError::Page { name: "page", given })?);
            }
            "pages" => (self.page, self.page_count) = parse_pages(&value)?,
            "offset" => self.offset = Some(value.parse_unsigned(0, ViewError::offset)?),
            "fields" => self.fields = Some(value.parse_list()?),
            "section" => self.section = Some(value.parse_text()?),
            "path" => self.path = Some(value.parse_text()?),
            "startLine" => self.start_line = Some(value.parse_line()?),
            "endLine" => self.end_line = Some(value.parse_line()?),
            "sort" => self.sort = Some(value.parse_sort()?),
            "raw" => self.raw = value.parse_bool()?,
            "query" | "with" => return self.query.set_argument(name, json),
            _ => self.max_tokens = Some(parse_max_tokens(&value, policy)?),
        }
        Ok(true)
    }

    /// Sets the range of lines from one value: `10-20`, `10`, `-20--1` or `[10, 20]`. `name`: as the caller wrote it.
    ///
    /// # Errors
    /// Returns an error if that is no range.
    pub fn set_lines(&mut self, name: &str, json: &str) -> Result<(), ViewError> {
        let value = ControlValue { name, json };
        if is_absent(json) {
            return Ok(());
        }
        let given = value.unquoted();
        let given = given.trim_matches(|c: char| c == '[' || c == ']' || c.is_whitespace());
        // A leading minus belongs to a line from the end.
        let separator = given.char_indices().skip(1).find(|(_, c)| matches!(c, '-' | ':' | ',' | '–'));
        let (first, last) = match separator {
            Some((at, c)) => (&given[..at], &given[at + c.len_utf8()..]),
            None => (given, given),
        };
        let line =
            |text: &str| text.trim().trim_start_matches(['L', 'l']).parse().ok().filter(|n| *n != 0_i64);
        let (Some(first), Some(last)) = (line(first), line(last)) else {
            let given = value.abbreviated();
            return Err(ViewError::Range(format!("{name} is {given}; use first-last, such as 10-20")));
        };
        (self.start_line, self.end_line) = (Some(first), Some(last));
        Ok(())
    }

    /// Requests all that the operator allows a program, if the value is true.
    ///
    /// # Errors
    /// Returns an error if that is no boolean.
    pub fn set_all(&mut self, json: &str) -> Result<(), ViewError> {
        self.all = !is_absent(json) && ControlValue { name: "all", json }.parse_bool()?;
        self.raw |= self.all;
        Ok(())
    }

    /// Checks that the controls can be combined.
    ///
    /// # Errors
    /// Returns [`ViewError::Conflict`] with two controls that exclude each other, or the error of the query.
    pub fn check(&self) -> Result<(), ViewError> {
        self.query.check()?;
        let range = self.start_line.is_some() || self.end_line.is_some();
        let raw = if self.all { "all" } else { "raw" };
        let conflicts = [
            (self.page.is_some() && self.offset.is_some(), "page", "offset"),
            (range && self.page.is_some(), "startLine/endLine", "page"),
            (range && self.offset.is_some(), "startLine/endLine", "offset"),
            (range && self.fields.is_some(), "startLine/endLine", "fields"),
            (range && self.sort.is_some(), "startLine/endLine", "sort"),
            (range && self.raw, "startLine/endLine", raw),
            (self.raw && self.fields.is_some(), raw, "fields"),
            (self.raw && self.sort.is_some(), raw, "sort"),
            (self.raw && self.limit.is_some(), raw, "limit"),
            (self.raw && self.page.is_some(), raw, "page"),
            (self.section.is_some() && self.path.is_some(), "section", "path"),
        ];
        match conflicts.iter().find(|(both, ..)| *both) {
            Some(&(_, one, other)) => Err(ViewError::Conflict { one, other }),
            None => Ok(()),
        }
    }

    /// Returns true if the request selects from the whole payload, whatever page it asks for.
    pub fn selects_from_whole(&self) -> bool {
        self.query.is_given()
            || self.sort.is_some()
            || self.raw
            || self.path.is_some()
            || self.section.is_some()
            || self.start_line.is_some()
            || self.end_line.is_some()
    }

    /// Returns true if the request selects items, in a list of an earlier reply that it does not name.
    pub(crate) fn selects_items(&self) -> bool {
        self.cursor.is_some()
            && (self.page.is_some() || self.offset.is_some() || self.sort.is_some())
            && self.path.is_none()
            && self.section.is_none()
            && !self.raw
    }

    /// Returns the index of the first item of the requested page, `None` if the request names no page and no offset.
    pub fn first_item(&self, page_size: usize) -> Option<usize> {
        match self.page {
            Some(page) => Some((page as usize).saturating_sub(1).saturating_mul(page_size)),
            None => self.offset.map(|offset| offset as usize),
        }
    }

    /// Returns true if only the payload itself is requested.
    pub fn is_plain(&self) -> bool {
        *self == Self::default()
    }

    /// Returns true if nothing but the next page of a cursor is requested, of any size.
    pub fn is_next_page(&self) -> bool {
        let Self { cursor, limit, max_tokens, .. } = self.clone();
        *self == Self { cursor, limit, max_tokens, ..Self::default() }
    }

    /// Returns true if a position after the start is requested, which an earlier snapshot can answer.
    pub fn is_continuation(&self) -> bool {
        self.page.is_some_and(|n| n > 1)
            || self.offset.is_some_and(|n| n > 0)
            || self.start_line.is_some()
            || self.end_line.is_some()
    }

    /// Returns true if a part of the payload is requested, which an earlier snapshot can answer.
    pub fn has_selection(&self) -> bool {
        self.fields.is_some() || self.path.is_some() || self.section.is_some()
    }
}

/// Returns true for a value that stands for none. A client whose schemas require all arguments writes an empty string.
pub fn is_absent(json: &str) -> bool {
    match JsonKind::of_value(json) {
        JsonKind::Null => true,
        JsonKind::String => unescape(json).trim().is_empty(),
        _ => false,
    }
}

/// A control as received.
struct ControlValue<'a> {
    name: &'a str,
    json: &'a str,
}

impl ControlValue<'_> {
    /// Returns the value as text, for a string or a bare scalar.
    fn unquoted(&self) -> String {
        if JsonKind::of_value(self.json) == JsonKind::String {
            unescape(self.json)
        } else {
            self.json.trim().to_owned()
        }
    }

    fn abbreviated(&self) -> String {
        let mut plain = self.unquoted();
        if let Some((cut, _)) = plain.char_indices().nth(40) {
            plain.truncate(cut);
            plain.push('…');
        }
        plain
    }

    fn malformed_error(&self, wants: &'static str) -> ViewError {
        ViewError::malformed(self.name, self.abbreviated(), wants)
    }

    fn parse_text(&self) -> Result<String, ViewError> {
        match JsonKind::of_value(self.json) {
            JsonKind::String | JsonKind::Number => Ok(self.unquoted()),
            _ => Err(self.malformed_error("a string")),
        }
    }

    fn parse_sort(&self) -> Result<String, ViewError> {
        self.parse_text().and_then(|spec| {
            order::parse_sort(&spec).map(|_| spec).ok_or_else(|| self.malformed_error(order::SORT_SYNTAX))
        })
    }

    fn parse_integer(&self) -> Option<i64> {
        let plain = self.unquoted();
        let plain = plain.trim();
        plain.parse().ok().or_else(|| {
            let float: f64 = plain.parse().ok()?;
            (float.fract() == 0.0 && float.abs() < 9e15).then_some(float as i64)
        })
    }

    fn parse_unsigned(&self, min: i64, error: fn(String) -> ViewError) -> Result<u32, ViewError> {
        let number = self.parse_integer().filter(|n| *n >= min);
        number.and_then(|n| u32::try_from(n).ok()).ok_or_else(|| error(self.abbreviated()))
    }

    fn parse_line(&self) -> Result<i64, ViewError> {
        self.parse_integer().filter(|n| *n != 0).ok_or_else(|| {
            ViewError::Range(format!(
                "{} is {}; use a whole number from 1, or negative from the end",
                self.name,
                self.abbreviated()
            ))
        })
    }

    fn parse_bool(&self) -> Result<bool, ViewError> {
        match self.unquoted().to_ascii_lowercase().as_str() {
            "true" | "1" => Ok(true),
            "false" | "0" => Ok(false),
            _ => Err(self.malformed_error("true or false")),
        }
    }

    /// Parses a comma-separated list, or an array of strings as such a list.
    fn parse_list(&self) -> Result<String, ViewError> {
        const WANTS: &str = "names separated by commas, like `id,status,price.total`, or `all`";
        let joined = match JsonKind::of_value(self.json) {
            JsonKind::String => self.unquoted(),
            JsonKind::Array => {
                let names = parse_strings(self.json).ok_or_else(|| self.malformed_error(WANTS))?;
                names.iter().map(|name| quote_name(name)).collect::<Vec<_>>().join(",")
            }
            _ => return Err(self.malformed_error(WANTS)),
        };
        if split_names(&joined, |_| true).is_empty() {
            return Err(self.malformed_error(WANTS));
        }
        Ok(joined)
    }
}

fn parse_strings(json: &str) -> Option<Vec<String>> {
    let mut reader = JsonReader::new(json);
    reader.enter_array().ok()?;
    let mut all = Vec::new();
    while reader.next_item().ok()? {
        let span = reader.skip_string().ok()?;
        all.push(unescape(reader.text(span)));
    }
    Some(all)
}

fn parse_limit(value: &ControlValue<'_>, policy: &Policy) -> Result<u32, ViewError> {
    let (given, max) = (value.abbreviated(), policy.max_page_size);
    match value.parse_integer() {
        Some(n) if (1..=max as i64).contains(&n) => Ok(n as u32),
        Some(n) if n > 0 => Err(ViewError::LimitTooLarge { given, max }),
        // The number exceeds the integer range.
        None if value.unquoted().trim().parse::<f64>().is_ok_and(|n| n >= i64::MAX as f64) => {
            Err(ViewError::LimitTooLarge { given, max })
        }
        _ => Err(ViewError::Limit { given, max }),
    }
}

fn parse_pages(value: &ControlValue<'_>) -> Result<(Option<u32>, Option<u32>), ViewError> {
    let wrong = || ViewError::Page { name: "pages", given: value.abbreviated() };
    let plain = value.unquoted();
    let (first, last) = plain.split_once('-').unwrap_or((&plain, &plain));
    let number = |text: &str| text.trim().parse::<u32>().ok().filter(|n| *n > 0).ok_or_else(wrong);
    let (first, last) = (number(first)?, number(last)?);
    if last < first {
        return Err(wrong());
    }
    Ok((Some(first), Some(last - first + 1)))
}

fn parse_max_tokens(value: &ControlValue<'_>, policy: &Policy) -> Result<usize, ViewError> {
    value
        .parse_integer()
        .and_then(|n| usize::try_from(n).ok())
        .filter(|n| (MIN_BUDGET..=policy.hard_cap).contains(n))
        .ok_or_else(|| ViewError::MaxTokens {
            given: value.abbreviated(),
            min: MIN_BUDGET,
            max: policy.hard_cap,
        })
}

//! Redacts JSON, member by member, without recursion.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use portion_json::scan::{JsonKind, JsonReader, ScanError, quote, unescape};
use portion_json::span::Span;

use super::edit::REDACTED_STRING;
use super::pair::PairRole;
use super::short_password::password_column;
use super::table::TableColumns;
use super::{NameMatch, RedactedNames, RedactionRules, TextEdit, fragment, text_value, token};
use pairs::PairName;

mod nested;
mod pairs;
mod secret_data;
mod short_names;

/// Maximum steps of a reported path, the innermost ones.
const MAX_PATH_STEPS: usize = 12;
/// Maximum enclosing objects in which columnar tables are detected: each detection scans the following
/// members.
const MAX_TABLE_DEPTH: usize = 16;

/// The edits of JSON in text.
#[derive(Debug, Default)]
pub(super) struct JsonEdits {
    pub edits: Vec<TextEdit>,
    pub names: RedactedNames,
    /// Ranges of the text that were read as JSON, in order.
    pub ranges: Vec<Range<usize>>,
}

/// Returns the edits for a JSON text, for several concatenated values, or for the JSON that a text
/// contains, including JSON that is cut off or faulty.
pub(super) fn collect_edits(redact: &RedactionRules, text: &str, strings: usize) -> JsonEdits {
    let mut walk = JsonRedactor::new(redact, text, strings);
    if walk.walk_values().is_ok() {
        return JsonEdits { edits: walk.edits, names: walk.names, ranges: Vec::new() };
    }
    let mut walk = JsonRedactor::new(redact, text, strings);
    let mut ranges = Vec::new();
    let mut at = 0;
    while let Some(start) = fragment::next_start(text, at) {
        at = walk.walk_complete(start).unwrap_or_else(|| walk.walk_fragment(start));
        ranges.push(start..at);
    }
    JsonEdits { edits: walk.edits, names: walk.names, ranges }
}

/// Returns true if a text is JSON, or several concatenated values.
pub(super) fn is_json(text: &str) -> bool {
    let mut at = 0;
    while !text[at..].trim_start().is_empty() {
        let mut reader = JsonReader::resume(text, at);
        if reader.skip().is_err() {
            return false;
        }
        at = reader.at();
    }
    true
}

/// Returns true if the value at the reader can be a secret, given that its name suggests one. A boolean
/// is none, and a container of records describes secrets, like a schema of passwords; the members in it
/// have names of their own.
fn may_be_secret(kind: JsonKind, reader: &JsonReader<'_>) -> bool {
    match kind {
        JsonKind::Bool | JsonKind::Object => false,
        JsonKind::Array => {
            let mut inside = reader.clone();
            while inside.enter_array().is_ok() && inside.next_item() == Ok(true) {
                match inside.peek() {
                    Ok(JsonKind::Array) => {}
                    first => return first.is_ok_and(|kind| kind != JsonKind::Object),
                }
            }
            false
        }
        JsonKind::String | JsonKind::Number | JsonKind::Null => true,
    }
}

/// An object that is open.
#[derive(Clone, Copy, Default)]
struct OpenObject {
    /// Key of the current member.
    key: Option<Span>,
    /// Number of arrays open inside that member.
    array_depth: u32,
    /// The hidden name among its members, if one was found.
    pair: Option<PairName>,
    /// True if the members after the first value were searched for a name.
    is_pair_searched: bool,
    /// True if one of its members is the name of a user.
    has_login: bool,
    /// True if the members after a short name were searched for the name of a user.
    is_login_searched: bool,
    /// True if it is a Kubernetes secret, as far as the members before tell.
    is_secret: bool,
    /// True if it is a list of Kubernetes secrets.
    is_secret_list: bool,
    /// True if it is the data of such a secret: all its values are hidden.
    is_secret_data: bool,
}

/// Result of matching a key against the rules.
#[derive(Clone, Copy)]
struct KeyMatch {
    verdict: NameMatch,
    role: Option<PairRole>,
    /// True if the key itself contains a secret.
    has_secret: bool,
}

/// State of the innermost open object. The enclosing objects need no state: their current members are
/// kept.
#[derive(Default)]
struct MemberState {
    /// True if an earlier member is kept.
    has_kept_member: bool,
    /// End of the last member.
    last_member_end: usize,
    /// Start of the first omitted member, while no earlier one is kept.
    omitted_start: Option<usize>,
}

pub(super) struct JsonRedactor<'a, 'r> {
    rules: &'r RedactionRules,
    text: &'a str,
    /// Levels of nested strings that are still searched for JSON.
    remaining_string_depth: usize,
    /// True if containers of records are hidden, too, if their names are secret.
    hides_containers: bool,
    /// Results by key as written.
    key_matches: BTreeMap<&'a str, KeyMatch>,
    open_objects: Vec<OpenObject>,
    /// The last string, if it is an item `"--password"`, and its end.
    flag: Option<(Span, usize)>,
    /// Number of arrays open outside of any object.
    root_array_depth: u32,
    member_state: MemberState,
    /// Starts of the rows of tables whose columns are known.
    table_rows: BTreeSet<usize>,
    /// True if the text contains the beginning of a token.
    may_contain_tokens: bool,
    edits: Vec<TextEdit>,
    names: RedactedNames,
}

impl<'a, 'r> JsonRedactor<'a, 'r> {
    fn new(redact: &'r RedactionRules, text: &'a str, strings: usize) -> Self {
        Self {
            rules: redact,
            text,
            remaining_string_depth: strings,
            hides_containers: false,
            key_matches: BTreeMap::new(),
            open_objects: Vec::new(),
            flag: None,
            root_array_depth: 0,
            member_state: MemberState::default(),
            table_rows: BTreeSet::new(),
            may_contain_tokens: redact.hides_secrets && token::may_contain(text),
            edits: Vec::new(),
            names: RedactedNames::default(),
        }
    }

    /// Walks all values of the text.
    fn walk_values(&mut self) -> Result<(), ScanError> {
        let mut at = 0;
        while !self.text[at..].trim_start().is_empty() {
            at = self.walk_value(JsonReader::resume(self.text, at))?;
        }
        Ok(())
    }

    /// Walks the value that begins at `start` and returns its end, or `None` if it is cut off or faulty.
    fn walk_complete(&mut self, start: usize) -> Option<usize> {
        let (edits, names) = (self.edits.len(), self.names.mark());
        let walked = self.walk_value(JsonReader::resume(self.text, start)).ok();
        if walked.is_none() {
            self.edits.truncate(edits);
            self.names.revert(names);
            self.open_objects.clear();
            (self.root_array_depth, self.member_state) = (0, MemberState::default());
        }
        walked
    }

    /// Walks the readable part of a value that is cut off or faulty, and returns the end of that part.
    /// Containers with secret names are hidden up to their closing bracket.
    fn walk_fragment(&mut self, start: usize) -> usize {
        let text = &self.text[start..];
        let completed = fragment::complete(text);
        let mut walk = JsonRedactor::new(self.rules, &completed.json, self.remaining_string_depth);
        walk.hides_containers = true;
        let mut end = completed.len.max(1);
        if walk.walk_values().is_ok() {
            for mut edit in walk.edits {
                if edit.end > completed.len {
                    let open = completed.open_containers(edit.end);
                    edit.end = text_value::closing_end(text, completed.len, open);
                    end = end.max(edit.end);
                }
                if edit.start < completed.len {
                    self.edits.push(TextEdit { start: start + edit.start, end: start + edit.end, ..edit });
                }
            }
            walk.names.into_names().into_iter().for_each(|name| self.names.add(name));
        }
        self.text.ceil_char_boundary(start + end)
    }

    /// Walks one value and returns its end.
    fn walk_value(&mut self, mut reader: JsonReader<'a>) -> Result<usize, ScanError> {
        let mut begins = true;
        loop {
            if begins {
                match reader.peek()? {
                    JsonKind::Object => {
                        let (pair, is_secret_data) = (self.inherited_pair(), self.is_secret_data(&reader));
                        reader.enter_object()?;
                        self.open_objects.push(OpenObject { pair, is_secret_data, ..OpenObject::default() });
                        self.member_state = MemberState::default();
                    }
                    JsonKind::Array => {
                        if *self.arrays() == 0 && self.open_objects.len() <= MAX_TABLE_DEPTH {
                            self.redact_table_with_header_row(&reader);
                        }
                        reader.enter_array()?;
                        *self.arrays() += 1;
                    }
                    kind => {
                        let value = reader.skip()?;
                        if kind == JsonKind::String {
                            self.redact_item(value);
                        }
                        self.finish_value(reader.at());
                    }
                }
            }
            begins = false;
            if *self.arrays() > 0 {
                begins = reader.next_item()?;
                if !begins {
                    *self.arrays() -= 1;
                    self.finish_value(reader.at());
                }
            } else if self.open_objects.is_empty() {
                return Ok(reader.at());
            } else if let Some(key) = reader.next_key()? {
                begins = self.begin_member(key, &mut reader)?;
            } else {
                if let Some(start) = self.member_state.omitted_start {
                    self.edits.push(TextEdit {
                        start,
                        end: self.member_state.last_member_end,
                        replacement: "".into(),
                    });
                }
                self.open_objects.pop();
                self.finish_value(reader.at());
            }
        }
    }

    /// Returns the number of arrays open in the current member, or outside of all objects.
    fn arrays(&mut self) -> &mut u32 {
        match self.open_objects.last_mut() {
            Some(open) => &mut open.array_depth,
            None => &mut self.root_array_depth,
        }
    }

    /// Records that a value has ended: a member that is kept, unless it is an item.
    fn finish_value(&mut self, end: usize) {
        self.member_state = MemberState { has_kept_member: true, last_member_end: end, omitted_start: None };
    }

    /// Begins a member; returns true if its value is still to be walked.
    fn begin_member(&mut self, key: Span, reader: &mut JsonReader<'a>) -> Result<bool, ScanError> {
        if let Some(open) = self.open_objects.last_mut() {
            open.key = Some(key);
        }
        let name = self.decode_key(key);
        let kind = reader.peek()?;
        self.note_kind(&name, reader);
        let may_be_secret = may_be_secret(kind, reader) || self.hides_containers && kind.is_container();
        let hidden = self.is_member_hidden(key, &name, may_be_secret)
            || self.is_value_hidden(key, kind, reader)
            || self.is_short_password(&name, kind, reader)
            || self.open_objects.last().is_some_and(|open| open.is_secret_data);
        let omitted = hidden && !matches!(kind, JsonKind::String | JsonKind::Null);
        if omitted {
            let value = reader.skip()?;
            let end = value.end as usize;
            self.names.add(self.member_path());
            if self.member_state.has_kept_member {
                self.edits.push(TextEdit {
                    start: self.member_state.last_member_end,
                    end,
                    replacement: "".into(),
                });
            } else {
                self.member_state.omitted_start.get_or_insert(key.start as usize);
            }
            self.member_state.last_member_end = end;
            return Ok(false);
        }
        if let Some(start) = self.member_state.omitted_start.take() {
            self.edits.push(TextEdit { start, end: key.start as usize, replacement: "".into() });
        }
        self.redact_key(key, &name);
        if hidden {
            let value = reader.skip()?;
            // An empty string holds no secret.
            if kind == JsonKind::String && value.len() > 2 {
                self.names.add(self.member_path());
                self.edits.push(TextEdit {
                    start: value.start as usize,
                    end: value.end as usize,
                    replacement: REDACTED_STRING.into(),
                });
            }
            self.finish_value(value.end as usize);
            return Ok(false);
        }
        if kind == JsonKind::Array && self.open_objects.len() <= MAX_TABLE_DEPTH {
            self.redact_table(&name, reader);
        }
        Ok(true)
    }

    /// Redacts a key that contains a secret, such as `"password=…"`.
    fn redact_key(&mut self, key: Span, name: &str) {
        let has_secret = self.key_matches.get(key.slice(self.text)).is_some_and(|known| known.has_secret);
        if has_secret && let Some(redacted) = self.rules.redact_name(name) {
            self.edits.push(TextEdit {
                start: key.start as usize,
                end: key.end as usize,
                replacement: quote(&redacted).into(),
            });
            self.names.add(self.member_path());
        }
    }

    /// Redacts the cells of a columnar table, if its columns or rows begin here.
    fn redact_table(&mut self, name: &str, reader: &JsonReader<'a>) {
        if let Some(columns) = TableColumns::detect(name, reader, self.text) {
            self.table_rows.insert(columns.rows_start);
            self.redact_cells(&columns, true);
        }
    }

    /// Redacts the cells of rows below a row of names.
    fn redact_table_with_header_row(&mut self, reader: &JsonReader<'a>) {
        let columns = TableColumns::detect_header_row(reader, self.text);
        if let Some(columns) = columns.filter(|columns| !self.table_rows.contains(&columns.rows_start)) {
            self.redact_cells(&columns, false);
        }
    }

    /// Redacts the cells of a table. Its columns are named beside the current member, or in it.
    fn redact_cells(&mut self, columns: &TableColumns, are_named_beside: bool) {
        let short = password_column(&columns.names).filter(|_| self.rules.hides_secrets);
        let mut hidden: Vec<(bool, bool)> = columns
            .names
            .iter()
            .map(|column| {
                [true, false].map(|may| self.is_column_hidden(column, are_named_beside, may)).into()
            })
            .collect();
        if let Some(flags) = short.and_then(|index| hidden.get_mut(index)) {
            flags.0 = true;
        }
        let match_name = |name: &str| {
            let mut verdict = self.rules.match_pair_name(name);
            verdict.is_named |= verdict.may_end_path && self.matches_path(name, are_named_beside);
            verdict
        };
        for (index, edit) in columns.cell_edits(self.text, &match_name, &hidden) {
            self.edits.push(edit);
            let column = columns.names.get(index).map(String::as_str);
            self.names.add(self.column_path(column, are_named_beside));
        }
    }

    fn is_column_hidden(&self, name: &str, are_named_beside: bool, may_be_secret: bool) -> bool {
        let verdict = self.rules.match_name(name);
        verdict.is_named
            || verdict.is_secret && may_be_secret
            || verdict.may_end_path && self.matches_path(name, are_named_beside)
    }

    fn is_member_hidden(&mut self, key: Span, name: &str, may_be_secret: bool) -> bool {
        let redact = self.rules;
        let matched = || KeyMatch {
            verdict: redact.match_name(name),
            role: PairRole::of(name),
            has_secret: redact.redact_name(name).is_some(),
        };
        let verdict = self.key_matches.entry(key.slice(self.text)).or_insert_with(matched).verdict;
        verdict.is_named
            || verdict.is_secret && may_be_secret
            || verdict.may_end_path && self.matches_path(name, true)
    }

    /// Returns true if a path matches a name beside the current member, or in it.
    fn matches_path(&self, name: &str, is_beside: bool) -> bool {
        self.rules.matches_path_within(name, |steps| {
            let open = self.open_objects.iter().rev().skip(usize::from(is_beside));
            open.filter_map(|open| open.key).take(steps).map(|key| unescape(key.slice(self.text)))
        })
    }

    /// Decodes a key.
    fn decode_key(&self, key: Span) -> Cow<'a, str> {
        let quoted = key.slice(self.text);
        if quoted.contains('\\') { unescape(quoted).into() } else { quoted[1..quoted.len() - 1].into() }
    }

    /// Returns the dotted path of the current member.
    fn member_path(&self) -> String {
        self.column_path(None, false)
    }

    /// Returns the dotted path of a column beside the current member, or in it.
    fn column_path(&self, column: Option<&str>, is_beside: bool) -> String {
        let around = self.open_objects.len() - usize::from(is_beside).min(self.open_objects.len());
        let keys = self.open_objects[..around]
            .iter()
            .skip(around.saturating_sub(MAX_PATH_STEPS))
            .filter_map(|open| open.key);
        let mut steps: Vec<Cow<str>> = keys.map(|key| self.decode_key(key)).collect();
        steps.extend(column.map(Cow::Borrowed));
        steps.join(".")
    }
}

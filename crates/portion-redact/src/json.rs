//! Redacts JSON without recursion. Each object is decided when it ends, when all of its members are known.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::HashMap;

use foldhash::fast::FixedState;
use portion_json::scan::{JsonKind, JsonReader, ScanError, unescape};
use portion_json::span::Span;
use portion_text::broken_json;
use portion_text::names::split_name;

use super::code::TextFacts;
use super::columns::Columns;
use super::edit::{JsonRange, REDACTED_STRING, Replacement, add_name};
use super::name::SecretKind;
use super::pair::{PairRole, is_second_name};
use super::pattern::is_in;
use super::prefilter::Place;
use super::value::{facts_of_name, is_secret_json};
use super::{Findings, NameMatch, REDACTED, RedactionRules, TextEdit, prefilter, text_value};

mod members;
mod nested;
mod rows;

/// Maximum steps of a reported path, the innermost ones.
const MAX_PATH_STEPS: usize = 12;
/// Maximum containers around one that is read a second time.
const MAX_READ_DEPTH: usize = 16;
/// Words in the names of members that list columns, and of those that hold rows.
const COLUMN_KEYS: [&str; 9] =
    ["col", "cols", "column", "columns", "field", "fields", "header", "headers", "meta"];
const ROW_KEYS: [&str; 6] = ["rows", "row", "data", "values", "records", "results"];
/// Keys of the states of a value, beside its places, which are numbers.
const STATE_KEYS: &str = "old new before after from to previous current default initial original oldvalue newvalue old_value new_value \
    previousvalue previous_value";
/// Members of a Kubernetes secret, and of a list of such, that decide, and the result of a resource.
const KIND_KEYS: [&str; 13] =
    ["kind", "items", "data", "stringData", RESULT_KEY, "kty", "d", "p", "q", "dp", "dq", "qi", "k"];
/// Members of a JSON Web Key, an object with `kty`, that only a private or a shared one has.
const KEY_PARTS: [&str; 7] = ["d", "p", "q", "dp", "dq", "qi", "k"];
/// Name of the mark of a secret output of Terraform.
const SENSITIVE_KEY: &str = "sensitive";
/// Name of the password in the attributes of a `random_password` of Terraform.
const RESULT_KEY: &str = "result";

/// The hidden parts of the JSON of a text.
#[derive(Debug, Default)]
pub(super) struct JsonFindings {
    pub found: Findings,
    /// True if the text is JSON as a whole.
    pub is_json: bool,
    /// Ranges of other texts that were read as JSON, in order.
    pub ranges: Vec<JsonRange>,
}

/// Finds what is hidden in a JSON text, in several concatenated values, or in the JSON that a text contains, including JSON
/// that is cut off or faulty.
pub(super) fn redact(rules: &RedactionRules, text: &str, strings: usize) -> JsonFindings {
    let mut walk = JsonRedactor::new(rules, text, strings);
    let mut ranges = Vec::new();
    let is_json = walk.walk_values().is_ok();
    if is_json && !walk.columns.is_empty() {
        (walk.is_second_walk, walk.open_key, walk.edits) = (true, None, Vec::new());
        let _ = walk.walk_values();
    }
    if !is_json {
        walk.reset(0);
        let is_code = TextFacts::new(text).is_source_code();
        let mut at = 0;
        while let Some(start) = broken_json::next_start(text, at) {
            let end = walk.walk_complete(start);
            // What is no JSON there is an expression, which the rules for text read.
            if end.is_none() && is_code {
                at = text
                    .ceil_char_boundary(start + broken_json::complete(&text[start..], REDACTED).len.max(1));
                continue;
            }
            at = end.unwrap_or_else(|| walk.walk_fragment(start));
            ranges.push(JsonRange { range: start..at, is_complete: end.is_some() });
        }
    }
    let mut found = Findings::default();
    for NamedEdit { edit, names } in walk.outer_edits() {
        names.iter().for_each(|name| add_name(&mut found.names, name));
        found.edits.push(edit);
    }
    JsonFindings { found, is_json, ranges }
}

/// Returns true for a key that is the place of a value.
fn is_number(key: &str) -> bool {
    !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_digit())
}

struct NamedEdit {
    edit: TextEdit,
    names: Vec<String>,
}

/// A fact that a key states about its object. Most keys state none.
#[derive(Clone, Copy, Default, PartialEq)]
struct KeyFacts {
    verdict: NameMatch,
    role: Option<PairRole>,
    /// True if the key itself contains a secret.
    has_secret: bool,
    /// Kinds of secrets, as bits, that are none beside it.
    facts: u16,
    /// True for a name that makes one together with the name around it: `wifi.key`.
    is_second: bool,
    /// True for keys of Kubernetes manifests, and of JSON Web Keys.
    is_kind: bool,
    is_columns: bool,
    is_rows: bool,
}

impl KeyFacts {
    fn of(redact: &RedactionRules, name: &str) -> Self {
        let words = split_name(name);
        let is_state = || is_number(name) || is_in(STATE_KEYS, &name.to_lowercase());
        let is_among = |known: &[&str]| words.iter().any(|word| known.contains(&word.as_str()));
        Self {
            verdict: redact.match_name(name),
            role: PairRole::of(name).or_else(|| is_state().then_some(PairRole::State)),
            has_secret: redact.redact_name(name).is_some(),
            facts: facts_of_name(name),
            is_second: redact.hides_secrets && is_second_name(name),
            is_kind: redact.hides_secrets && (KIND_KEYS.contains(&name) || name == SENSITIVE_KEY),
            is_columns: is_among(&COLUMN_KEYS),
            is_rows: is_among(&ROW_KEYS),
        }
    }

    /// Returns true if the member is needed when its object ends.
    fn is_kept(self) -> bool {
        self != Self { facts: self.facts, ..Self::default() }
    }
}

/// A member that may be hidden, or that decides about others.
#[derive(Clone, Copy)]
struct Member {
    key: Span,
    value: Span,
    facts: KeyFacts,
}

/// A container that is open.
#[derive(Clone, Copy, Default)]
struct Open {
    is_array: bool,
    /// Key of the current member.
    key: Option<Span>,
    facts: KeyFacts,
    start: u32,
    /// Place of its first kept member.
    first: usize,
    /// The facts of all of its members.
    facts_inside: u16,
    /// The last string of an array, if it is a flag, `"--password"`.
    flag: Option<Span>,
}

pub(super) struct JsonRedactor<'a, 'r> {
    rules: &'r RedactionRules,
    text: &'a str,
    /// Levels of nested strings that are still searched for JSON.
    remaining_string_depth: usize,
    /// True if containers of records are hidden, too, if their names are secret.
    hides_containers: bool,
    /// Results by key as written.
    keys: HashMap<&'a str, KeyFacts, FixedState>,
    /// Matches of two names together, by both as written.
    joined: HashMap<(&'a str, &'a str), NameMatch, FixedState>,
    /// Lists of columns, some of them hidden, whose rows may stand elsewhere.
    columns: Vec<Columns>,
    /// True in the second walk, which knows the columns.
    is_second_walk: bool,
    open: Vec<Open>,
    members: Vec<Member>,
    /// True if most strings of the text are labels, once that was determined.
    is_catalogue: OnceCell<bool>,
    /// Offsets at which secrets may begin, or their names.
    places: Vec<Place>,
    /// The member whose values are the lines of a private key that is open; an empty name in an array.
    open_key: Option<&'a str>,
    edits: Vec<NamedEdit>,
}

impl<'a, 'r> JsonRedactor<'a, 'r> {
    fn new(rules: &'r RedactionRules, text: &'a str, strings: usize) -> Self {
        Self {
            rules,
            text,
            remaining_string_depth: strings,
            hides_containers: false,
            keys: HashMap::with_hasher(FixedState::with_seed(0)),
            joined: HashMap::with_hasher(FixedState::with_seed(0)),
            columns: Vec::new(),
            is_second_walk: false,
            open: Vec::new(),
            members: Vec::new(),
            is_catalogue: OnceCell::new(),
            places: if rules.patterns.is_empty() { prefilter::places(text) } else { Vec::new() },
            open_key: None,
            edits: Vec::new(),
        }
    }

    fn reset(&mut self, edits: usize) {
        self.edits.truncate(edits);
        self.open.clear();
        self.members.clear();
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
        let edits = self.edits.len();
        let walked = self.walk_value(JsonReader::resume(self.text, start)).ok();
        if walked.is_none() {
            self.reset(edits);
        }
        walked
    }

    /// Walks the readable part of a value that is cut off or faulty, and returns the end of that part.
    /// Containers with secret names are hidden up to their closing bracket.
    fn walk_fragment(&mut self, start: usize) -> usize {
        let text = &self.text[start..];
        let completed = broken_json::complete(text, REDACTED);
        let mut walk = JsonRedactor::new(self.rules, &completed.json, self.remaining_string_depth);
        walk.hides_containers = true;
        let mut end = completed.len.max(1);
        if walk.walk_values().is_ok() {
            // What is hidden in a hidden container needs no edit of its own.
            for NamedEdit { mut edit, names } in walk.outer_edits() {
                let range = &mut edit.range;
                if range.end > completed.len {
                    let open = completed.open_containers(range.end);
                    range.end = text_value::closing_end(text, completed.len, open);
                    end = end.max(range.end);
                }
                if range.start < completed.len {
                    *range = start + range.start..start + range.end;
                    self.edits.push(NamedEdit { edit, names });
                }
            }
        }
        self.text.ceil_char_boundary(start + end)
    }

    /// Returns the edits in order, without those in others.
    fn outer_edits(self) -> impl Iterator<Item = NamedEdit> {
        let (mut edits, mut done) = (self.edits, 0);
        // Of two edits of a string, the later one hides it whole.
        edits.reverse();
        edits.sort_by_key(|named| named.edit.order());
        edits.into_iter().filter(move |NamedEdit { edit, .. }| {
            let is_outer = edit.range.start >= done;
            done = done.max(edit.range.end);
            is_outer
        })
    }

    /// Walks one value and returns its end.
    fn walk_value(&mut self, mut reader: JsonReader<'a>) -> Result<usize, ScanError> {
        let mut begins = true;
        loop {
            if begins {
                let (kind, start, first) = (reader.peek()?, reader.at() as u32, self.members.len());
                match kind {
                    JsonKind::Object => reader.enter_object()?,
                    JsonKind::Array => reader.enter_array()?,
                    _ => {
                        let value = reader.skip()?;
                        if kind == JsonKind::String {
                            self.redact_item(value);
                        }
                        self.finish_value(value.start, value.end);
                    }
                }
                if kind.is_container() {
                    let is_array = kind == JsonKind::Array;
                    self.open.push(Open { is_array, start, first, ..Open::default() });
                }
            }
            let Some(open) = self.open.last() else { return Ok(reader.at()) };
            begins = if open.is_array {
                reader.next_item()?
            } else if let Some(key) = reader.next_key()? {
                self.begin_member(key);
                true
            } else {
                false
            };
            if !begins {
                let end = reader.at() as u32;
                self.close(end);
                let start = self.open.pop().map_or(0, |closed| closed.start);
                self.finish_value(start, end);
            }
        }
    }

    fn begin_member(&mut self, key: Span) {
        let facts = self.facts_of(key);
        let Some(open) = self.open.last_mut() else { return };
        (open.key, open.facts) = (Some(key), facts);
        open.facts_inside |= facts.facts;
    }

    fn facts_of(&mut self, key: Span) -> KeyFacts {
        let quoted = key.slice(self.text);
        if let Some(facts) = self.keys.get(quoted) {
            return *facts;
        }
        let facts = KeyFacts::of(self.rules, &self.decode_key(key));
        self.keys.insert(quoted, facts);
        facts
    }

    /// Records that a value has ended.
    fn finish_value(&mut self, start: u32, end: u32) {
        if let Some(Open { key: Some(key), facts, is_array: false, .. }) = self.open.last().copied()
            && facts.is_kept()
        {
            self.members.push(Member { key, value: Span { start, end }, facts });
        }
    }

    /// Hides what is hidden in the innermost container, which ends here.
    fn close(&mut self, end: u32) {
        let Some(open) = self.open.last() else { return };
        if open.is_array {
            let span = Span { start: open.start, end };
            self.redact_row_apart(span);
            let around = self.open.iter().rev().nth(1);
            if around.is_none_or(|around| around.is_array || !around.facts.is_rows) {
                self.redact_rows_below_header(span, 0);
            }
        } else if self.members.len() > open.first {
            let members = self.members.split_off(open.first);
            self.redact_object(&members, None);
        }
    }

    /// Returns true if a path matches a name in the innermost open containers, without that many of the innermost ones.
    fn matches_path(&self, name: &str, skipped: usize) -> bool {
        let around = || self.open.iter().rev().skip(skipped).filter_map(|open| open.key);
        self.rules.matches_path_within(name, || around().map(|key| unescape(key.slice(self.text))))
    }

    /// Decodes a key.
    fn decode_key(&self, key: Span) -> Cow<'a, str> {
        let quoted = key.slice(self.text);
        if quoted.contains('\\') { unescape(quoted).into() } else { quoted[1..quoted.len() - 1].into() }
    }

    /// Returns the dotted path of a name in the innermost open containers, without that many of the innermost ones.
    fn path_of(&self, names: &[&str], skipped: usize) -> String {
        let keys = self.open.iter().rev().skip(skipped).filter_map(|open| open.key);
        let mut steps: Vec<Cow<str>> = keys.take(MAX_PATH_STEPS).map(|key| self.decode_key(key)).collect();
        // A place is no name.
        steps.reverse();
        steps.truncate(steps.len() - usize::from(steps.last().is_some_and(|last| is_number(last))));
        steps.extend(names.iter().map(|name| Cow::Borrowed(*name)));
        steps.drain(..steps.len().saturating_sub(MAX_PATH_STEPS));
        steps.join(".")
    }

    /// Replaces a span, which is that of the current member.
    fn hide_member(&mut self, span: Span, replacement: impl Into<Replacement>) {
        let path = self.path_of(&[], 0);
        self.hide(span, replacement, vec![path]);
    }

    fn hide(&mut self, span: Span, replacement: impl Into<Replacement>, names: Vec<String>) {
        let edit = TextEdit { range: span.range(), replacement: replacement.into() };
        self.edits.push(NamedEdit { edit, names });
    }
}

//! Finds what is to be hidden in JSON, member by member, without recursion.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::table::Columns;
use super::{Edit, Names, Redact, Verdict};
use crate::scan::{Kind, Reader, ScanError, decoded, quote};
use crate::span::Span;

/// What stands in place of a string.
pub(super) const STRING: &str = "\"[redacted]\"";
/// Steps of a path that are told, the innermost ones.
const STEPS: usize = 12;
/// Objects inside of which columnar tables are looked for: each costs a look at what follows it.
const TABLES: usize = 16;

/// The edits of a JSON text, of several one after the other, or of those lines of a text that are JSON; `None` where
/// there is none to make.
pub(super) fn edits(redact: &Redact, text: &str, strings: usize) -> Option<(Vec<Edit>, Names)> {
    let mut walk = Walk::new(redact, text, strings);
    if walk.values().is_err() {
        walk = Walk::new(redact, text, strings);
        let mut start = 0;
        for line in text.split_inclusive('\n') {
            if line.trim_start().starts_with(['{', '[']) {
                walk.line(start, start + line.len());
            }
            start += line.len();
        }
    }
    (!walk.edits.is_empty()).then_some((walk.edits, walk.names))
}

/// Whether a text is JSON, or several values one after the other.
pub(super) fn is_json(text: &str) -> bool {
    let mut at = 0;
    while !text[at..].trim_start().is_empty() {
        let mut reader = Reader::resume(text, at);
        if reader.skip().is_err() {
            return false;
        }
        at = reader.at();
    }
    true
}

/// Whether the value that the reader is before can be a secret, if its name says so: a yes or no is none, and what holds
/// records tells of secrets, like a schema of passwords; those in it have names of their own.
fn may_be_secret(kind: Kind, reader: &Reader<'_>) -> bool {
    match kind {
        Kind::Bool | Kind::Object => false,
        Kind::Array => {
            let mut inside = reader.clone();
            let some = inside.enter_array().is_ok() && inside.next_item() == Ok(true);
            some && inside.peek().is_ok_and(|kind| !kind.is_container())
        }
        Kind::String | Kind::Number | Kind::Null => true,
    }
}

/// An object that is open.
#[derive(Clone, Copy, Default)]
struct Open {
    /// The key of its present member.
    key: Option<Span>,
    /// Arrays open inside of that member.
    arrays: u32,
}

/// The object whose members are read. Of those around it nothing need be remembered: the member that is read in them stays.
#[derive(Default)]
struct Members {
    /// Whether a member before stays.
    kept: bool,
    /// Where the last member ends.
    end: usize,
    /// Where the first member begins of those that are left out, while none before them stays.
    left_out: Option<usize>,
}

pub(super) struct Walk<'a, 'r> {
    redact: &'r Redact,
    text: &'a str,
    /// Strings in one another in which JSON is still looked for.
    strings: usize,
    /// By the key as it is written.
    verdicts: BTreeMap<&'a str, Verdict>,
    open: Vec<Open>,
    /// Arrays open outside of any object.
    arrays: u32,
    members: Members,
    edits: Vec<Edit>,
    names: Names,
}

impl<'a, 'r> Walk<'a, 'r> {
    fn new(redact: &'r Redact, text: &'a str, strings: usize) -> Self {
        Self {
            redact,
            text,
            strings,
            verdicts: BTreeMap::new(),
            open: Vec::new(),
            arrays: 0,
            members: Members::default(),
            edits: Vec::new(),
            names: Names::default(),
        }
    }

    /// Walks all values of the text.
    fn values(&mut self) -> Result<(), ScanError> {
        let mut at = 0;
        while !self.text[at..].trim_start().is_empty() {
            at = self.value(Reader::resume(self.text, at))?;
        }
        Ok(())
    }

    /// Walks a line, if it is a value.
    fn line(&mut self, start: usize, end: usize) {
        let known = self.edits.len();
        let reader = Reader::resume(&self.text[..end], start);
        let walked = self.value(reader).ok().filter(|at| self.text[*at..end].trim().is_empty());
        if walked.is_none() {
            self.edits.truncate(known);
            self.open.clear();
            (self.arrays, self.members) = (0, Members::default());
        }
    }

    /// Walks one value; where it ends.
    fn value(&mut self, mut reader: Reader<'a>) -> Result<usize, ScanError> {
        let mut begins = true;
        loop {
            if begins {
                match reader.peek()? {
                    Kind::Object => {
                        reader.enter_object()?;
                        self.open.push(Open::default());
                        self.members = Members::default();
                    }
                    Kind::Array => {
                        reader.enter_array()?;
                        *self.arrays() += 1;
                    }
                    kind => {
                        let value = reader.skip()?;
                        if kind == Kind::String {
                            self.string(value);
                        }
                        self.ended(reader.at());
                    }
                }
            }
            begins = false;
            if *self.arrays() > 0 {
                begins = reader.next_item()?;
                if !begins {
                    *self.arrays() -= 1;
                    self.ended(reader.at());
                }
            } else if self.open.is_empty() {
                return Ok(reader.at());
            } else if let Some(key) = reader.next_key()? {
                begins = self.member(key, &mut reader)?;
            } else {
                if let Some(start) = self.members.left_out {
                    self.edits.push(Edit { start, end: self.members.end, put: "".into() });
                }
                self.open.pop();
                self.ended(reader.at());
            }
        }
    }

    /// Hides what is in the JSON in a string.
    fn string(&mut self, value: Span) {
        let quoted = value.of(self.text);
        let Some(strings) = self.strings.checked_sub(1) else { return };
        // A secret in JSON has a name, and that has quotes, which have escapes.
        if !quoted.contains('{') && !quoted.contains("\\u007") || !quoted.contains('\\') {
            return;
        }
        if let Some((without, names)) = self.redact.hide_in_string(&decoded(quoted), strings) {
            names.into_iter().for_each(|name| self.names.add(name));
            let (start, end) = (value.start as usize, value.end as usize);
            self.edits.push(Edit { start, end, put: quote(&without).into() });
        }
    }

    /// The arrays open in the present member, or outside of all objects.
    fn arrays(&mut self) -> &mut u32 {
        match self.open.last_mut() {
            Some(open) => &mut open.arrays,
            None => &mut self.arrays,
        }
    }

    /// A value has ended: a member that stays, unless it is an item.
    fn ended(&mut self, end: usize) {
        self.members = Members { kept: true, end, left_out: None };
    }

    /// Reads the beginning of a member; whether its value is still to be walked.
    fn member(&mut self, key: Span, reader: &mut Reader<'a>) -> Result<bool, ScanError> {
        if let Some(open) = self.open.last_mut() {
            open.key = Some(key);
        }
        let name = self.name(key);
        let kind = reader.peek()?;
        let hidden = self.hides(key, &name, may_be_secret(kind, reader));
        let omitted = hidden && !matches!(kind, Kind::String | Kind::Null);
        if omitted {
            let value = reader.skip()?;
            let end = value.end as usize;
            self.names.add(self.path(None));
            if self.members.kept {
                self.edits.push(Edit { start: self.members.end, end, put: "".into() });
            } else {
                self.members.left_out.get_or_insert(key.start as usize);
            }
            self.members.end = end;
            return Ok(false);
        }
        if let Some(start) = self.members.left_out.take() {
            self.edits.push(Edit { start, end: key.start as usize, put: "".into() });
        }
        if hidden {
            let value = reader.skip()?;
            // An empty string says that there is none.
            if kind == Kind::String && value.len() > 2 {
                self.names.add(self.path(None));
                self.edits.push(Edit {
                    start: value.start as usize,
                    end: value.end as usize,
                    put: STRING.into(),
                });
            }
            self.ended(value.end as usize);
            return Ok(false);
        }
        if kind == Kind::Array && self.open.len() <= TABLES {
            self.table(&name, reader);
        }
        Ok(true)
    }

    /// The cells of a columnar table, if its columns or rows begin here.
    fn table(&mut self, name: &str, reader: &Reader<'a>) {
        let Some(columns) = Columns::beside(name, reader, self.text) else { return };
        let hidden: Vec<_> = columns
            .names
            .iter()
            .map(|column| (self.hides_column(column, true), self.hides_column(column, false)))
            .collect();
        if hidden.iter().any(|(hidden, _)| *hidden) {
            for (index, edit) in columns.cells(self.text, &hidden) {
                self.edits.push(edit);
                self.names.add(self.path(columns.names.get(index).map(String::as_str)));
            }
        }
    }

    fn hides_column(&mut self, name: &str, may_be_secret: bool) -> bool {
        let verdict = self.redact.verdict(name);
        verdict.named || verdict.secret && may_be_secret || verdict.ends_path && self.within(name)
    }

    fn hides(&mut self, key: Span, name: &str, may_be_secret: bool) -> bool {
        let redact = self.redact;
        let verdict = *self.verdicts.entry(key.of(self.text)).or_insert_with(|| redact.verdict(name));
        verdict.named || verdict.secret && may_be_secret || verdict.ends_path && self.within(name)
    }

    /// Whether a path names the present member, given that one ends with its name.
    fn within(&self, name: &str) -> bool {
        let around = |steps: usize| {
            let keys = self.open.iter().rev().skip(1).filter_map(|open| open.key).take(steps);
            keys.map(|key| decoded(key.of(self.text)))
        };
        let mut patterns = self.redact.patterns.iter().filter(|pattern| pattern.ends_with(name));
        patterns.any(|pattern| pattern.is_within(around(pattern.around())))
    }

    /// What a key says.
    fn name(&self, key: Span) -> Cow<'a, str> {
        let quoted = key.of(self.text);
        if quoted.contains('\\') { decoded(quoted).into() } else { quoted[1..quoted.len() - 1].into() }
    }

    /// The dotted path of the present member, or of a column beside it.
    fn path(&self, column: Option<&str>) -> String {
        let around = self.open.len() - usize::from(column.is_some()).min(self.open.len());
        let keys = self.open[..around].iter().skip(around.saturating_sub(STEPS)).filter_map(|open| open.key);
        let mut steps: Vec<Cow<str>> = keys.map(|key| self.name(key)).collect();
        steps.extend(column.map(Cow::Borrowed));
        steps.join(".")
    }
}

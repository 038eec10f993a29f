//! Finds and removes noise: fields of list records, or of an object, that a view leaves out.
//!
//! For a list this is decided once, from the fields of its sample, so that every page leaves out the same
//! fields.

use std::collections::{BTreeMap, BTreeSet};

use portion_json::containers::members;
use portion_json::projection::FieldSelection;
use portion_json::scan::{JsonKind, JsonReader, minify, unescape, unescape_into};
use portion_json::span::Span;

use crate::policy::StripRule;
use crate::snapshot::field_names::FieldNameHints;
use crate::snapshot::{Layout, List, Slice, cell_spans};

/// Fields that are left out of all records, as dotted paths.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct NoiseFields {
    /// Fields that are removed by name.
    pub named_paths: Vec<String>,
    /// Fields that are removed where they hold `null`, which they do in every sampled record.
    pub null_paths: Vec<String>,
    named_selection: FieldSelection,
    null_selection: FieldSelection,
}

impl NoiseFields {
    /// Finds the noise in the records of a list.
    pub(crate) fn in_list(strip: &StripRule, text: &Slice, list: &List) -> Self {
        if strip.is_empty() {
            return Self::default();
        }
        let fields = || list.profile.fields.iter().map(|field| field.path.as_str());
        let mut named: BTreeSet<String> =
            fields().filter_map(|path| shortest_stripped_path(strip, path)).collect();
        if fields().any(|path| path_prefixes(path).any(|prefix| strip.strips_if_minor(prefix))) {
            let mut minor = MinorFields::default();
            for sample in list.profile.samples.iter().map(|sample| sample.slice(text)) {
                match &list.layout {
                    Layout::Table { columns, .. } => minor.add_row(strip, columns, sample),
                    _ => minor.add_record(strip, sample),
                }
            }
            named.extend(minor.into_noise());
        }
        let nulls = match (&list.layout, strip.strips_nulls()) {
            (_, false) => &[],
            // A column is removed from every row, so all rows are checked.
            (Layout::Table { .. }, true) => list.null_columns(text),
            (_, true) => &list.profile.null_fields[..],
        };
        let noise = Self::new(named, nulls.iter().cloned().collect());
        // If nothing but identities is beside them, they are the content: none is removed.
        // If all fields are noise, they are the content: none is removed.
        if fields().all(|path| noise.contains(path)) { Self::default() } else { noise }
    }

    /// Finds the noise in an object.
    pub(crate) fn in_object(strip: &StripRule, object: &str) -> Self {
        if strip.is_empty() {
            return Self::default();
        }
        let (mut named, mut nulls) = (BTreeSet::new(), BTreeSet::new());
        let mut minor = MinorFields { record_bytes: object.len(), ..MinorFields::default() };
        visit_fields(object, |path, kind, around| {
            if strip.strips(path) {
                named.insert(path.to_owned());
                return false;
            }
            if strip.strips_if_minor(path) {
                minor.add(strip, object, path, around);
                return false;
            }
            if kind == JsonKind::Null && strip.strips_nulls() {
                nulls.insert(path.to_owned());
            }
            true
        });
        named.extend(minor.into_noise());
        retain_nulls(object, &mut nulls);
        let noise = Self::new(named, nulls);
        let mut all = true;
        visit_fields(object, |path, _, _| {
            all &= noise.contains(path);
            false
        });
        if all { Self::default() } else { noise }
    }

    fn new(named: BTreeSet<String>, nulls: BTreeSet<String>) -> Self {
        let (by_name, where_null) = (named.iter().cloned().collect(), nulls.iter().cloned().collect());
        let (named, nulls) = (named.into_iter().collect(), nulls.into_iter().collect());
        Self { named_paths: named, null_paths: nulls, named_selection: by_name, null_selection: where_null }
    }

    /// Returns true if there is no noise.
    pub(crate) fn is_empty(&self) -> bool {
        self.named_paths.is_empty() && self.null_paths.is_empty()
    }

    /// Returns true if the field at a dotted path is left out, alone or with an enclosing field.
    pub(crate) fn contains(&self, path: &str) -> bool {
        self.contains_by_name(path) || !self.null_paths.is_empty() && self.null_selection.selects(path)
    }

    /// Returns true if the field is left out because of its name.
    pub(crate) fn contains_by_name(&self, path: &str) -> bool {
        !self.named_paths.is_empty() && path_prefixes(path).any(|prefix| self.named_selection.selects(prefix))
    }

    /// Appends a value without its noise, minified.
    pub(crate) fn write_without(&self, json: &str, out: &mut String) {
        let (mut path, before) = (String::new(), out.len());
        write_filtered(json, &mut path, out, &mut |path, kind| {
            if self.named_selection.selects(path)
                || kind == JsonKind::Null && self.null_selection.selects(path)
            {
                FieldAction::Remove
            } else if self.named_selection.selects_below(path) || self.null_selection.selects_below(path) {
                FieldAction::Descend
            } else {
                FieldAction::Keep
            }
        });
        if out.len() == before {
            minify(json, out);
        }
    }
}

/// Appends a value at a dotted path without the fields that `strip` names, minified, and adds their paths
/// to `gone`. Appends nothing where nothing is left.
pub(crate) fn write_without_named(
    strip: &StripRule,
    json: &str,
    path: &str,
    out: &mut String,
    removed: &mut BTreeSet<String>,
) {
    let mut path = path.to_owned();
    write_filtered(json, &mut path, out, &mut |path, _| {
        if strip.strips(path) {
            removed.insert(path.to_owned());
            return FieldAction::Remove;
        }
        FieldAction::Descend
    });
}

/// Removes the paths from `nulls` that hold another value than `null` somewhere in the record.
fn retain_nulls(record: &str, nulls: &mut BTreeSet<String>) {
    if nulls.is_empty() {
        return;
    }
    let candidates: FieldSelection = nulls.iter().cloned().collect();
    visit_fields(record, |path, kind, _| {
        if kind != JsonKind::Null && candidates.selects(path) {
            nulls.remove(path);
        }
        candidates.selects_below(path)
    });
}

/// Returns the shortest prefix of a path that is stripped by name.
fn shortest_stripped_path(strip: &StripRule, path: &str) -> Option<String> {
    path_prefixes(path).find(|prefix| strip.strips(prefix)).map(str::to_owned)
}

/// Yields the prefixes of a dotted path, the shortest first, and the path itself.
fn path_prefixes(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('.').filter_map(|(at, _)| path.get(..at)).chain([path])
}

/// Fields that are noise if they are a small part of their records.
#[derive(Default)]
struct MinorFields {
    shares: BTreeMap<String, MinorShare>,
    /// Bytes of all records.
    record_bytes: usize,
    /// Offsets of the objects that were measured.
    measured: BTreeSet<usize>,
}

/// The size of a field, and what is beside it.
#[derive(Default)]
struct MinorShare {
    bytes: usize,
    /// True if it is the only text that names its object.
    is_only_name: bool,
}

impl MinorFields {
    /// Measures the cells of a row.
    fn add_row(&mut self, strip: &StripRule, columns: &[String], row: &str) {
        self.record_bytes += row.len();
        let cells = cell_spans(row).into_iter().map(|cell| cell.slice(row));
        self.measure(strip, &columns.iter().cloned().zip(cells).collect::<Vec<_>>());
    }

    /// Measures the fields of a record.
    fn add_record(&mut self, strip: &StripRule, record: &str) {
        self.measured.clear();
        self.record_bytes += record.len();
        visit_fields(record, |path, _, around| {
            let is_minor = strip.strips_if_minor(path);
            if is_minor {
                self.add(strip, record, path, around);
            }
            !is_minor
        });
    }

    /// Measures the fields of the object at an offset. `path`: that of one of them.
    fn add(&mut self, strip: &StripRule, json: &str, path: &str, object: usize) {
        if !self.measured.insert(object) {
            return;
        }
        let outer = path.rfind('.').map_or("", |dot| &path[..=dot]);
        let fields = members(json, Span::new(object, json.len()))
            .map(|member| (format!("{outer}{}", unescape(member.key.slice(json))), member.value.slice(json)));
        self.measure(strip, &fields.collect::<Vec<_>>());
    }

    /// Measures the fields of one object, paths with values.
    fn measure(&mut self, strip: &StripRule, fields: &[(String, &str)]) {
        let (minor, others): (Vec<_>, Vec<_>) =
            fields.iter().partition(|(path, _)| strip.strips_if_minor(path));
        let is_text = |value: &str| value.starts_with('"');
        let has_name = others.iter().any(|(path, value)| {
            let is_named = FieldNameHints::from_path(path).name_rank.is_some();
            is_text(value) && (is_named || is_phrase(value) && !strip.strips(path))
        });
        for (path, value) in minor {
            let share = self.shares.entry(path.clone()).or_default();
            share.bytes += value.len();
            share.is_only_name |= is_text(value) && !has_name;
        }
    }

    /// Returns the paths of those that are noise.
    fn into_noise(self) -> impl Iterator<Item = String> {
        let max = self.record_bytes / 2;
        let is_minor = move |share: &MinorShare| !share.is_only_name && share.bytes <= max;
        self.shares.into_iter().filter(move |(_, share)| is_minor(share)).map(|(path, _)| path)
    }
}

/// Returns true if a text consists of words.
fn is_phrase(text: &str) -> bool {
    text.contains(' ') && text.contains(|c: char| c.is_alphabetic())
}

/// A container that is being visited. It is small, because a document may consist of a million levels.
struct VisitedContainer {
    is_object: bool,
    /// Offset of its start.
    start: u32,
    /// Length in bytes of the path to it.
    path_len: u32,
}

/// A container that is being written.
struct ContainerFrame {
    is_object: bool,
    /// Length in bytes of the path to it.
    path_len: usize,
    /// True while nothing has been written in it.
    is_output_empty: bool,
    /// Offsets of its start in the input and in the output.
    input_start: usize,
    output_start: usize,
    /// Offset in the output of its key, or of the comma before the key.
    key_start: usize,
    /// True if it has members or items.
    has_members: bool,
}

/// Visits the fields of a value with the offsets of their objects, including those in nested arrays and objects for which
/// `visit` returns true.
fn visit_fields(json: &str, mut visit: impl FnMut(&str, JsonKind, usize) -> bool) {
    let mut reader = JsonReader::new(json);
    let (mut path, mut frames) = (String::new(), Vec::new());
    let mut open = reader.peek().is_ok_and(JsonKind::is_container);
    loop {
        if open {
            let object = reader.peek() == Ok(JsonKind::Object);
            let start = u32::try_from(reader.at()).unwrap_or(u32::MAX);
            let entered = if object { reader.enter_object() } else { reader.enter_array() };
            if entered.is_err() {
                return;
            }
            let path_len = u32::try_from(path.len()).unwrap_or(u32::MAX);
            frames.push(VisitedContainer { is_object: object, start, path_len });
            open = false;
        }
        let Some(frame) = frames.last() else { return };
        path.truncate(frame.path_len as usize);
        let start = frame.start as usize;
        let more = if frame.is_object {
            next_member(&mut reader, &mut path).map(|key| key.is_some())
        } else {
            reader.next_item().ok()
        };
        match more {
            Some(true) => {}
            Some(false) => {
                frames.pop();
                continue;
            }
            None => return,
        }
        let Ok(kind) = reader.peek() else { return };
        let into = !frame.is_object || visit(&path, kind, start);
        open = into && kind.is_container();
        if !open && reader.skip().is_err() {
            return;
        }
    }
}

/// The treatment of a field.
enum FieldAction {
    Remove,
    /// Keep it, and examine the fields inside.
    Descend,
    Keep,
}

/// Appends a value without the fields to remove, minified; appends nothing where nothing is left of it.
/// The values inside an array keep their places.
///
/// A container that had members never becomes an empty one: an emptied member is removed as well, an
/// emptied item of an array is written whole.
fn write_filtered(
    json: &str,
    path: &mut String,
    out: &mut String,
    action: &mut dyn FnMut(&str, JsonKind) -> FieldAction,
) {
    let mut reader = JsonReader::new(json);
    let mut frames: Vec<ContainerFrame> = Vec::new();
    let mut next_action = FieldAction::Descend;
    let mut key_at = out.len();
    loop {
        let Ok(kind) = reader.peek() else { return };
        if kind.is_container() && matches!(next_action, FieldAction::Descend) {
            let (object, read) = (kind == JsonKind::Object, reader.at());
            let entered = if object { reader.enter_object() } else { reader.enter_array() };
            if entered.is_err() {
                return;
            }
            let (path, written) = (path.len(), out.len());
            frames.push(ContainerFrame {
                is_object: object,
                path_len: path,
                is_output_empty: true,
                input_start: read,
                output_start: written,
                key_start: key_at,
                has_members: false,
            });
            out.push(if object { '{' } else { '[' });
        } else {
            let Ok(value) = reader.skip() else { return };
            minify(reader.text(value), out);
        }
        // Advance to the next value that stays.
        loop {
            let Some(frame) = frames.last_mut() else { return };
            path.truncate(frame.path_len);
            let key = if frame.is_object {
                next_member(&mut reader, path)
            } else {
                reader.next_item().ok().map(|more| more.then_some(""))
            };
            let Some(key) = key else { return };
            let Some(key) = key else {
                out.push(if frame.is_object { '}' } else { ']' });
                if let Some(closed) =
                    frames.pop().filter(|closed| closed.is_output_empty && closed.has_members)
                {
                    close_emptied_container(json, &closed, reader.at(), frames.last_mut(), out);
                }
                continue;
            };
            frame.has_members = true;
            let Ok(kind) = reader.peek() else { return };
            next_action = if frame.is_object { action(path, kind) } else { FieldAction::Descend };
            if matches!(next_action, FieldAction::Remove) {
                if reader.skip().is_err() {
                    return;
                }
                continue;
            }
            key_at = out.len();
            if !std::mem::take(&mut frame.is_output_empty) {
                out.push(',');
            }
            if frame.is_object {
                out.push_str(key);
                out.push(':');
            }
            break;
        }
    }
}

/// Handles a container of which nothing is left, and which ends at byte `end` of the input.
fn close_emptied_container(
    json: &str,
    closed: &ContainerFrame,
    end: usize,
    around: Option<&mut ContainerFrame>,
    out: &mut String,
) {
    match around {
        Some(around) if around.is_object => {
            out.truncate(closed.key_start);
            around.is_output_empty = out.ends_with('{') && out.len() == around.output_start + 1;
        }
        Some(_) => {
            out.truncate(closed.output_start);
            minify(json.get(closed.input_start..end).unwrap_or("{}"), out);
        }
        None => out.truncate(closed.output_start),
    }
}

/// Reads the next key of an object, quotes included, and appends it to the path; `Some(None)` where the
/// object ends, `None` where the text is not JSON.
#[expect(clippy::option_option, reason = "an end and an error are told apart")]
fn next_member<'a>(reader: &mut JsonReader<'a>, path: &mut String) -> Option<Option<&'a str>> {
    let Some(key) = reader.next_key().ok()? else { return Some(None) };
    if !path.is_empty() {
        path.push('.');
    }
    unescape_into(reader.text(key), path);
    Some(Some(reader.text(key)))
}

#[cfg(test)]
mod tests {
    use super::{NoiseFields, write_without_named};
    use crate::policy::StripRule;
    use crate::snapshot::{IndexedText, Slice, Structure};

    fn check(names: &[&str], object: &str, expect: &str) {
        let noise = NoiseFields::in_object(&StripRule::from_names(names.iter().copied()), object);
        let mut out = String::new();
        noise.write_without(object, &mut out);
        assert_eq!(out, expect, "{noise:?}");
    }

    #[test]
    fn fields_are_removed_at_any_depth() {
        check(
            &["x"],
            r#"{"x": 1, "a": [ {"x": 2}, {"b": {"x": 3, "c": 4}}, 5 ]}"#,
            r#"{"a":[{"x":2},{"b":{"c":4}},5]}"#,
        );
        check(&["a.x"], r#"{"x":1,"a":{"x":2},"b":{"a":[{"x":3,"y":1}]}}"#, r#"{"x":1,"b":{"a":[{"y":1}]}}"#);
        // A container that had members never looks empty.
        check(&["x"], r#"{"a":{"b":{"x":1}},"c":{}, "d":2}"#, r#"{"c":{},"d":2}"#);
        check(
            &["x"],
            r#"{"a":1,"b":[{"x":1},{"x":1,"y":{"x":2}}],"c":{"x":1}}"#,
            r#"{"a":1,"b":[{"x":1},{"x":1,"y":{"x":2}}]}"#,
        );
        check(&["é"], r#"{"\u00e9":1,"a":2}"#, r#"{"a":2}"#);
        check(&["x"], r#"{"a":1e400,"x":{"x":1},"b":"x"}"#, r#"{"a":1e400,"b":"x"}"#);
    }

    #[test]
    fn fields_that_are_always_null_are_removed() {
        check(
            &["null-only"],
            r#"{"a":null,"b":[{"c":null,"d":1},{"c":null,"d":null}],"e":[null]}"#,
            r#"{"b":[{"d":1},{"d":null}],"e":[null]}"#,
        );
        check(&["null-only"], r#"{"a":1,"a":null}"#, r#"{"a":1,"a":null}"#);
    }

    #[test]
    fn an_object_of_noise_alone_stays() {
        check(&["x"], r#"{"x":{"y":1}}"#, r#"{"x":{"y":1}}"#);
        check(&["*"], "[1,[]]", "[1,[]]");
    }

    /// Checks what is left of an object, alone and as the records of a list.
    fn check_default(object: &str, expect: &str) {
        let strip = StripRule::default_noise();
        let shown = |noise: &NoiseFields| {
            let mut out = String::new();
            noise.write_without(object, &mut out);
            out
        };
        assert_eq!(shown(&NoiseFields::in_object(&strip, object)), expect, "object {object}");
        let text = Slice::new(format!("[{object},{object}]"));
        let Structure::List(list) = &IndexedText::from_payload(text.clone()).structure else {
            panic!("no list")
        };
        assert_eq!(shown(&NoiseFields::in_list(&strip, &text, list)), expect, "records {object}");
    }

    #[test]
    fn debugging_data_is_noise_only_where_it_is_small() {
        let title = r#""title":"An order of two chairs and a table","city":"Annecy""#;
        check_default(&format!(r#"{{"id":7,{title},"trace":"a1b2"}}"#), &format!(r#"{{"id":7,{title}}}"#));
        check_default(
            &format!(r#"{{"id":7,{title},"debug":{{"ms":3}}}}"#),
            &format!(r#"{{"id":7,{title}}}"#),
        );
        let span = r#"{"op":"a","ms":1},"#.repeat(9);
        let spans = format!("\"trace\":[{span}{{}}]");
        for content in [
            format!(r#"{{"id":7,"ok":true,{spans}}}"#),
            format!(r#"{{"id":7,{title},{spans}}}"#),
            // The only name of a record.
            r#"{"id":123456,"started":"2025-01-01T10:00:00Z","ended":"2025-01-01T10:00:03Z","ms":3000,"trace":"POST /a"}"#.to_owned(),
        ] {
            check_default(&content, &content);
        }
        // Names that an operator gives are always noise.
        check(&["trace"], &format!(r#"{{"ok":true,{spans}}}"#), r#"{"ok":true}"#);
    }

    #[test]
    fn metadata_beside_data_are_noise() {
        check_default(
            r#"{"$schema":"https://x/y.json","id":7,"etag":"W/\"1\"","message":"It broke.","stack_trace":"at a.b(c.rs:1)\nat d.e(f.rs:2)\nat main"}"#,
            r#"{"id":7,"message":"It broke."}"#,
        );
    }

    #[test]
    fn a_nested_field_is_removed_by_its_whole_path() {
        let (mut out, mut removed) = (String::new(), std::collections::BTreeSet::new());
        write_without_named(
            &StripRule::from_names(["meta.debug"]),
            r#"{"debug":1,"n":2}"#,
            "meta",
            &mut out,
            &mut removed,
        );
        assert_eq!(
            (out.as_str(), removed.into_iter().collect::<Vec<_>>()),
            (r#"{"n":2}"#, vec!["meta.debug".to_owned()])
        );
    }
}

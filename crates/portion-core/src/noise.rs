//! What is left out of a view as noise: which fields of the records of a list, or of an object, and what they are
//! without them.
//!
//! Of a list that is decided once, by the fields that its sample shows, so that every page leaves out the same.

use std::collections::BTreeSet;

use crate::policy::Strip;
use crate::projection::Fields;
use crate::scan::{Kind, Reader, decode, minify};
use crate::snapshot::{Layout, List, cells};

/// Fields that are left out of records alike, as dotted paths.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Noise {
    /// Those that go by their names.
    pub named: Vec<String>,
    /// Those that go wherever they hold `null`, which they do in all that was looked at.
    pub nulls: Vec<String>,
    by_name: Fields,
    where_null: Fields,
}

impl Noise {
    /// The noise in the records of a list of that text.
    pub(crate) fn of_list(strip: &Strip, text: &str, list: &List) -> Self {
        if strip.is_empty() {
            return Self::default();
        }
        let fields = || list.profile.fields.iter().map(|field| field.path.as_str());
        let named = fields().filter_map(|path| taken(strip, path)).collect();
        let nulls = match (&list.layout, strip.takes_nulls()) {
            (_, false) => &[],
            // A column goes from every row.
            (Layout::Table { .. }, true) => list.null_columns(text),
            (_, true) => &list.profile.nulls[..],
        };
        let noise = Self::new(named, nulls.iter().cloned().collect());
        // Where all is noise, it is what was asked for.
        if fields().all(|path| noise.takes(path)) { Self::default() } else { noise }
    }

    /// The noise in an object.
    pub(crate) fn of_object(strip: &Strip, object: &str) -> Self {
        if strip.is_empty() {
            return Self::default();
        }
        let (mut named, mut nulls) = (BTreeSet::new(), BTreeSet::new());
        walk(object, |path, kind| {
            if strip.takes(path) {
                named.insert(path.to_owned());
                return false;
            }
            if kind == Kind::Null && strip.takes_nulls() {
                nulls.insert(path.to_owned());
            }
            true
        });
        keep_nulls(object, &mut nulls);
        let noise = Self::new(named, nulls);
        let mut all = true;
        walk(object, |path, _| {
            all &= noise.takes(path);
            false
        });
        if all { Self::default() } else { noise }
    }

    fn new(named: BTreeSet<String>, nulls: BTreeSet<String>) -> Self {
        let (by_name, where_null) = (named.iter().cloned().collect(), nulls.iter().cloned().collect());
        let (named, nulls) = (named.into_iter().collect(), nulls.into_iter().collect());
        Self { named, nulls, by_name, where_null }
    }

    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.named.is_empty() && self.nulls.is_empty()
    }

    /// Whether the field at a dotted path is left out, be it with what is around it.
    pub(crate) fn takes(&self, path: &str) -> bool {
        self.takes_by_name(path) || !self.nulls.is_empty() && self.where_null.wants(path)
    }

    /// The same, by its name.
    pub(crate) fn takes_by_name(&self, path: &str) -> bool {
        !self.named.is_empty() && ways(path).any(|way| self.by_name.wants(way))
    }

    /// Appends a value without its noise, minified.
    pub(crate) fn without(&self, json: &str, out: &mut String) {
        let (mut path, before) = (String::new(), out.len());
        omit(json, &mut path, out, &mut |path, kind| {
            if self.by_name.wants(path) || kind == Kind::Null && self.where_null.wants(path) {
                Fate::Gone
            } else if self.by_name.wants_below(path) || self.where_null.wants_below(path) {
                Fate::Inside
            } else {
                Fate::Whole
            }
        });
        if out.len() == before {
            minify(json, out);
        }
    }
}

/// Appends a value at a dotted path without what goes by its name, minified, and names what went; nothing where nothing is
/// left of it.
pub(crate) fn without_named(
    strip: &Strip,
    json: &str,
    path: &str,
    out: &mut String,
    gone: &mut BTreeSet<String>,
) {
    let mut path = path.to_owned();
    omit(json, &mut path, out, &mut |path, _| {
        if strip.takes(path) {
            gone.insert(path.to_owned());
            return Fate::Gone;
        }
        Fate::Inside
    });
}

/// Leaves those paths that hold `null` wherever a record has them.
fn keep_nulls(record: &str, nulls: &mut BTreeSet<String>) {
    if nulls.is_empty() {
        return;
    }
    let candidates: Fields = nulls.iter().cloned().collect();
    walk(record, |path, kind| {
        if kind != Kind::Null && candidates.wants(path) {
            nulls.remove(path);
        }
        candidates.wants_below(path)
    });
}

/// Of columns that are `null` in a sample of a table, those that are in every row.
pub(crate) fn null_columns(text: &str, list: &List) -> Vec<String> {
    let Layout::Table { columns, .. } = &list.layout else { return Vec::new() };
    let mut nulls: BTreeSet<String> = list.profile.nulls.iter().cloned().collect();
    for item in list.iter_from(text, 0) {
        if nulls.is_empty() {
            break;
        }
        let row = item.value.of(text);
        for (name, _) in columns.iter().zip(cells(row)).filter(|(_, cell)| cell.of(row) != "null") {
            nulls.remove(name);
        }
    }
    nulls.into_iter().collect()
}

/// The shortest way to a field that goes by its name.
fn taken(strip: &Strip, path: &str) -> Option<String> {
    ways(path).find(|way| strip.takes(way)).map(str::to_owned)
}

/// A dotted path and those that lead to it, the shortest first.
fn ways(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('.').filter_map(|(at, _)| path.get(..at)).chain([path])
}

/// Where a walk is inside of.
#[derive(Default)]
struct Frame {
    object: bool,
    /// Bytes of the path to it.
    path: usize,
    /// Whether nothing was written in it yet.
    empty: bool,
    /// Where it begins in what is read, and in what is written.
    read: usize,
    written: usize,
    /// Where its key, or the comma before that, begins in what is written.
    key: usize,
    /// Whether it has anything in it.
    filled: bool,
}

/// Visits the fields of a value, those in arrays and objects inside included, as long as `visit` says to go inside.
fn walk(json: &str, mut visit: impl FnMut(&str, Kind) -> bool) {
    let mut reader = Reader::new(json);
    let (mut path, mut frames) = (String::new(), Vec::new());
    let mut open = reader.peek().is_ok_and(Kind::is_container);
    loop {
        if open {
            let object = reader.peek() == Ok(Kind::Object);
            let entered = if object { reader.enter_object() } else { reader.enter_array() };
            if entered.is_err() {
                return;
            }
            frames.push(Frame { object, path: path.len(), ..Frame::default() });
            open = false;
        }
        let Some(frame) = frames.last() else { return };
        path.truncate(frame.path);
        let more = if frame.object {
            named(&mut reader, &mut path).map(|key| key.is_some())
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
        let into = !frame.object || visit(&path, kind);
        open = into && kind.is_container();
        if !open && reader.skip().is_err() {
            return;
        }
    }
}

/// What becomes of a field.
enum Fate {
    Gone,
    /// Looked into for others.
    Inside,
    Whole,
}

/// Appends a value without the fields that are to go, minified; nothing where nothing is left of it. What is inside of an
/// array keeps its place.
///
/// What has something in it never looks empty: a member of which nothing is left goes too, an item of an array stays whole.
fn omit(json: &str, path: &mut String, out: &mut String, fate: &mut dyn FnMut(&str, Kind) -> Fate) {
    let mut reader = Reader::new(json);
    let mut frames: Vec<Frame> = Vec::new();
    let mut fated = Fate::Inside;
    let mut key_at = out.len();
    loop {
        let Ok(kind) = reader.peek() else { return };
        if kind.is_container() && matches!(fated, Fate::Inside) {
            let (object, read) = (kind == Kind::Object, reader.at());
            let entered = if object { reader.enter_object() } else { reader.enter_array() };
            if entered.is_err() {
                return;
            }
            let (path, written) = (path.len(), out.len());
            frames.push(Frame { object, path, empty: true, read, written, key: key_at, filled: false });
            out.push(if object { '{' } else { '[' });
        } else {
            let Ok(value) = reader.skip() else { return };
            minify(reader.text(value), out);
        }
        // On to the next value that stays.
        loop {
            let Some(frame) = frames.last_mut() else { return };
            path.truncate(frame.path);
            let key = if frame.object {
                named(&mut reader, path)
            } else {
                reader.next_item().ok().map(|more| more.then_some(""))
            };
            let Some(key) = key else { return };
            let Some(key) = key else {
                out.push(if frame.object { '}' } else { ']' });
                if let Some(closed) = frames.pop().filter(|closed| closed.empty && closed.filled) {
                    emptied(json, &closed, reader.at(), frames.last_mut(), out);
                }
                continue;
            };
            frame.filled = true;
            let Ok(kind) = reader.peek() else { return };
            fated = if frame.object { fate(path, kind) } else { Fate::Inside };
            if matches!(fated, Fate::Gone) {
                if reader.skip().is_err() {
                    return;
                }
                continue;
            }
            key_at = out.len();
            if !std::mem::take(&mut frame.empty) {
                out.push(',');
            }
            if frame.object {
                out.push_str(key);
                out.push(':');
            }
            break;
        }
    }
}

/// Deals with a container of which nothing is left, and which ends at byte `end` of what is read.
fn emptied(json: &str, closed: &Frame, end: usize, around: Option<&mut Frame>, out: &mut String) {
    match around {
        Some(around) if around.object => {
            out.truncate(closed.key);
            around.empty = out.ends_with('{') && out.len() == around.written + 1;
        }
        Some(_) => {
            out.truncate(closed.written);
            minify(json.get(closed.read..end).unwrap_or("{}"), out);
        }
        None => out.truncate(closed.written),
    }
}

/// The next key of an object, quotes included, which the path then leads to; `Some(None)` where the object ends, `None`
/// where the text is no JSON.
#[expect(clippy::option_option, reason = "an end and an error are told apart")]
fn named<'a>(reader: &mut Reader<'a>, path: &mut String) -> Option<Option<&'a str>> {
    let Some(key) = reader.next_key().ok()? else { return Some(None) };
    if !path.is_empty() {
        path.push('.');
    }
    decode(reader.text(key), path);
    Some(Some(reader.text(key)))
}

#[cfg(test)]
mod tests {
    use super::{Noise, without_named};
    use crate::policy::Strip;

    fn check(names: &[&str], object: &str, expect: &str) {
        let noise = Noise::of_object(&Strip::of(names.iter().copied()), object);
        let mut out = String::new();
        noise.without(object, &mut out);
        assert_eq!(out, expect, "{noise:?}");
    }

    #[test]
    fn fields_go_wherever_they_are() {
        check(
            &["x"],
            r#"{"x": 1, "a": [ {"x": 2}, {"b": {"x": 3, "c": 4}}, 5 ]}"#,
            r#"{"a":[{"x":2},{"b":{"c":4}},5]}"#,
        );
        check(&["a.x"], r#"{"x":1,"a":{"x":2},"b":{"a":[{"x":3,"y":1}]}}"#, r#"{"x":1,"b":{"a":[{"y":1}]}}"#);
        // What has something in it never looks empty.
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
    fn what_is_nothing_but_null_goes() {
        check(
            &["null-only"],
            r#"{"a":null,"b":[{"c":null,"d":1},{"c":null,"d":null}],"e":[null]}"#,
            r#"{"b":[{"d":1},{"d":null}],"e":[null]}"#,
        );
        check(&["null-only"], r#"{"a":1,"a":null}"#, r#"{"a":1,"a":null}"#);
    }

    #[test]
    fn where_all_is_noise_it_stays() {
        check(&["x"], r#"{"x":{"y":1}}"#, r#"{"x":{"y":1}}"#);
        check(&["*"], "[1,[]]", "[1,[]]");
    }

    #[test]
    fn what_stands_in_an_object_goes_by_its_whole_path() {
        let (mut out, mut gone) = (String::new(), std::collections::BTreeSet::new());
        without_named(&Strip::of(["meta.debug"]), r#"{"debug":1,"n":2}"#, "meta", &mut out, &mut gone);
        assert_eq!(
            (out.as_str(), gone.into_iter().collect::<Vec<_>>()),
            (r#"{"n":2}"#, vec!["meta.debug".to_owned()])
        );
    }
}

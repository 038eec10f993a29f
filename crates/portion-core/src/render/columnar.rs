//! Shows the first items of an object of columns: `{"id":[1,2,…],"city":["Oslo","Rome",…]}`.

use std::collections::HashSet;

use portion_json::json_pointer::step_from_quoted;
use portion_json::scan::{JsonKind, JsonReader, unescape};
use portion_json::span::Span;

use super::budget::RemainingBudget;
use crate::snapshot::{Member, ObjectIndex};

/// Smallest number of columns and of their items.
const MIN_COLUMNS: usize = 2;
const MIN_ITEMS: usize = 4;
/// Numbers of items that are shown, in the order of attempts.
const SHOWN_ITEMS: [usize; 4] = [10, 5, 3, 1];

/// The arrays of an object that are the columns of a table.
pub(super) struct Columns<'a> {
    text: &'a str,
    members: &'a [Member],
    /// The members that are columns, with their first items.
    arrays: Vec<(&'a Member, Vec<Span>)>,
}

impl<'a> Columns<'a> {
    /// Detects the columns of an object: most of it are arrays of equal length of strings, numbers and the like.
    pub(super) fn detect(text: &'a str, object: &'a ObjectIndex) -> Option<Self> {
        let listed = &object.listed;
        let arrays: Vec<&Member> = listed.iter().filter(|member| member.kind == JsonKind::Array).collect();
        let bytes: usize = arrays.iter().map(|member| member.value.len()).sum();
        let names: HashSet<String> = listed.iter().map(|member| unescape(member.key.slice(text))).collect();
        let is_whole = names.len() == object.len();
        if arrays.len() < MIN_COLUMNS || bytes * 4 < object.span.len() * 3 || !is_whole {
            return None;
        }
        let mut columns = Vec::new();
        let mut item_count = None;
        for member in arrays {
            let (first, count) = scalar_items(text, member)?;
            if *item_count.get_or_insert(count) != count {
                return None;
            }
            columns.push((member, first));
        }
        item_count.filter(|count| *count >= MIN_ITEMS)?;
        Some(Self { text, members: listed, arrays: columns })
    }

    /// Returns a summary of the object with as many of the first items as fit of each array that it leaves out.
    pub(super) fn with_first_items(&self, summary: &str, room: &RemainingBudget<'_>) -> Option<String> {
        let shown = ObjectIndex::parse(&mut JsonReader::new(summary)).ok()?;
        SHOWN_ITEMS.iter().map(|count| self.written(summary, &shown, *count)).find(|body| room.fits(body))
    }

    /// Returns the paths of the columns.
    pub(super) fn paths(&self) -> Vec<String> {
        let path = |(member, _): &(&Member, _)| format!("/{}", step_from_quoted(member.key.slice(self.text)));
        self.arrays.iter().map(path).filter(|path| !path.contains('\'')).collect()
    }

    fn written(&self, summary: &str, shown: &ObjectIndex, count: usize) -> String {
        let mut members = Vec::new();
        for member in self.members {
            let key = member.key.slice(self.text);
            if let Some(own) = shown.get(summary, &unescape(key)) {
                members.push(format!("{key}:{}", own.value.slice(summary)));
            } else if let Some((_, items)) = self.arrays.iter().find(|(array, _)| array.key == member.key) {
                let items: Vec<&str> = items.iter().take(count).map(|item| item.slice(self.text)).collect();
                members.push(format!("{key}:[{}]", items.join(",")));
            }
        }
        format!("{{{}}}", members.join(","))
    }
}

/// Returns the first items of an array, and their number; `None` if one is an object or an array.
fn scalar_items(text: &str, member: &Member) -> Option<(Vec<Span>, usize)> {
    let mut reader = JsonReader::resume(text, member.value.start as usize);
    reader.enter_array().ok()?;
    let (mut first, mut count) = (Vec::new(), 0);
    while reader.next_item().ok()? {
        if reader.peek().ok()?.is_container() {
            return None;
        }
        let item = reader.skip().ok()?;
        if count < SHOWN_ITEMS[0] {
            first.push(item);
        }
        count += 1;
    }
    Some((first, count))
}

#[cfg(test)]
mod tests {
    use portion_json::scan::JsonReader;

    use super::Columns;
    use crate::snapshot::ObjectIndex;

    /// Compares a summary of an object, completed by the first three items of each array, and the paths of the columns; nothing
    /// if it has no columns.
    fn check(text: &str, summary: &str, expect: &str, paths: &[&str]) {
        let parse = |text: &str| ObjectIndex::parse(&mut JsonReader::new(text)).expect("an object");
        let (object, shown) = (parse(text), parse(summary));
        let columns = Columns::detect(text, &object);
        let written = columns.as_ref().map_or(String::new(), |columns| columns.written(summary, &shown, 3));
        assert_eq!(written, expect, "{text}");
        assert_eq!(columns.map_or_else(Vec::new, |columns| columns.paths()), paths, "{text}");
    }

    #[test]
    fn the_first_items_of_columns_are_shown() {
        let columns = r#"{"id": [1, 2, 3, 4, 5, 6, 7, 8], "at/b": ["a", "b", null, "d", "e", "f", "a longer one", "a longer one of them, by far"], "unit": 1}"#;
        check(
            columns,
            r#"{"unit":1,"…":"[+99 chars]"}"#,
            r#"{"id":[1,2,3],"at/b":["a","b",null],"unit":1}"#,
            &["/id", "/at~1b"],
        );
        // An array that the summary shows stays whole.
        check(
            columns,
            r#"{"id":[1,2,3,4,5,6,7,8],"…":"[+99 chars]"}"#,
            r#"{"id":[1,2,3,4,5,6,7,8],"at/b":["a","b",null]}"#,
            &["/id", "/at~1b"],
        );
        for other in [
            r#"{"id":[1,2,3,4,5],"city":["a","b"]}"#,
            r#"{"id":[1,2,3,4,5],"rows":[{},{},{},{},{}]}"#,
            r#"{"id":[1,2],"n":[1,2]}"#,
            r#"{"id":[1,2,3,4],"id":[1,2,3,4]}"#,
            r#"{"id":[1,2,3,4],"n":[1,2,3,4],"text":"long long long long long"}"#,
            "{}",
        ] {
            check(other, "{}", "", &[]);
        }
    }
}

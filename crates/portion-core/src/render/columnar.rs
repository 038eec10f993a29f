//! Shows the first items of an object of columns: `{"id":[1,2,…],"city":["Oslo","Rome",…]}`.

use portion_json::scan::{JsonReader, unescape};
use portion_json::span::Span;

use super::budget::RemainingBudget;
use crate::snapshot::{ColumnArrays, Member, ObjectIndex};

/// Numbers of items that are shown, in the order of attempts.
const SHOWN_ITEMS: [usize; 4] = [10, 5, 3, 1];

/// The arrays of an object that are the columns of a table.
pub(super) struct Columns<'a> {
    text: &'a str,
    members: &'a [Member],
    /// The members that are columns, with their first items.
    arrays: Vec<(Member, Vec<Span>)>,
}

impl<'a> Columns<'a> {
    /// Detects the columns of an object: most of it are arrays of equal length of strings, numbers and the like.
    pub(super) fn detect(text: &'a str, object: &'a ObjectIndex) -> Option<Self> {
        let is_whole = object.listed.len() == object.len();
        let table = ColumnArrays::detect(text, &object.listed).filter(|_| is_whole)?;
        let bytes: usize = table.columns.iter().map(|column| column.value.len()).sum();
        if bytes * 4 < object.span.len() * 3 {
            return None;
        }
        let first_items = |column: &Member| ColumnArrays::items(text, column, SHOWN_ITEMS[0]);
        let arrays = table.columns.iter().map(|column| (*column, first_items(column))).collect();
        Some(Self { text, members: &object.listed, arrays })
    }

    /// Returns a summary of the object with as many of the first items as fit of each array that it leaves out.
    pub(super) fn with_first_items(&self, summary: &str, room: &RemainingBudget<'_>) -> Option<String> {
        let shown = ObjectIndex::parse(&mut JsonReader::new(summary)).ok()?;
        SHOWN_ITEMS.iter().map(|count| self.written(summary, &shown, *count)).find(|body| room.fits(body))
    }

    /// Returns the names of the columns.
    pub(super) fn names(&self) -> Vec<String> {
        self.arrays.iter().map(|(member, _)| unescape(member.key.slice(self.text))).collect()
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

#[cfg(test)]
mod tests {
    use portion_json::scan::JsonReader;

    use super::Columns;
    use crate::snapshot::ObjectIndex;

    /// Compares a summary of an object, completed by the first three items of each array, and the names of the columns; nothing
    /// if it has no columns.
    fn check(text: &str, summary: &str, expect: &str, names: &[&str]) {
        let parse = |text: &str| ObjectIndex::parse(&mut JsonReader::new(text)).expect("an object");
        let (object, shown) = (parse(text), parse(summary));
        let columns = Columns::detect(text, &object);
        let written = columns.as_ref().map_or(String::new(), |columns| columns.written(summary, &shown, 3));
        assert_eq!(written, expect, "{text}");
        assert_eq!(columns.map_or_else(Vec::new, |columns| columns.names()), names, "{text}");
    }

    #[test]
    fn the_first_items_of_columns_are_shown() {
        let columns = r#"{"id": [1, 2, 3, 4, 5, 6, 7, 8], "at/b": ["a", "b", null, "d", "e", "f", "a longer one", "a longer one of them, by far"], "unit": 1}"#;
        check(
            columns,
            r#"{"unit":1,"…":"[+99 chars]"}"#,
            r#"{"id":[1,2,3],"at/b":["a","b",null],"unit":1}"#,
            &["id", "at/b"],
        );
        // An array that the summary shows stays whole.
        check(
            columns,
            r#"{"id":[1,2,3,4,5,6,7,8],"…":"[+99 chars]"}"#,
            r#"{"id":[1,2,3,4,5,6,7,8],"at/b":["a","b",null]}"#,
            &["id", "at/b"],
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

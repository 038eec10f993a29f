//! Joins the responses of one call to several paths into one list.

use portion_json::containers::{items, members};
use portion_json::scan::{JsonKind, JsonReader, quote, unescape};
use portion_json::span::Span;
use portion_policy::page_names::{NEXT_NAMES, TOTAL_NAMES};

/// An object with one list, and facts about the page.
struct Page<'a> {
    text: &'a str,
    list_name: String,
    list: Span,
    /// Number of items of the whole list.
    total: Option<(Span, u64)>,
    /// Member that leads to the next page, and true if it has a value.
    next: Option<(Span, bool)>,
}

/// Joins pages: the items of all in order, the sum of their totals, and the next page if one of them has any. Everything
/// else is that of the first. `absent`: paths that do not exist; the result names them. Returns `None` if a text is not an
/// object with one list, or if the lists have different names.
pub(super) fn join(texts: &[String], absent: &[String]) -> Option<String> {
    let pages: Vec<Page<'_>> = texts.iter().map(|text| Page::read(text)).collect::<Option<_>>()?;
    let first = pages.first()?;
    if pages.iter().any(|page| page.list_name != first.list_name) {
        return None;
    }
    let rows: Vec<&str> =
        pages.iter().flat_map(|page| items(page.text, page.list).map(|item| item.slice(page.text))).collect();
    let mut edits = vec![(first.list, format!("[{}]", rows.join(",")))];
    if let Some((place, _)) = first.total {
        let sum: Option<u64> = pages.iter().map(|page| page.total.map(|(_, count)| count)).sum();
        edits.push((place, sum?.to_string()));
    }
    let next = pages.iter().find_map(|page| {
        page.next.filter(|(_, is_given)| *is_given).map(|(place, _)| place.slice(page.text))
    });
    match (first.next, next) {
        (Some((place, _)), Some(next)) => edits.push((place, next.to_owned())),
        (None, Some(_)) => return None,
        _ => {}
    }
    if !absent.is_empty() {
        let paths: Vec<String> = absent.iter().map(|path| quote(path)).collect();
        let end = first.text.trim_end().len() - 1;
        edits.push((Span::new(end, end), format!(",\"notFound\":[{}]", paths.join(","))));
    }
    Some(spliced(first.text, edits))
}

impl<'a> Page<'a> {
    fn read(text: &'a str) -> Option<Self> {
        let mut reader = JsonReader::new(text);
        let is_object = reader.peek() == Ok(JsonKind::Object);
        let root = reader.skip().ok().filter(|_| is_object)?;
        reader.expect_end().ok()?;
        let (mut lists, mut total, mut next) = (Vec::new(), None, None);
        for member in members(text, root) {
            let name = unescape(member.key.slice(text));
            let value = member.value.slice(text);
            if JsonKind::of_value(value) == JsonKind::Array {
                lists.push((name, member.value));
            } else if let Some(count) = value.parse().ok().filter(|_| TOTAL_NAMES.contains(&name.as_str())) {
                total = Some((member.value, count));
            } else if NEXT_NAMES.contains(&name.as_str()) {
                next = Some((member.value, !matches!(value, "null" | "false" | "\"\"")));
            }
        }
        let [(list_name, list)] = <[_; 1]>::try_from(lists).ok()?;
        Some(Self { text, list_name, list, total, next })
    }
}

fn spliced(text: &str, mut edits: Vec<(Span, String)>) -> String {
    edits.sort_by_key(|(place, _)| place.start);
    let mut written =
        String::with_capacity(text.len() + edits.iter().map(|(_, new)| new.len()).sum::<usize>());
    let mut at = 0;
    for (place, new) in edits {
        written.push_str(&text[at..place.start as usize]);
        written.push_str(&new);
        at = place.end as usize;
    }
    written.push_str(&text[at..]);
    written
}

#[cfg(test)]
mod tests {
    use super::join;

    fn check(texts: &[&str], absent: &[&str], expect: Option<&str>) {
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        assert_eq!(join(&owned(texts), &owned(absent)).as_deref(), expect, "{texts:?}");
    }

    #[test]
    fn lists_totals_and_next_pages_are_joined() {
        check(
            &[
                r#"{ "count": 2, "next": null, "previous": null, "results": [{"g":9, "n":1.0}, {"g":9}] }"#,
                r#"{"count":3,"next":"/?page=2","results":[ {"g":10} ]}"#,
            ],
            &[],
            Some(
                r#"{ "count": 5, "next": "/?page=2", "previous": null, "results": [{"g":9, "n":1.0},{"g":9},{"g":10}] }"#,
            ),
        );
        check(
            &[r#"{"results":[]}"#, r#"{"results":[1]}"#],
            &["/b/"],
            Some(r#"{"results":[1],"notFound":["/b/"]}"#),
        );
        check(&[r#"{"results":[1]} "#], &["/b/"], Some(r#"{"results":[1],"notFound":["/b/"]} "#));
    }

    #[test]
    fn what_has_no_common_list_is_not_joined() {
        for other in
            ["[1]", "7", "{}", "not JSON", r#"{"a":[],"b":[]}"#, r#"{"rows":[]}"#, r#"{"results":[1]"#]
        {
            check(&[r#"{"results":[1]}"#, other], &[], None);
            check(&[other, r#"{"results":[1]}"#], &[], None);
        }
        // A total or a next page that the first one has no place for.
        check(&[r#"{"count":1,"results":[1]}"#, r#"{"results":[1]}"#], &[], None);
        check(&[r#"{"results":[1]}"#, r#"{"next":"x","results":[1]}"#], &[], None);
    }
}

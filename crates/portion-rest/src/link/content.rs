//! Turns the response of an API, or the joined responses of one call to several paths, into the content of a tool result.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::header::{CONTENT_TYPE, HeaderMap, SET_COOKIE};
use portion_core::page_names::{leads_on, may_be_total, words};
use portion_json::containers::{items, members};
use portion_json::scan::{JsonKind, JsonReader, quote, unescape};
use portion_json::span::Span;

use crate::media_type::decode_body;

/// Media types of text that do not begin with `text/`.
const TEXT_TYPES: [&str; 8] =
    ["json", "xml", "javascript", "yaml", "graphql", "x-www-form-urlencoded", "csv", "sql"];
/// Bytes of a body without a media type that are checked for text.
const SNIFFED_BYTES: usize = 4096;

/// A body by its kind.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Content {
    Empty,
    /// Text, and the number of invalid sequences that were replaced in it.
    Text(String, usize),
    /// An image or audio, with its media type.
    Media(&'static str, String, Vec<u8>),
    /// Other bytes, with their media type.
    Binary(String, Vec<u8>),
}

impl Content {
    /// Reads a body.
    pub(super) fn new(headers: &HeaderMap, body: Vec<u8>) -> Self {
        if body.is_empty() {
            return Self::Empty;
        }
        let value = headers.get(CONTENT_TYPE).map(|value| String::from_utf8_lossy(value.as_bytes()));
        let value = value.unwrap_or_default().to_ascii_lowercase();
        let media: String = value.split(';').next().unwrap_or_default().trim().to_owned();
        match media.split('/').next().unwrap_or_default() {
            "image" if !media.contains("svg") => return Self::Media("image", media, body),
            "audio" => return Self::Media("audio", media, body),
            _ => {}
        }
        let is_declared_text = media.starts_with("text/")
            || TEXT_TYPES.iter().any(|kind| media.contains(kind))
            || media.contains("svg");
        let is_undeclared = matches!(media.as_str(), "" | "application/octet-stream" | "binary/octet-stream");
        if is_declared_text || (is_undeclared && is_text(&body)) {
            let (text, replaced) = decode_body(&value, &body);
            return Self::Text(text, replaced);
        }
        Self::Binary(if media.is_empty() { "application/octet-stream".to_owned() } else { media }, body)
    }

    /// Returns the content blocks of a result; `uri` names a binary body.
    pub(super) fn into_blocks(self, status_line: &str, uri: &str) -> Vec<String> {
        match self {
            Self::Empty => vec![text_block(&format!("{status_line}, without a body"))],
            Self::Text(text, 0) => vec![text_block(&text)],
            Self::Text(text, replaced) => vec![text_block(&text), text_block(&replacement_note(replaced))],
            Self::Media(kind, media, bytes) => {
                let data = STANDARD.encode(bytes);
                vec![format!(r#"{{"type":"{kind}","data":"{data}","mimeType":{}}}"#, quote(&media))]
            }
            Self::Binary(media, bytes) => {
                let blob = STANDARD.encode(bytes);
                let (uri, media) = (quote(uri), quote(&media));
                let resource = format!(r#"{{"uri":{uri},"mimeType":{media},"blob":"{blob}"}}"#);
                vec![format!(r#"{{"type":"resource","resource":{resource}}}"#)]
            }
        }
    }

    /// Returns the text of an error.
    pub(super) fn into_error_text(self, status_line: &str) -> String {
        match self {
            Self::Empty => status_line.to_owned(),
            Self::Text(text, 0) => format!("{status_line}\n{text}"),
            Self::Text(text, replaced) => format!("{status_line}\n{text}\n{}", replacement_note(replaced)),
            Self::Media(_, media, bytes) | Self::Binary(media, bytes) => {
                format!("{status_line}\n({} bytes of {media})", bytes.len())
            }
        }
    }
}

/// Returns a text block of a result.
pub(super) fn text_block(text: &str) -> String {
    format!(r#"{{"type":"text","text":{}}}"#, quote(text))
}

/// Returns the header fields of a response to HEAD as text.
pub(super) fn header_text(status_line: &str, headers: &HeaderMap) -> String {
    let fields = headers.iter().filter(|(name, _)| *name != SET_COOKIE);
    let fields =
        fields.map(|(name, value)| format!("\n{name}: {}", String::from_utf8_lossy(value.as_bytes())));
    std::iter::once(status_line.to_owned()).chain(fields).collect()
}

fn replacement_note(replaced: usize) -> String {
    format!("({replaced} invalid byte sequences of the response were replaced by U+FFFD)")
}

fn is_text(body: &[u8]) -> bool {
    let start = &body[..body.len().min(SNIFFED_BYTES)];
    let is_valid = match std::str::from_utf8(start) {
        Ok(_) => true,
        // A character may be cut at the end.
        Err(error) => error.error_len().is_none() && start.len() < body.len(),
    };
    is_valid && !start.contains(&0)
}

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
            let key = unescape(member.key.slice(text));
            let (name, value) = (words(&key), member.value.slice(text));
            if JsonKind::of_value(value) == JsonKind::Array {
                lists.push((key, member.value));
            } else if let Some(count) = value.parse().ok().filter(|_| may_be_total(&name)) {
                total = Some((member.value, count));
            } else if leads_on(&name) {
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
    use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderValue};

    use super::Content;

    #[expect(clippy::needless_pass_by_value, reason = "a table reads better with values")]
    fn check(media: &'static str, body: &[u8], expect: Content) {
        let mut headers = HeaderMap::new();
        if !media.is_empty() {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(media));
        }
        assert_eq!(Content::new(&headers, body.to_vec()), expect, "{media}");
    }

    #[test]
    fn bodies_are_told_apart() {
        let text = |text: &str| Content::Text(text.to_owned(), 0);
        check("application/json", b"{ }", text("{ }"));
        check("application/problem+json; charset=utf-8", b"{}", text("{}"));
        check("", b"plain", text("plain"));
        check(
            "application/octet-stream",
            b"a\0",
            Content::Binary("application/octet-stream".into(), b"a\0".to_vec()),
        );
        check(
            "",
            b"\xff\xfe\x00",
            Content::Binary("application/octet-stream".into(), b"\xff\xfe\x00".to_vec()),
        );
        check("application/pdf", b"%PDF", Content::Binary("application/pdf".into(), b"%PDF".to_vec()));
        check("image/png", b"x", Content::Media("image", "image/png".into(), b"x".to_vec()));
        check("image/svg+xml", b"<svg/>", text("<svg/>"));
        check("text/html; charset=ISO-8859-1", b"caf\xe9", text("café"));
        check("text/html; charset=ISO-8859-1", "café".as_bytes(), text("café"));
        check("text/plain; charset=utf-16le", b"a\0b\0", text("ab"));
        check("text/plain; charset=Shift_JIS", b"\x93\xfa\x96{\x8c\xea", text("日本語"));
        check("application/json", b"\xff\xfe{\0}\0", text("{}"));
        check("application/json", b"\xef\xbb\xbf{}", text("{}"));
        check("application/json", b"\"a\xffb\"", Content::Text("\"a\u{fffd}b\"".into(), 1));
        check("application/json", b"", Content::Empty);
    }
}

#[cfg(test)]
mod joined_tests {
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

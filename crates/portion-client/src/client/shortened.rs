//! Reads the rest of a result that a Portion on the way has shortened.
//!
//! The raw pages of its snapshot, joined, are the bytes of each part of the result.

use portion_json::scan::{is_json, quote};

use super::ClientError;
use super::connection::Connection;
use crate::read::json;

/// Member of `_meta` with the facts of a shortened result.
const NOTICE: &str = "io.portion/notice";
/// Member of `_meta` with the notice of another Portion, behind the nearest one. Its cursors cannot be followed from here.
const INNER_NOTICE: &str = "io.portion/upstream";
/// Tool that reads on, unless the notice names another.
const READ_TOOL: &str = "portion_read";
/// Tokens asked for per page: the default of the largest reply. A smaller limit is learned from the error.
const PAGE_TOKENS: u64 = 12_000;

/// Facts of a notice.
#[derive(Debug, PartialEq, Eq)]
struct Notice {
    /// Handle at the beginning of the reply.
    cursor: Option<String>,
    next_cursor: Option<String>,
    has_more: bool,
    kind: String,
    tool: String,
    /// Part that a raw page belongs to.
    path: String,
}

/// Returns the whole result: as it is, or read page by page if it was shortened.
pub(super) async fn read_whole(connection: &mut Connection, result: String) -> Result<String, ClientError> {
    if Notice::at(&result, INNER_NOTICE).is_some_and(|inner| inner.next_cursor.is_some()) {
        let advice = "it is behind another Portion; connect to it directly, or set allowWhole there";
        return Err(ClientError::Shortened(advice.to_owned()));
    }
    let Some(notice) = Notice::of(&result).filter(|_| !is_error(&result)) else { return Ok(result) };
    let Some(first) = notice.cursor else {
        if notice.kind == "whole" {
            return Ok(without_notice(&result));
        }
        return Err(ClientError::Shortened("its notice has no cursor".to_owned()));
    };
    let mut parts: Vec<(String, String)> = Vec::new();
    let (mut cursor, mut raw, mut tokens) = (first, true, Some(PAGE_TOKENS));
    loop {
        let params = read_params(&notice.tool, &cursor, raw, tokens);
        let page = connection.request("tools/call", &params).await?;
        if is_error(&page) {
            let smaller =
                tokens.and_then(|requested| allowed_tokens(&page).filter(|allowed| *allowed < requested));
            if smaller.is_none() {
                return Err(ClientError::Shortened(first_text(&page).unwrap_or_default()));
            }
            tokens = smaller;
            continue;
        }
        let (Some(notice), Some(text)) = (Notice::of(&page), raw_text(&page)) else {
            return Err(ClientError::Shortened(format!("`{}` returned no raw page", notice.tool)));
        };
        match parts.last_mut() {
            Some((path, joined)) if *path == notice.path => joined.push_str(&text),
            _ => parts.push((notice.path, text)),
        }
        match notice.next_cursor {
            Some(next) if next != cursor => (cursor, raw) = (next, false),
            Some(_) => return Err(ClientError::Shortened("its cursors repeat".to_owned())),
            None if notice.has_more => {
                return Err(ClientError::Shortened("a page before the last has no cursor".to_owned()));
            }
            None => return Ok(to_result(&parts)),
        }
    }
}

impl Notice {
    fn of(result: &str) -> Option<Self> {
        Self::at(result, NOTICE)
    }

    fn at(result: &str, name: &str) -> Option<Self> {
        let members = json::members(result)?;
        let meta = json::members(json::member(&members, "_meta")?)?;
        let notice = json::members(json::member(&meta, name)?)?;
        let facts = json::member(&notice, "meta").and_then(json::members).unwrap_or_default();
        let text =
            |members: &[(String, &str)], name: &str| json::member(members, name).and_then(json::string);
        let tool =
            text(&facts, "next").and_then(|next| next.split_once('(').map(|(tool, _)| tool.to_owned()));
        let is_name = |tool: &String| {
            !tool.is_empty() && tool.chars().all(|c| c.is_ascii_alphanumeric() || "_-./".contains(c))
        };
        Some(Self {
            cursor: text(&facts, "cursor"),
            // The second name is that of `metadataStyle: snake`.
            next_cursor: text(&notice, "nextCursor").or_else(|| text(&notice, "next_cursor")),
            has_more: ["hasMore", "has_more"].iter().any(|name| json::member(&facts, name) == Some("true")),
            kind: text(&facts, "kind").unwrap_or_default(),
            tool: tool.filter(is_name).unwrap_or_else(|| READ_TOOL.to_owned()),
            path: text(&facts, "path").unwrap_or_default(),
        })
    }
}

fn read_params(tool: &str, cursor: &str, raw: bool, tokens: Option<u64>) -> String {
    let raw = if raw { r#","raw":true"# } else { "" };
    let tokens = tokens.map(|tokens| format!(r#","maxTokens":{tokens}"#)).unwrap_or_default();
    format!(r#"{{"name":{},"arguments":{{"cursor":{}{raw}{tokens}}}}}"#, quote(tool), quote(cursor))
}

fn is_error(result: &str) -> bool {
    json::members(result).is_some_and(|members| json::member(&members, "isError") == Some("true"))
}

/// Returns the texts of the blocks.
fn texts(result: &str) -> Vec<String> {
    let members = json::members(result).unwrap_or_default();
    let blocks = json::member(&members, "content").and_then(json::items).unwrap_or_default();
    let text = |block: &str| {
        json::members(block).and_then(|block| json::member(&block, "text").and_then(json::string))
    };
    blocks.into_iter().filter_map(text).collect()
}

fn first_text(result: &str) -> Option<String> {
    texts(result).into_iter().next()
}

/// Returns the text of a raw page: the first of two blocks, or a member of the only one (`envelope: wrap`).
fn raw_text(page: &str) -> Option<String> {
    let mut texts = texts(page).into_iter();
    let (first, second) = (texts.next()?, texts.next());
    if second.is_some() {
        return Some(first);
    }
    json::member(&json::members(&first)?, "content").and_then(json::string)
}

/// Returns the largest `maxTokens` that an error names: the last number of its message.
fn allowed_tokens(page: &str) -> Option<u64> {
    let text = first_text(page)?;
    let error = json::members(json::member(&json::members(&text)?, "error")?).map(|members| {
        members.into_iter().map(|(name, value)| (name, value.to_owned())).collect::<Vec<_>>()
    })?;
    let named =
        |name: &str| error.iter().find(|(key, _)| key == name).and_then(|(_, value)| json::string(value));
    if named("code")? != "max_tokens_invalid" {
        return None;
    }
    let message = named("message")?;
    message.rsplit(|c: char| !c.is_ascii_digit()).find(|digits| !digits.is_empty())?.parse().ok()
}

/// Returns a whole result without the notice's block, which is the last one.
fn without_notice(result: &str) -> String {
    let members = json::members(result).unwrap_or_default();
    let mut texts = texts(result);
    let is_notice =
        |text: &String| json::members(text).is_some_and(|members| json::member(&members, "meta").is_some());
    texts.pop_if(|text| is_notice(text));
    let structured = json::member(&members, "structuredContent").map(str::to_owned);
    write_result(&texts, structured.as_deref())
}

/// Returns a result with these parts. `/content` is a list whose items were one block each.
fn to_result(parts: &[(String, String)]) -> String {
    let is_structured = |path: &str| matches!(path, "/structuredContent" | "/content");
    let is_media = |path: &str| path.ends_with("/data") || path.ends_with("/blob");
    let structured = parts.iter().find(|(path, _)| is_structured(path)).map(|(_, json)| json.as_str());
    let texts: Vec<String> = parts
        .iter()
        .filter(|(path, _)| !is_structured(path) && !is_media(path))
        .map(|(_, text)| text.clone())
        .collect();
    write_result(&texts, structured.filter(|json| is_json(json)))
}

fn write_result(texts: &[String], structured: Option<&str>) -> String {
    let blocks: Vec<String> =
        texts.iter().map(|text| format!(r#"{{"type":"text","text":{}}}"#, quote(text))).collect();
    let structured = structured.map(|json| format!(r#","structuredContent":{json}"#)).unwrap_or_default();
    format!(r#"{{"content":[{}]{structured}}}"#, blocks.join(","))
}

#[cfg(test)]
mod tests {
    use super::{Notice, allowed_tokens, raw_text, to_result};

    #[test]
    fn a_notice_names_the_tool_and_the_cursors() {
        let notice = |meta: &str| {
            Notice::of(&format!(
                r#"{{"content":[],"_meta":{{"io.portion/notice":{{"nextCursor":"n","meta":{meta}}}}}}}"#
            ))
            .map(|notice| (notice.tool, notice.cursor))
        };
        let read = || "portion_read".to_owned();
        assert_eq!(
            notice(r#"{"cursor":"c","next":"read_on(cursor=nextCursor)"}"#),
            Some(("read_on".into(), Some("c".into())))
        );
        assert_eq!(notice(r#"{"next":"call it (again)"}"#), Some((read(), None)));
        assert_eq!(Notice::of(r#"{"content":[],"_meta":{}}"#), None);
    }

    #[test]
    fn a_notice_is_read_in_both_styles() {
        for notice in [
            r#"{"nextCursor":"n","meta":{"cursor":"c","hasMore":true}}"#,
            r#"{"next_cursor":"n","meta":{"cursor":"c","has_more":true}}"#,
        ] {
            let notice = Notice::of(&format!(r#"{{"_meta":{{"io.portion/notice":{notice}}}}}"#));
            let notice = notice.map(|notice| (notice.next_cursor, notice.has_more));
            assert_eq!(notice, Some((Some("n".to_owned()), true)));
        }
    }

    #[test]
    fn an_error_names_the_largest_page() {
        let page = |code: &str| {
            let text = format!(
                r#"{{"error":{{"code":"{code}","message":"maxTokens is 12000, but it is a whole number from 300 to 4000"}}}}"#
            );
            format!(r#"{{"content":[{{"type":"text","text":{}}}]}}"#, portion_json::scan::quote(&text))
        };
        assert_eq!(allowed_tokens(&page("max_tokens_invalid")), Some(4000));
        assert_eq!(allowed_tokens(&page("cursor_expired")), None);
    }

    #[test]
    fn raw_pages_come_in_two_envelopes() {
        let merged = r#"{"content":[{"text":"[1,"},{"text":"{\"meta\":{}}"}]}"#;
        assert_eq!(raw_text(merged).as_deref(), Some("[1,"));
        let wrapped = r#"{"content":[{"text":"{\"content\":\"[1,\",\"metadata\":{}}"}]}"#;
        assert_eq!(raw_text(wrapped).as_deref(), Some("[1,"));
    }

    #[test]
    fn parts_become_a_result() {
        let check = |parts: &[(&str, &str)], expect: &str| {
            let parts: Vec<_> =
                parts.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
            assert_eq!(to_result(&parts), expect);
        };
        check(
            &[("/content/0/text", "a"), ("/content/1/text", "b"), ("/content/2/data", "AA==")],
            r#"{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}"#,
        );
        check(&[("/structuredContent", "[1]")], r#"{"content":[],"structuredContent":[1]}"#);
    }
}

//! Notice of another Portion in front of the upstream.
//!
//! Its block of text repeats its notice in `_meta` for models. It is no content: paged as such, the step that continues the
//! inner result would come after all of its pages. So it is left out, and the notice of this gateway names that step.

use portion_core::payload::NextPage;
use portion_json::scan::{JsonKind, JsonReader, unescape};
use portion_json::span::Span;

use super::super::walk::{self, Member};
use super::outline::{PartKind, ResultPart};

/// Facts of an inner notice.
#[derive(Debug, Default)]
pub(super) struct InnerNotice {
    /// Index of the part that repeats the notice.
    pub(super) part: Option<usize>,
    pub(super) next: Option<NextPage>,
    pub(super) total: Option<u64>,
}

impl InnerNotice {
    /// Reads the notice in `_meta`, and finds the last text among `parts` if it repeats it. Without such a text the notice is not
    /// meant for models.
    pub(super) fn find(text: &str, notice: Span, parts: &[ResultPart]) -> Self {
        let last = parts.iter().rposition(|part| part.kind == PartKind::Text);
        let repeats = |at: &usize| repeats_notice(&unescape(parts[*at].span.slice(text)), text, notice);
        // The content itself stays as text, too.
        let follows_text = |at: &usize| parts[..*at].iter().any(|part| part.kind == PartKind::Text);
        let Some(part) = last.filter(follows_text).filter(repeats) else { return Self::default() };
        let string = |key: &str| walk::string_member(text, notice, key);
        let number = |key: &str| walk::member_value(text, notice, key)?.slice(text).parse().ok();
        let cursor = string("nextCursor").or_else(|| string("next_cursor"));
        let meta = walk::member_value(text, notice, "meta");
        let call = meta.and_then(|meta| walk::string_member(text, meta, "next"));
        Self {
            part: Some(part),
            next: cursor.map(|cursor| NextPage::Call(next_call(&cursor, call.as_deref()).into())),
            total: number("totalCount").or_else(|| number("total_count")),
        }
    }
}

/// Returns the call that continues the inner result. `shown` is its form in the notice: `portion_read(cursor=nextCursor)`.
fn next_call(cursor: &str, shown: Option<&str>) -> String {
    let tool = shown.and_then(|shown| shown.split_once('(')).map_or("", |(tool, _)| tool);
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    if tool.is_empty() || !tool.bytes().all(is_name) {
        return format!("nextCursor: {cursor}");
    }
    format!("{tool}(cursor={cursor})")
}

/// Returns true if `shown` is a notice for models whose facts are all in the notice for programs. A notice for models is shorter,
/// and its texts are; cursors and numbers are the same.
fn repeats_notice(shown: &str, text: &str, notice: Span) -> bool {
    let mut reader = JsonReader::new(shown);
    let Ok(whole) = reader.skip() else { return false };
    if reader.expect_end().is_err() {
        return false;
    }
    let Some(shown_meta) = walk::member_value(shown, whole, "meta") else { return false };
    let Some(meta) = walk::member_value(text, notice, "meta") else { return false };
    let is_same = |member: &Member, among: Span| {
        let key = unescape(member.key.slice(shown));
        walk::member_value(text, among, &key).map(|value| value.slice(text))
            == Some(member.value.slice(shown))
    };
    let is_fact = |member: &Member| {
        let is_text = walk::kind(shown, member.value) == JsonKind::String;
        let key = unescape(member.key.slice(shown));
        let is_exact = walk::kind(shown, member.value) == JsonKind::Number || (is_text && key == "cursor");
        if is_exact { is_same(member, meta) } else { walk::member_value(text, meta, &key).is_some() }
    };
    let facts = walk::members(shown, shown_meta);
    let beside = walk::members(shown, whole);
    !facts.is_empty()
        && facts.iter().all(is_fact)
        && beside.iter().all(|member| member.value == shown_meta || is_same(member, notice))
}

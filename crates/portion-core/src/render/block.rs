//! Costs of blocks that are passed whole or described, and the placeholder text of a described block.

use portion_json::scan::escaped_len;
use portion_tokens::TokenCounter;

use super::context::Context;
use crate::base64_text::is_text;
use crate::cursor::CursorToken;
use crate::payload::BinaryInfo;
use crate::policy::Policy;
use crate::snapshot::{Part, PartBody, string_at};

/// Longest source URI, in bytes, with which a placeholder begins.
const MAX_NAME_BYTES: usize = 200;

/// Cost of a block that is passed whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BlockCost {
    pub tokens: usize,
    pub bytes: usize,
}

/// Returns the cost of a block, or `None` if it exceeds `most` tokens or a byte limit.
///
/// Models see images and audio as such: they count as `mediaTokens` and have their own byte limit. Other
/// binaries are rarely shown to a model, so they count as at most `mediaTokens`, and their bytes count too.
pub(super) fn block_cost(
    json: &str,
    binary: Option<&BinaryInfo>,
    most: usize,
    policy: &Policy,
    counter: &dyn TokenCounter,
) -> Option<BlockCost> {
    let weight = match binary {
        Some(BinaryInfo { is_media: true, decoded_bytes: bytes, .. }) => (*bytes <= policy.media_byte_limit)
            .then_some(BlockCost { tokens: policy.media_tokens, bytes: 0 })?,
        Some(_) => BlockCost { tokens: binary_tokens(json, policy, counter), bytes: json.len() },
        None => BlockCost { tokens: counter.count_within(json, most)?, bytes: escaped_len(json) },
    };
    (weight.tokens <= most && weight.bytes <= policy.hard_byte_limit).then_some(weight)
}

/// Returns the tokens of base64 that is marked as such: at most `mediaTokens`.
pub(super) fn binary_tokens(base64: &str, policy: &Policy, counter: &dyn TokenCounter) -> usize {
    counter.count_within(base64, policy.media_tokens).unwrap_or(policy.media_tokens)
}

/// Returns the text in place of a block: its type, its size and the calls that read it. `cursor` is the
/// cursor to the start of the reply.
pub(super) fn block_placeholder(
    part: &Part,
    binary: Option<&BinaryInfo>,
    cursor: Option<&CursorToken>,
    cx: &Context<'_>,
) -> String {
    let (path, bytes) = content_path_and_size(part, binary);
    let name = part.label.source.as_ref().filter(|of| of.len() <= MAX_NAME_BYTES).map(|of| format!("{of}: "));
    let name = name.unwrap_or_default();
    // In replies to a tool, media within the limits are shown through the path of their block.
    let shows = cx.read_uri.is_none()
        && binary.is_some_and(|binary| binary.is_media && cx.policy.can_show_media(binary.decoded_bytes));
    if let (true, Some(binary), Some(_)) = (shows, binary, cursor) {
        let block = part.address.strip_suffix("/text").unwrap_or(&part.address);
        let (mime, read) = (&binary.mime_type, cx.read_call.with(&format!("cursor, path=\"{block}\"")));
        return format!("[{name}{mime}, {bytes} bytes, not shown; {read} shows it]");
    }
    let (kind, how, (argument, query)) = match binary {
        Some(binary) if is_text_blob(part, binary) => (binary.mime_type.as_str(), " as text", ("", "")),
        Some(binary) => (binary.mime_type.as_str(), " as base64", ("", "")),
        None => ("block", "", (", raw=true", "&raw=true")),
    };
    let what = format!("{name}{kind}, {bytes} bytes, not shown");
    let Some(cursor) = cursor else { return format!("[{what}]") };
    let tool = cx.read_call.with(&format!("cursor, path=\"{path}\"{argument}"));
    // No block address contains characters that need escaping in a URI.
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'/' | b'_' | b'-' | b'.');
    let by_uri = match cx.read_uri.filter(|_| path.bytes().all(plain)) {
        Some(uri) => format!(" or resources/read {uri}{cursor}?path={path}{query}"),
        None => String::new(),
    };
    format!("[{what}; {tool}{by_uri} reads it{how}]")
}

/// Returns true if the base64 of a block is that of a text.
fn is_text_blob(part: &Part, binary: &BinaryInfo) -> bool {
    let PartBody::Atomic { json, .. } = &part.body else { return false };
    let data = string_at(json, binary.data_pointer);
    data.is_some_and(|data| is_text(data.slice(json).trim_matches('"'), &binary.mime_type))
}

/// Returns the pointer to the content of a block, as written in a caller's path, and its size in bytes.
pub(super) fn content_path_and_size(part: &Part, binary: Option<&BinaryInfo>) -> (String, usize) {
    let block = part.address.strip_suffix("/text").unwrap_or(&part.address);
    match binary {
        Some(binary) => (format!("{block}{}", binary.data_pointer), binary.decoded_bytes),
        None => (block.to_owned(), part.text_len()),
    }
}

//! Builds resource contents: responses to read URIs, and entries that are added to a server's contents.

use portion_core::render::{Piece, PieceBody, Portion};
use portion_json::scan::quote;

use super::super::walk;
use super::READ_URI_PREFIX;
use super::builders::completion_members;
use super::write::PortionContent;

/// Builds the result for a read URI from a portion.
pub(crate) fn resource_result(portion: &Portion, is_stateless: bool) -> String {
    let base_uri = portion
        .start_cursor()
        .map_or("portion://part".to_owned(), |cursor| format!("{READ_URI_PREFIX}{cursor}"));
    // Each entry needs a URI of its own.
    let uri = |i: usize| if i == 0 { quote(&base_uri) } else { quote(&format!("{base_uri}#{i}")) };
    let mut entries: Vec<String> =
        portion.pieces().iter().enumerate().map(|(i, piece)| piece_entry(&uri(i), piece)).collect();
    entries.extend(portion.separate_notice().map(|notice| notice_entry(portion.into(), notice)));
    let meta = format!("\"_meta\":{{{}}}", PortionContent::from(portion).meta_members());
    format!("{{\"contents\":[{}],{meta}{}}}", entries.join(","), completion_members(is_stateless, true))
}

/// Returns the notice as an entry. Its URI is that of the next page: always a new one, because clients cache
/// by URI.
pub(super) fn notice_entry(content: PortionContent<'_>, notice: &str) -> String {
    let uri =
        content.cursor.map_or("portion://notice".to_owned(), |cursor| format!("{READ_URI_PREFIX}{cursor}"));
    text_entry(&quote(&uri), "application/json", notice)
}

/// Returns a text entry. `uri` is JSON.
pub(super) fn text_entry(uri: &str, mime: &str, text: &str) -> String {
    format!("{{\"uri\":{uri},\"mimeType\":{},\"text\":{}}}", quote(mime), quote(text))
}

/// Returns a piece as an entry. `uri` is JSON.
fn piece_entry(uri: &str, piece: &Piece) -> String {
    match &piece.body {
        PieceBody::Text(text) => text_entry(uri, piece.mime.as_deref().unwrap_or("text/plain"), text),
        PieceBody::Base64(blob) => {
            let mime = piece.mime.as_deref().unwrap_or("application/octet-stream");
            format!("{{\"uri\":{uri},\"mimeType\":{},\"blob\":{}}}", quote(mime), quote(blob))
        }
        PieceBody::Block(json) => block_entry(uri, json),
    }
}

/// Returns a block as an entry: unchanged, with its own URI, if it is or contains an entry, because it is
/// whole.
fn block_entry(uri: &str, json: &str) -> String {
    let all = walk::document_span(json);
    let kind = walk::string_member(json, all, "type");
    match kind.as_deref() {
        None if walk::string_member(json, all, "uri").is_some() => json.to_owned(),
        Some("resource") => {
            let resource =
                walk::member_value(json, all, "resource").map(|resource| resource.slice(json).to_owned());
            resource.unwrap_or_else(|| text_entry(uri, "application/json", json))
        }
        Some("image" | "audio") => {
            let member = |name| walk::member_value(json, all, name).map(|span| span.slice(json));
            let mime = member("mimeType").unwrap_or("\"application/octet-stream\"");
            let blob = member("data").unwrap_or("\"\"");
            format!("{{\"uri\":{uri},\"mimeType\":{mime},\"blob\":{blob}}}")
        }
        _ => text_entry(uri, "application/json", json),
    }
}
